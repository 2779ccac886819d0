"""Figures of listening histories: repeats, ranks, and novelty's recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    NullFormatter,
    PercentFormatter,
)

from bandstand._util.words import counted
from bandstand_lab.histories.words import percent, rank_points, recovery_cell
from bandstand_lab.report.figures import CYCLE, GRID, INK, MUTED, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from bandstand._util.power_laws import Zipf
    from bandstand.types import Vector
    from bandstand_lab.histories.findings import Recovery

_PAPER_SHARE: Final = 0.683  # of repeats among the paper's thousand listeners
_BLUE, _ORANGE = CYCLE[:2]
_MAX_ALIGNED: Final = 8  # listeners whose dots are drawn in one column
_MAX_LINES: Final = 30
_SHORT_AXIS: Final = 20.0  # times its beginning: such an axis has hardly two decades' marks
_PERCENT: Final = PercentFormatter(1.0, decimals=0, symbol=" %")
_TICKS: Final = {  # minutes
    1.0: "1 min",
    10.0: "10 min",
    60.0: "1 hour",
    360.0: "6 h",
    1_440.0: "1 day",
    10_080.0: "week",
    43_200.0: "month",
}


def draw_repeats(axes: Axes, shares: Vector) -> None:
    """Draw the share of repeats of each listener, and of many the paper's box plot."""
    axes.axhline(_PAPER_SHARE, color=MUTED, linestyle=":", linewidth=1.2)
    axes.text(1.48, _PAPER_SHARE, "paper", color=MUTED, ha="right", va="bottom", fontsize=8.5)
    is_many = len(shares) > _MAX_ALIGNED
    across = 1.0 + is_many * np.random.default_rng(1).uniform(-0.12, 0.12, len(shares))
    axes.plot(across, shares, "o", color=_BLUE, alpha=0.35 if is_many else 1.0, ms=4)
    if len(shares) >= 5:
        names = ("whislo", "q1", "med", "q3", "whishi")
        quantiles = np.quantile(shares, [0.05, 0.25, 0.5, 0.75, 0.95])
        boxes = [dict(zip(names, quantiles, strict=True))]
        axes.bxp(boxes, widths=0.42, showfliers=False, medianprops={"color": INK})
    middle = float(np.median(shares))
    said = percent(middle) if len(shares) == 1 else f"median {percent(middle)}"
    axes.set_title(f"Repeats: {said} of plays")
    axes.set(xlim=(0.5, 1.5), ylim=(0, 1), ylabel="share of plays that are repeats")
    axes.yaxis.set_major_formatter(_PERCENT)
    axes.set_xticks([1.0], [counted(len(shares), "listener")])
    axes.grid(axis="y", color=GRID)


def draw_ranks(axes: Axes, listeners: Sequence[Vector], law: Zipf | None) -> None:
    """Draw how often the songs of all listeners were played by their rank, and a fitted line."""
    together = np.sort(np.concatenate(listeners))[::-1]
    single = listeners[:_MAX_LINES] if len(listeners) > 1 else []
    axes.set(xscale="log", yscale="log")
    for each in single:
        axes.plot(*zip(*rank_points(each), strict=True), color=MUTED, alpha=0.35, linewidth=0.8)
    ranks, plays = zip(*rank_points(together), strict=True)
    label = "all listeners' songs (grey: single listeners)" if single else "songs"
    axes.plot(ranks, plays, "o", color=_BLUE, markersize=3, label=label)
    if law is not None:
        ends = np.array([1.0, float(len(together))])
        label = f"fit to all ranks: slope −{law.exponent:.2f}, R² = {law.r_squared:.2f}"
        axes.plot(ends, law.first * ends**-law.exponent, color=_ORANGE, linewidth=1.6, label=label)
    axes.set_title("Plays of songs by rank")
    # With the whole line in it, the figure's upper right is empty and takes the legend.
    axes.set_ylim(0.8, max(4 * max(plays), 1.6 * law.first if law else 0.0))
    axes.set(xlabel="rank of the song", ylabel="plays")
    _count_axis(axes.xaxis)
    _count_axis(axes.yaxis)
    axes.legend(loc="upper right", fontsize=8.5)
    axes.grid(color=GRID)


def draw_recovery(axes: Axes, suggested: Recovery) -> None:
    """Draw how much likelier than by chance a song is some time after its play."""
    axes.set_xscale("log")
    axes.axhline(1.0, color=MUTED, linestyle=":", linewidth=1.2)
    where = axes.get_yaxis_transform()
    axes.text(0.01, 0.95, "chance", color=MUTED, va="top", fontsize=8.5, transform=where)
    axes.plot(suggested.lags, suggested.closeness, "o", color=_BLUE, markersize=4, label="seen")
    axes.plot(suggested.lags, suggested.fitted, color=_ORANGE, linewidth=1.6, label="fitted")
    axes.set_title(f"Novelty's recovery after a play: s {recovery_cell(suggested)}")
    _time_axis(axes)
    axes.set_xlabel("time between two plays")
    axes.set_ylabel("same song, times as likely as by chance")
    axes.set_ylim(0, 1.12 * float(max(suggested.closeness.max(), suggested.fitted.max())))
    axes.legend(loc="upper right")
    axes.grid(color=GRID)


def _count_axis(axis: Axis) -> None:
    """Label a logarithmic axis of counts, between the decades too where there is hardly one."""
    low, high = axis.get_view_interval()
    axis.set_major_formatter(plain)
    axis.set_minor_formatter(NullFormatter())
    if high < _SHORT_AXIS * low:
        axis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
        axis.set_minor_formatter(FuncFormatter(plain))


def _time_axis(axes: Axes) -> None:
    """Label a logarithmic axis of minutes."""
    low, high = axes.get_xlim()
    shown = {at: text for at, text in _TICKS.items() if low <= at <= high}
    axes.set_xticks(list(shown), list(shown.values()))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.set_xlim(low, high)
