"""Skips: how often a play was cut short, by the time since the song was last heard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from bandstand.types import AnyArray, Vector
    from bandstand_lab.histories.values import History

# A play that ends sooner is a skip; services count a play as one from here on.
SHORTEST_LISTEN: Final = 30.0  # seconds
_HOUR: Final = 3_600.0
_DAY: Final = 86_400.0
# By how long ago the song had been played: below these limits.
_SPANS: Final = (
    ("within an hour", _HOUR),
    ("an hour to a day", _DAY),
    ("a day to a week", 7 * _DAY),
    ("a week to a month", 30 * _DAY),
    ("longer ago", np.inf),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipRate:
    """The share of plays that were cut short, among those whose end is known."""

    after: str  # how long ago the song had been played before
    plays: int
    share: float | None  # None without plays


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipRates:
    """Skips among all plays whose end is known, and by the time since the song's last play."""

    plays: int
    share: float
    by_gap: tuple[SkipRate, ...]  # the first plays of songs, then repeats by their gap


def is_skip(history: History) -> Vector:
    """Return 1 for a skip, 0 for none, NaN where it is not known: (n,).

    The export's own word counts; without one, a play of less than half a minute is a skip.
    """
    with np.errstate(invalid="ignore"):  # what is not known is not short
        short = np.where(np.isnan(history.played), np.nan, history.played < SHORTEST_LISTEN)
    return np.where(np.isnan(history.skipped), short, history.skipped)


def is_heard(history: History) -> AnyArray:
    """Return whether each play lasted, as far as is known, at least half a minute: (n,).

    A song that is given up near its end was heard; where it is not known how long a play lasted,
    the export's word on skips counts.
    """
    unknown = np.isnan(history.played)
    lasted = np.where(unknown, np.inf, history.played) >= SHORTEST_LISTEN
    return np.asarray(lasted & ~(unknown & (history.skipped == 1.0)))


def skip_rates(skips: Vector, gaps: Vector) -> SkipRates | None:
    """Return how often plays were cut short; None if no play has a known end.

    `skips` are those of `is_skip`, `gaps` the seconds since the song's last play: both (n,).
    """
    known = ~np.isnan(skips)
    if not known.any():
        return None
    first = np.isnan(gaps)
    parts = [_rate("never before", skips[known & first])]
    below = 0.0
    for name, limit in _SPANS:
        within = (np.where(first, -1.0, gaps) >= below) & (np.where(first, -1.0, gaps) < limit)
        parts.append(_rate(name, skips[known & within]))
        below = limit
    return SkipRates(plays=int(known.sum()), share=float(skips[known].mean()), by_gap=tuple(parts))


def _rate(name: str, skips: Vector) -> SkipRate:
    return SkipRate(after=name, plays=len(skips), share=float(skips.mean()) if len(skips) else None)
