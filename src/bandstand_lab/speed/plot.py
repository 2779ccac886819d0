"""The panel of the paper's efficiency figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstand_lab.report.figures import GRID, label_ends, look_of, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bandstand_lab.speed.training import TrainingStudy


def training_panel(axes: Axes, study: TrainingStudy) -> None:
    """Draw the time of each method over the number of ratings."""
    sizes = study.sizes
    axes.set(xscale="log", yscale="log")
    for method in study.methods:
        spreads = [study.seconds(method, size) for size in sizes]
        look = look_of(method)
        low, high = [each.lower for each in spreads], [each.upper for each in spreads]
        axes.fill_between(sizes, low, high, color=look.colour, alpha=0.15, linewidth=0)
        axes.plot(
            sizes,
            [each.median for each in spreads],
            color=look.colour,
            linewidth=look.width,
            linestyle=look.dashes,
            marker=look.marker,
            markersize=4,
        )
    axes.set_title("Time to learn from N ratings, one thread")
    axes.set(xlabel="ratings N", ylabel="processor time (median, quartiles shaded)")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.yaxis.set_major_formatter(_in_seconds)
    axes.minorticks_off()
    axes.grid(color=GRID, linewidth=0.7)
    label_ends(axes, {method: study.seconds(method, sizes[-1]).median for method in study.methods})


def _in_seconds(value: float, position: float) -> str:
    return f"{plain(value, position)} s"
