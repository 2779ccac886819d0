"""The paper's efficiency figure, and beside it one online step as a ratio to LinUCB's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from bandstand.errors import InvalidInputError
from bandstand.reports.efficiency import LABELS

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from bandstand.reports.bench import BenchResult
    from bandstand.reports.efficiency import TrainingStudy
    from bandstand.reports.step_times import StepTimes

_INK: Final = "#3b4252"
_GRID: Final = "#e5e7eb"
_COLOURS: Final = {
    "metropolis": "#9a6b4f",
    "mcmc": "#c2956b",
    "variational-3": "#6f9a8d",
    "variational-2": "#3f7d6e",
    "exact": "#2f5d9b",
    "least-squares": "#8c8fa3",
    "least-squares-map": "#5f6378",
}
_STYLE: Final[dict[Any, Any]] = {
    "font.size": 9.5,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}
# Labels at the ends of lines are at least this far apart: a share of the height of the panel.
_LABEL_DISTANCE: Final = 0.052


def plot(result: BenchResult, file: Path) -> None:
    """Write the figure; the ending of the file's name says in which format."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(12.4, 5.4), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.45, 1))
        _training_panel(left, result.training)
        _step_panel(right, result.steps)
        try:
            figure.savefig(file, dpi=150)
        except ValueError as problem:
            msg = f"the plot must have a name that ends as a picture does (.png), got {file}"
            raise InvalidInputError(msg) from problem


def _training_panel(axes: Axes, study: TrainingStudy) -> None:
    sizes = study.sizes
    axes.set(xscale="log", yscale="log")
    for method in study.methods:
        spreads = [study.seconds(method, size) for size in sizes]
        colour, width = _COLOURS[method], 2.4 if method == "exact" else 1.6
        low, high = [each.lower for each in spreads], [each.upper for each in spreads]
        axes.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
        medians = [each.median for each in spreads]
        axes.plot(sizes, medians, color=colour, linewidth=width, marker="o", markersize=3.5)
    axes.set_title("Time to learn from N ratings, one thread")
    axes.set(xlabel="ratings N", ylabel="processor time (median, quartiles shaded)")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.yaxis.set_major_formatter(_plain_seconds)
    axes.minorticks_off()
    axes.grid(color=_GRID, linewidth=0.7)
    last = {method: study.seconds(method, sizes[-1]).median for method in study.methods}
    _label_ends(axes, last)


def _plain(value: float, position: float) -> str:
    del position
    return f"{value:g}"


def _plain_seconds(value: float, position: float) -> str:
    return f"{_plain(value, position)} s"


def _label_ends(axes: Axes, last: dict[str, float]) -> None:
    """Write each line's name at its end, moved up or down where two would meet."""
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top)
    to_panel = axes.transScale + axes.transLimits
    order = sorted(last, key=lambda method: last[method])
    right = axes.get_xlim()[1]
    heights = [float(to_panel.transform((right, last[method]))[1]) for method in order]
    for method, height in zip(order, spaced(heights, _LABEL_DISTANCE), strict=True):
        axes.text(
            1.015,
            height,
            LABELS[method],
            transform=axes.transAxes,
            color=_COLOURS[method],
            verticalalignment="center",
            fontweight="bold" if method == "exact" else "normal",
        )


def spaced(heights: list[float], distance: float) -> list[float]:
    """Return rising heights moved as little as needed to be `distance` apart.

    >>> spaced([0.1, 0.5, 0.5], 0.2)
    [0.1, 0.4, 0.6]
    """
    merged: list[list[float]] = []  # mean height of a cluster, and how many are in it
    for height in heights:
        merged.append([height, 1])
        while len(merged) > 1 and _touch(merged[-2], merged[-1], distance):
            (low, below), (high, above) = merged[-2:]
            merged[-2:] = [[(low * below + high * above) / (below + above), below + above]]
    return [
        mean + (number - (count - 1) / 2) * distance
        for mean, count in merged
        for number in range(int(count))
    ]


def _touch(lower: list[float], upper: list[float], distance: float) -> bool:
    (low, below), (high, above) = lower, upper
    return high - low < (below + above) / 2 * distance - 1e-12


def _step_panel(axes: Axes, steps: tuple[StepTimes, ...]) -> None:
    """Draw the ratio of one online step to LinUCB's in every situation that was measured."""
    names = [f"{step.world}, {step.picks}, {step.ratings:,}" for step in steps]
    axes.set_ylabel("world, who picks the songs, ratings so far")
    places = list(range(len(steps)))[::-1]
    axes.axvline(1.0, color=_INK, linewidth=1.0)
    for place, step in zip(places, steps, strict=True):
        ratio = step.ratio()
        colour = _COLOURS["exact"] if ratio.median <= 1 else _COLOURS["metropolis"]
        axes.plot([ratio.lower, ratio.upper], [place, place], color=colour, alpha=0.35, linewidth=5)
        axes.plot([ratio.median], [place], "o", color=colour, markersize=5.5)
        axes.annotate(
            f"{ratio.median:.2f}",
            (ratio.upper, place),
            xytext=(6, 0),
            textcoords="offset points",
            verticalalignment="center",
            fontsize=8.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    axes.set_title("One online step beside LinUCB")
    axes.set_yticks(places, names)
    widest = max(step.ratio().upper for step in steps)
    if widest > 4:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(_plain)
        axes.xaxis.set_minor_formatter("")
    axes.set_xlim(None if widest > 4 else 0.0, 1.3 * max(widest, 1.0))
    axes.set_xlabel("times as long as plain LinUCB (median, quartiles)")
    axes.grid(axis="x", color=_GRID, linewidth=0.7)
    axes.tick_params(axis="y", length=0)
