"""One look for all figures: style, and the colour, label and order of everything that is drawn.

    with style():
        figure = new_figure(8.0, 4.5)
        axes = figure.subplots()
        for name in in_order(names):
            draw_curve(axes, steps, mean[name], look_of(name), spread=standard_error[name])
        label_ends(axes, {name: mean[name][-1] for name in names})
        content = png(figure)

Colours differ also for people who see fewer of them, and can be read on white paper: the
paper's six algorithms and ours by colour alone, variants of one algorithm by dashes and marker
too. Nothing here needs a screen.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

from bandstand.core.registry import RETIRED
from bandstand.errors import InvalidInputError
from bandstand_lab.statistics.summaries import mean_curve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

    from bandstand.types import Matrix, Vector

INK: Final = "#2e3440"  # words, axes
MUTED: Final = "#6b7280"  # what stands back: reference lines, notes
GRID: Final = "#e5e7eb"
TRUTH: Final = "#111318"  # what is known to be so, in a simulation
BAD: Final = "#b84a00"
# For things that are neither algorithms nor methods: in this order.
CYCLE: Final = ("#14418f", "#cc8000", "#00876a", "#8e1b66", "#3a9ad9", "#b84a00", "#8b919b")

_STYLE: Final[dict[Any, Any]] = {
    "font.size": 9.5,
    "font.family": "sans-serif",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=CYCLE),
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
_RESOLUTION: Final = 150  # dots per inch


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How one algorithm or method is drawn, in every figure."""

    label: str
    colour: str
    dashes: str = "-"
    marker: str = "o"
    width: float = 1.6
    bold: bool = False  # ours: the one to look for


ALGORITHM_LOOKS: Final[dict[str, Look]] = {
    "random": Look(label="Random", colour="#8b919b", dashes=":", marker="."),
    "linucb-c": Look(label="LinUCB-C", colour="#cc8000", dashes="--", marker="v"),
    "linucb-cn": Look(label="LinUCB-CN", colour="#b84a00", marker="^"),
    "greedy-cn": Look(label="Greedy-CN", colour="#8e1b66", marker="s"),
    "greedy-cn-map": Look(label="Greedy-CN, MAP", colour="#b65aa0", dashes="--", marker="D"),
    "greedy-cn-x": Look(label="Greedy-CN, exact", colour="#8e1b66", dashes=":", marker="p"),
    "thompson-cn-x": Look(label="Thompson-CN, exact", colour="#20242c", dashes="-.", marker="P"),
    "mixed-effects": Look(label="mixed effects", colour="#2f7d32", dashes="--", marker="*"),
    "bayes-ucb-cn": Look(label="Bayes-UCB-CN, MCMC", colour="#3a9ad9", marker="d"),
    "bayes-ucb-cn-v": Look(label="Bayes-UCB-CN, variational", colour="#00876a", marker=">"),
    "bayes-ucb-cn-x": Look(label="Bayes-UCB-CN, exact", colour="#14418f", width=2.4, bold=True),
}
METHOD_LOOKS: Final[dict[str, Look]] = {
    "metropolis": Look(label="Metropolis, 5,000 steps", colour="#7a5c3e", marker="v"),
    "mcmc": Look(label="collapsed MCMC", colour="#3a9ad9", marker="d"),
    "variational": Look(label="variational", colour="#00876a", marker=">"),
    "exact": Look(label="exact", colour="#14418f", width=2.4, bold=True),
    "least-squares": Look(label="L-BFGS-B, plain", colour="#8e1b66", marker="s"),
    "least-squares-map": Look(label="L-BFGS-B, MAP", colour="#b65aa0", dashes="--", marker="D"),
    "least-squares-differences": Look(
        label="L-BFGS-B, no gradient", colour="#7d5fb0", dashes=":", marker="p"
    ),
    "ridge": Look(label="ridge regression (LinUCB)", colour="#b84a00", marker="^"),
}
_RETIRED_LOOKS: Final = {
    name: Look(label=f"{name}, retired", colour="#0b4f43", dashes="--", marker="<")
    for name in RETIRED
}
_LOOKS: Final = ALGORITHM_LOOKS | METHOD_LOOKS | _RETIRED_LOOKS


