"""How somebody listens: how often, with what ratings, and how often the same songs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand._util.power_laws import Zipf, plays_by_rank, repeat_share, zipf
from bandstand.radio.log.evidence import FULL_LISTEN

if TYPE_CHECKING:
    from bandstand.radio.log.fold import Columns
    from bandstand.types import Vector

# Ratings are noisy: the mean over so many says how songs pleased around then.
WINDOW: Final = 20
_MOST_POINTS: Final = 400
_MOST_RANKS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many plays there were, by what they ended in."""

    plays: int
    ratings: int
    skips: int
    listens: int  # to the end, not rated
    songs: int  # different ones


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingPoint:
    """One rating, and the mean of it and those just before it."""

    at: int  # UTC, in milliseconds
    stars: float
    running_mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often songs come back."""

    share: float  # of all plays that were not a song's first
    plays_by_rank: tuple[int, ...]  # of the most played song, the second, …
    zipf: Zipf | None  # None where all were played as often, or hardly any


def counts(plays: Columns) -> Counts:
    """Return how many plays of each kind there are; a play that says nothing is of none."""
    rated = plays.weight == 1.0
    told = (plays.weight > 0) & ~rated
    listened = told & (plays.rating == FULL_LISTEN.rating)
    return Counts(
        plays=len(plays.song),
        ratings=int(rated.sum()),
        skips=int((told & ~listened).sum()),
        listens=int(listened.sum()),
        songs=len(plays.ids),
    )


def ratings_over_time(plays: Columns) -> tuple[RatingPoint, ...]:
    """Return the star ratings in order; of very many some, evenly spread, the last among them."""
    rated = plays.weight == 1.0
    stars, at = plays.rating[rated], plays.at[rated]
    means = running_mean(stars)
    last = len(stars) - 1
    wanted = np.linspace(0, last, min(len(stars), _MOST_POINTS)).round().astype(int)
    return tuple(
        RatingPoint(at=int(at[row]), stars=float(stars[row]), running_mean=float(means[row]))
        for row in np.unique(wanted)
    )


def running_mean(values: Vector, window: int = WINDOW) -> Vector:
    """Return the mean of each value and those before it, at most `window` in all.

    >>> running_mean(np.array([1.0, 3.0, 5.0]), window=2).tolist()
    [1.0, 2.0, 4.0]
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - window, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))


def repeats(plays: Columns) -> Repeats | None:
    """Return how often songs come back; None before the first play."""
    if not len(plays.song):
        return None
    ranked = plays_by_rank(plays.song)[:_MOST_RANKS]
    return Repeats(
        share=repeat_share(plays.song),
        plays_by_rank=tuple(map(int, ranked)),
        zipf=zipf(ranked),
    )
