"""What a radio has learnt about its listener, in a few lines that need no colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.reports.series import Ratings
from bandstand.units import MONTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.inference.engine import Summary
    from bandstand.simulation.learning import Glimpse, Learning

# Ratings are noisy: means over so many songs can be compared.
_LAST: Final = 50
_RECENT: Final = 20
_NOT_LEARNT: Final = "not learnt"


def summary_lines(record: Learning) -> list[str]:
    """Return the outcome: how well the songs were liked, and what is known of the listener."""
    glimpses = record.glimpses
    if not glimpses:
        return ["Ended before the first song."]
    repeats = sum(glimpse.step.elapsed < MONTH for glimpse in glimpses)
    truth = f"truth {record.recovery_time:.0f}"
    window = min(_LAST, len(glimpses))
    return [
        f"After {_counted(len(glimpses), 'song')}, {_counted(repeats, 'repeat')} among them:",
        f"  mean of the last {window:<3}  {_ratings_text(glimpses)}",
        f"  recovery time         {recovery_text(glimpses[-1].summary)}, {truth}",
        f"  liking of {_counted(len(record.liking), 'song'):<10}  {_liking_text(record)}",
    ]


def progress_line(glimpses: Sequence[Glimpse]) -> str:
    """Return where the radio stands, in one line."""
    ratings = Ratings.of(glimpses[-_RECENT:]).smoothed(_RECENT)
    return (
        f"{_counted(len(glimpses), 'song'):>9}: the last {len(ratings.radio)} got "
        f"{ratings.radio[-1]:.1f} stars, random songs {ratings.random[-1]:.1f}; "
        f"recovery time {recovery_text(glimpses[-1].summary)}"
    )


def recovery_text(summary: Summary) -> str:
    """Return the learnt recovery time with its standard deviation."""
    if summary.recovery_time_mean is None:
        return _NOT_LEARNT
    mean = f"{summary.recovery_time_mean:,.0f}"
    if summary.recovery_time_sd is None:
        return f"{mean} min"
    return f"{mean} ± {summary.recovery_time_sd:,.0f} min"


def _ratings_text(glimpses: Sequence[Glimpse]) -> str:
    means = Ratings.of(glimpses).smoothed(_LAST)
    return (
        f"Bandstand {means.radio[-1]:.1f} stars, a random radio {means.random[-1]:.1f}, "
        f"at best {means.best[-1]:.1f}"
    )


def _liking_text(record: Learning) -> str:
    """Return how well the learnt liking of the songs agrees with the true one."""
    if record.learnt_liking is None:
        return _NOT_LEARNT
    if min(np.ptp(record.learnt_liking), np.ptp(record.liking)) <= 0:
        return "the same for all"
    correlation = float(np.corrcoef(record.learnt_liking, record.liking)[0, 1])
    error = record.learnt_liking - record.liking
    return (
        f"learnt to ± {float(np.sqrt(np.mean(error**2))):.2f} stars, "
        f"correlation with the truth {correlation:.2f}"
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"