def look_of(name: str) -> Look:
    """Return how an algorithm or a training method is drawn.

    >>> look_of("bayes-ucb-cn-x").label
    'Bayes-UCB-CN, exact'
    """
    try:
        return _LOOKS[name]
    except KeyError:
        msg = f"the algorithm or method must be one of {', '.join(_LOOKS)}, got {name!r}"
        raise InvalidInputError(msg) from None


def spoken(name: str) -> str:
    """Return a name as a sentence has it, where a comma parts one from the next.

    >>> spoken("bayes-ucb-cn-x"), spoken("random")
    ('Bayes-UCB-CN (exact)', 'Random')
    """
    label, _, kind = look_of(name).label.partition(", ")
    return f"{label} ({kind})" if kind else label


def in_order(names: Iterable[str]) -> list[str]:
    """Return names in the order of all figures: the simplest first, ours last and so on top.

    >>> in_order(["bayes-ucb-cn-x", "greedy-cn", "random"])
    ['random', 'greedy-cn', 'bayes-ucb-cn-x']
    """
    places = list(_LOOKS)
    return sorted(names, key=lambda name: places.index(name) if name in _LOOKS else len(places))


@contextmanager
def style() -> Iterator[None]:
    """Draw what is drawn inside in the style of all figures."""
    with mpl.rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of that size in inches, which finds room for its labels itself."""
    return Figure(figsize=(width, height), layout="constrained")


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG; the same figure gives the same bytes."""
    content = io.BytesIO()
    with style():
        figure.savefig(content, format="png", dpi=_RESOLUTION, metadata={"Software": None})
    return content.getvalue()


def draw_curve(
    axes: Axes,
    places: Sequence[float] | Vector,
    values: Sequence[float] | Vector,
    look: Look,
    *,
    spread: Sequence[float] | Vector | None = None,
    markers: int = 8,
) -> None:
    """Draw one line, with about that many `markers`, and `spread` to both sides as a band."""
    every = max(1, len(places) // markers) if markers else None
    axes.plot(
        places,
        values,
        label=look.label,
        color=look.colour,
        linestyle=look.dashes,
        linewidth=look.width,
        marker=look.marker if markers else None,
        markersize=4,
        markevery=every,
    )
    if spread is not None:
        low = [value - by for value, by in zip(values, spread, strict=True)]
        high = [value + by for value, by in zip(values, spread, strict=True)]
        axes.fill_between(places, low, high, color=look.colour, alpha=0.15, linewidth=0)


def draw_regret(axes: Axes, regrets: Mapping[str, Matrix], title: str) -> None:
    """Draw the mean regret of each algorithm over the songs, with one standard error."""
    draw_means(axes, regrets)
    axes.set(title=title, xlabel="songs played, n", ylabel="regret")
    axes.set_xlim(0, next(iter(regrets.values())).shape[1])
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(plain)
    axes.xaxis.set_major_formatter(plain)
    axes.grid(axis="y")
    label_ends(axes, {name: float(each[:, -1].mean()) for name, each in regrets.items()})


def draw_means(
    axes: Axes, curves: Mapping[str, Matrix], places: Sequence[float] | None = None
) -> None:
    """Draw the mean of each algorithm's rows, with one standard error; places are 1, 2, … ."""
    for name in in_order(curves):
        curve = mean_curve(curves[name])
        at = range(1, len(curve.mean) + 1) if places is None else places
        draw_curve(axes, at, curve.mean, look_of(name), spread=curve.standard_error)


def label_ends(axes: Axes, last: Mapping[str, float]) -> None:
    """Name the lines right of the panel, the one with the highest last value at the top."""
    looks = [look_of(name) for name in sorted(last, key=lambda name: -last[name])]
    lines = [
        axes.plot([], [], look.marker, color=look.colour, linestyle=look.dashes, ms=4)[0]
        for look in looks
    ]
    names = [look.label for look in looks]
    legend = axes.legend(lines, names, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for text, look in zip(legend.get_texts(), looks, strict=True):
        text.set(color=look.colour, fontweight="bold" if look.bold else "normal")


def plain(value: float, position: float) -> str:
    """Return a number on an axis as people write it; a formatter for matplotlib.

    >>> plain(0.05, 0), plain(20_000, 0)
    ('0.05', '20,000')
    """
    del position
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:g}"
