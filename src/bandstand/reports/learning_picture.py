"""What a radio has learnt, as a figure with four panels.

ratings against chance and the best  |  novelty curve, learnt and true
uncertainty, falling                 |  liking of every song, learnt and true
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.model.novelty import novelty
from bandstand.reports.learning_summary import recovery_text
from bandstand.reports.series import Ratings

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand.arrays import AnyArray, Vector
    from bandstand.simulation.learning import Learning

_BLUE, _AMBER, _GREEN, _GREY, _INK = "#2f78b7", "#d08c1a", "#4f9a72", "#8b9299", "#30363d"
_PALE: Final = "#e9ecef"
_DASHED: Final = (0, (4, 2))
_INCHES: Final = (12.0, 7.8)
_DOTS_PER_INCH: Final = 120
_WINDOW: Final = 20
_DAY: Final = 1_440.0  # minutes

_STYLE: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 12.5,
    "text.color": _INK,
    "axes.titlesize": 14,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.titlecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _PALE,
    "xtick.color": _GREY,
    "ytick.color": _GREY,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "legend.frameon": False,
    "lines.linewidth": 2.6,
    "figure.facecolor": "white",
    "figure.constrained_layout.w_pad": 0.18,
    "figure.constrained_layout.h_pad": 0.18,
    "figure.constrained_layout.wspace": 0.04,
    "figure.constrained_layout.hspace": 0.04,
}


def save_learning_picture(record: Learning, path: Path) -> None:
    """Write the figure as PNG."""
    learning_picture(record).savefig(path, dpi=_DOTS_PER_INCH, format="png")


def learning_picture(record: Learning) -> Figure:
    """Return the figure of a session with at least one song."""
    # Optional, and slow to import: only who draws pays for it.
    from matplotlib import rc_context  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with rc_context(_STYLE):
        figure = Figure(figsize=_INCHES, layout="constrained")
        (ratings, recovery), (uncertainty, liking) = figure.subplots(2, 2)
        _draw_ratings(ratings, record)
        _draw_recovery(recovery, record)
        _draw_uncertainty(uncertainty, record)
        _draw_liking(liking, record)
    return figure


def _draw_ratings(axes: Axes, record: Learning) -> None:
    means = Ratings.of(record.glimpses).smoothed(_WINDOW)
    songs = np.arange(1, len(record.glimpses) + 1)
    best = "best song each time"
    axes.plot(songs, means.best, color=_GREEN, linewidth=1.8, linestyle=_DASHED, label=best)
    axes.plot(songs, means.radio, color=_BLUE, label="Bandstand")
    axes.plot(songs, means.random, color=_GREY, linewidth=1.8, label="random songs")
    axes.set(
        title="Bandstand soon plays what is liked",
        xlabel="songs played",
        ylabel=f"stars, mean of {_WINDOW} songs",
        xlim=(0, max(len(songs), 2)),
        ylim=(1, 5.1),
        yticks=[1, 2, 3, 4, 5],
    )
    axes.legend(loc="lower right")


def _draw_recovery(axes: Axes, record: Learning) -> None:
    times = np.linspace(0, _DAY, 300)
    hours = times / 60
    summary = record.glimpses[-1].summary
    mean, spread = summary.recovery_time_mean, summary.recovery_time_sd
    if mean is not None and spread is not None:
        slow, quick = novelty(times, mean + spread), novelty(times, max(mean - spread, 0.0))
        axes.fill_between(hours, slow, quick, color=_BLUE, alpha=0.2, linewidth=0)
    if mean is not None:
        learnt = f"learnt recovery time: {recovery_text(summary)}"
        axes.plot(hours, novelty(times, mean), color=_BLUE, label=learnt)
    truth = f"true recovery time: {record.recovery_time:.0f} min"
    curve = novelty(times, record.recovery_time)
    axes.plot(hours, curve, color=_AMBER, linewidth=1.8, linestyle=_DASHED, label=truth)
    axes.set(
        title="How soon a song is welcome again",
        xlabel="hours since it was heard",
        ylabel="novelty regained",
        xlim=(0, 24),
        xticks=range(0, 25, 6),
        ylim=(0, 1.03),
    )
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.legend(loc="lower right")


def _draw_uncertainty(axes: Axes, record: Learning) -> None:
    values = np.array([glimpse.uncertainty or np.nan for glimpse in record.glimpses])
    songs = np.arange(1, len(values) + 1)
    known = np.isfinite(values)
    axes.set(
        title="Uncertainty falls",
        xlabel="songs played",
        ylabel="± stars, mean over all songs",
        xlim=(0, max(len(songs), 2)),
    )
    if not known.any():
        _note(axes, "not learnt by this algorithm")
        return
    axes.set_yscale("log")
    axes.set_ylim(0.8 * values[known].min(), 1.25 * values[known].max())
    axes.plot(songs[known], values[known], color=_BLUE)
    _plain_log_ticks(axes)


def _plain_log_ticks(axes: Axes) -> None:
    """Write the ticks of a short logarithmic scale as 0.2, 0.5, 1, 2."""
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415

    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _draw_liking(axes: Axes, record: Learning) -> None:
    axes.set(
        title="Every song is placed, played or not",
        xlabel="true liking, in stars before rounding",
        ylabel="learnt liking, in stars",
    )
    if record.learnt_liking is None:
        _note(axes, "not learnt by this algorithm")
        return
    played = np.zeros(len(record.liking), dtype=bool)
    played[[glimpse.step.row for glimpse in record.glimpses]] = True
    ends = _common_range(record.liking, record.learnt_liking)
    axes.plot(ends, ends, color=_GREY, linewidth=1.4, linestyle=_DASHED, zorder=1)
    for rows, colour, name in ((~played, _AMBER, "never played"), (played, _BLUE, "played")):
        _scatter(axes, record.liking[rows], record.learnt_liking[rows], colour, name)
    axes.set(xlim=ends, ylim=ends)
    axes.legend(loc="upper left", handletextpad=0.2)


def _scatter(axes: Axes, true: Vector, learnt: AnyArray, colour: str, name: str) -> None:
    axes.scatter(
        true, learnt, s=26, color=colour, alpha=0.65, linewidth=0, label=f"{len(true)} {name}"
    )


def _common_range(*values: Vector) -> tuple[float, float]:
    """Return a range with room around all values, even if they are all the same."""
    low, high = min(float(v.min()) for v in values), max(float(v.max()) for v in values)
    room = max(0.05 * (high - low), 0.1)
    return low - room, high + room


def _note(axes: Axes, text: str) -> None:
    """Write in the middle of an empty panel why it is empty."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=_GREY)
    axes.set(xticks=[], yticks=[])
