"""The figures of the study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_lab.paper.prediction_time.contenders import (
    KEPT,
    LABELS,
    SAMPLED,
    SEARCHED,
    SOLVED,
)
from bandstand_lab.report.figures import (
    ALGORITHM_LOOKS,
    CYCLE,
    MUTED,
    Look,
    draw_curve,
    plain,
    spaced,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from bandstand_lab.paper.prediction_time.results import Accuracy, PredictionTimes

_GREEN: Final = ALGORITHM_LOOKS[SEARCHED].colour
_BLUE: Final = ALGORITHM_LOOKS["bayes-ucb-cn-x"].colour
LOOKS: Final = {
    **{name: ALGORITHM_LOOKS[name] for name in LABELS if name in ALGORITHM_LOOKS},
    SAMPLED: Look(label=LABELS[SAMPLED], colour=_GREEN, dashes=":", marker="P"),
    SOLVED: Look(label=LABELS[SOLVED], colour=_GREEN, dashes="--", marker="<"),
    SEARCHED: Look(label=LABELS[SEARCHED], colour=_GREEN, marker=">"),
    "bayes-ucb-cn-x": Look(label=LABELS["bayes-ucb-cn-x"], colour=_BLUE, dashes="--", marker="o"),
    KEPT: Look(label=LABELS[KEPT], colour=_BLUE, width=2.4, bold=True),
}
_APART: Final = 0.055  # of labels, in heights of the panel


def times_panel(axes: Axes, times: PredictionTimes) -> None:
    """Draw the time of each contender over the number of songs."""
    axes.set(xscale="log", yscale="log")
    for name, look in LOOKS.items():
        milliseconds = [1_000 * times.median(name, size) for size in times.sizes]
        draw_curve(axes, times.sizes, milliseconds, look)
    axes.set_xticks(times.sizes, [f"{size:,}" for size in times.sizes])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(plain)
    axes.grid(visible=True)
    axes.set_title("Time to find the song to play among S songs, one thread")
    axes.set(xlabel="songs S", ylabel="processor time, ms (median of listeners)")
    last = times.sizes[-1]
    _label(axes, {name: 1_000 * times.median(name, last) for name in LOOKS})


def _label(axes: Axes, last: Mapping[str, float]) -> None:
    """Write each line's name right of the panel, near its end."""
    axes.set_ylim(axes.get_ylim())
    to_panel = axes.transScale + axes.transLimits
    order = sorted(last, key=lambda name: last[name])
    right = axes.get_xlim()[1]
    heights = [float(to_panel.transform((right, last[name]))[1]) for name in order]
    for name, height in zip(order, spaced(heights, _APART), strict=True):
        look = LOOKS[name]
        axes.text(
            1.015,
            height,
            look.label,
            transform=axes.transAxes,
            color=look.colour,
            va="center",
            fontweight="bold" if look.bold else "normal",
        )


def accuracy_panel(axes: Axes, accuracies: Sequence[Accuracy]) -> None:
    """Draw the error of both ways over the time that they take."""
    axes.set(xscale="log", yscale="log")
    for each, colour in zip(accuracies, CYCLE, strict=False):
        seconds = [1_000 * one.seconds for one in each.sampled]
        errors = [one.error for one in each.sampled]
        axes.plot(seconds, errors, color=colour, marker="o", linewidth=1.6)
        axes.plot(
            [1_000 * each.solved_seconds],
            [max(each.solved_error, 1e-16)],  # none at all would be no point on such an axis
            color=colour,
            marker="*",
            markersize=13,
            linestyle="none",
            label=f"after {each.ratings} ratings",
        )
    lowest = min(accuracies, key=lambda each: each.sampled[0].error)
    for one in lowest.sampled:
        _note(axes, f"{one.draws:,} draws", 1_000 * one.seconds, one.error, (0, -16))
    _note(axes, "solved", 1_000 * lowest.solved_seconds, lowest.solved_error, (32, -4))
    axes.set_title("What accuracy costs: draws (dots) and solved quantiles (stars)")
    axes.set(xlabel="processor time for all songs, ms", ylabel="error, standard deviations")
    axes.margins(x=0.12, y=0.1)
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(plain)
    axes.grid(visible=True)
    axes.legend(loc="center right")


def _note(axes: Axes, text: str, x: float, y: float, offset: tuple[int, int]) -> None:
    axes.annotate(
        text,
        (x, y),
        xytext=offset,
        textcoords="offset points",
        ha="center",
        color=MUTED,
        fontsize=8.5,
    )
