"""A catalogue as one listener meets it now.

How long ago was each song heard, and how different is it from the last ones?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.arrays import frozen
from bandstand.domain import Songs, checked_features
from bandstand.units import MONTH, Minutes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from bandstand.arrays import Matrix, Vector

# The listener's last songs that a new one is compared with.
RECENT: Final = 10
_PAIRS: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """What a listener has heard: when each song last (−∞ for never), and the last songs."""

    last_heard: Vector  # minutes since any fixed moment, (S,)
    recent: tuple[int, ...] = ()
    longest: Minutes = MONTH  # no elapsed time counts as longer; never heard counts as this

    @classmethod
    def nothing(cls, songs: int, *, longest: Minutes = MONTH) -> Listening:
        """Return the state of somebody who has heard none of the songs."""
        return cls(last_heard=frozen(np.full(songs, -np.inf)), longest=longest)

    def after(self, row: int, moment: Minutes) -> Listening:
        """Return the state after the song in `row` was heard at `moment`."""
        last_heard = self.last_heard.copy()
        last_heard[row] = moment
        return Listening(
            last_heard=frozen(last_heard),
            recent=(*self.recent[1 - RECENT :], row),
            longest=self.longest,
        )

    def elapsed(self, now: Minutes, rows: slice = slice(None)) -> Vector:
        """Return the minutes since each song was heard, from 0 to `longest`, which is never."""
        return np.clip(now - self.last_heard[rows], 0.0, self.longest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The songs that can be played, with the distance that counts as typical among them."""

    features: Matrix
    squared_norms: Vector
    typical_distance: float

    @classmethod
    def of(cls, features: ArrayLike) -> Catalogue:
        """Return a checked catalogue with one row of features per song."""
        table = checked_features(features)
        return cls(
            features=frozen(table),
            squared_norms=frozen(np.einsum("sp,sp->s", table, table)),
            typical_distance=_typical_distance(table),
        )

    def __len__(self) -> int:
        return len(self.features)

    def songs(self, listening: Listening, now: Minutes) -> Songs:
        """Return all songs as the model sees them at that moment."""
        return self._as_heard(listening, now, slice(None))

    def song(self, row: int, listening: Listening, now: Minutes) -> Songs:
        """Return the one song in `row` as the model sees it at that moment."""
        return self._as_heard(listening, now, slice(row, row + 1))

    def _as_heard(self, listening: Listening, now: Minutes, rows: slice) -> Songs:
        return Songs(
            features=self.features[rows],
            elapsed=frozen(listening.elapsed(now, rows)),
            diversity=frozen(self._diversity(listening.recent, rows)),
        )

    def _diversity(self, recent: Sequence[int], rows: slice) -> Vector:
        """Return the distance to the mean of the recent songs; 1 before anything was heard."""
        if not recent:
            return np.ones(len(self.squared_norms[rows]))
        return self.distances(self.features[list(recent)].mean(axis=0), rows)

    def distances(self, centre: Vector, rows: slice = slice(None)) -> Vector:
        """Return how far each song is from `centre`, in units of the typical distance."""
        # |x − c|² = |x|² − 2x'c + |c|²: one product with the catalogue instead of a copy of it.
        with np.errstate(under="ignore"):
            squared = self.squared_norms[rows] - 2 * (self.features[rows] @ centre)
            squared = np.maximum(squared + centre @ centre, 0.0)
            return np.asarray(np.sqrt(squared) / self.typical_distance)


def _typical_distance(features: Matrix) -> float:
    """Return the median distance between two songs, over a fixed set of pairs."""
    count = len(features)
    if count < 2:
        return 1.0
    # Songs spread over the catalogue, each with several further on: nothing is drawn.
    rows = np.unique(np.linspace(0, count - 1, min(count, 512), dtype=np.intp))
    offsets = np.unique(np.linspace(1, count - 1, _PAIRS // len(rows), dtype=np.intp))
    distances = [
        np.linalg.norm(features[rows] - features[(rows + offset) % count], axis=1)
        for offset in offsets
    ]
    median = float(np.median(np.concatenate(distances)))
    return median if median > 0 else 1.0
