"""What one listener answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.checks import checked_ratings, not_negative
from bandstand.core.model.songs import Songs
from bandstand.errors import InvalidInputError
from bandstand.types import frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.types import Matrix, Vector

# Rows that were left behind are remembered as long as there are no more than these.
_MOST_ORIGINS: Final = 24


class _Rows:
    """Room for rows that grows by doubling and is shared by all histories that grew from it.

    A history sees only its own first rows, and rows once written never change,
    so sharing is invisible; appending n rows costs O(n) in all instead of O(n²).
    """

    __slots__ = (
        "diversity",
        "elapsed",
        "features",
        "mark",
        "origins",
        "ratings",
        "used",
        "weights",
    )

    def __init__(self, columns: int, room: int) -> None:
        self.mark = object()
        # Of rows that these were copied from: their mark, and how many of the first are the same.
        self.origins: tuple[tuple[object, int], ...] = ()
        self.features = np.empty((room, columns))
        self.elapsed = np.empty(room)
        self.diversity = np.empty(room)
        self.ratings = np.empty(room)
        self.weights = np.empty(room)
        self.used = 0

    def begin_with(self, other: _Rows, count: int) -> None:
        """Remember that the first rows are those of another room, which was left behind."""
        before = ((mark, min(same, count)) for mark, same in other.origins)
        self.origins = (*before, (other.mark, count))[-_MOST_ORIGINS:]

    def write(self, songs: Songs, ratings: Vector, weights: Vector) -> None:
        rows = slice(self.used, self.used + len(ratings))
        self.features[rows] = songs.features
        self.elapsed[rows] = songs.elapsed
        self.diversity[rows] = songs.diversity
        self.ratings[rows] = ratings
        self.weights[rows] = weights
        self.used = rows.stop


class History:
    """What one listener answered, in order; rows of weight 0 say nothing and are left out.

    >>> history = History.empty(2).append(features=[1.0, 0.5], elapsed=43_200, rating=4)
    >>> len(history), float(history.ratings[0])
    (1, 4.0)
    """

    __slots__ = ("_length", "_rows")

    def __init__(self, rows: _Rows, length: int) -> None:
        self._rows = rows
        self._length = length

    @classmethod
    def empty(cls, columns: int) -> History:
        """Return the history of somebody who has answered nothing yet."""
        return cls(_Rows(columns, 8), 0)

    @classmethod
    def of(
        cls,
        *,
        features: ArrayLike,
        elapsed: ArrayLike,
        ratings: ArrayLike,
        weights: ArrayLike = 1.0,
        diversity: ArrayLike | None = None,
    ) -> History:
        """Return a checked history; weights, elapsed and diversity may be single numbers."""
        songs = Songs.of(features=features, elapsed=elapsed, diversity=diversity)
        return cls.empty(songs.features.shape[1])._extended(
            songs,
            checked_ratings(ratings, len(songs)),
            not_negative("weights", weights, len(songs)),
        )

    def append(
        self,
        *,
        features: ArrayLike,
        elapsed: float,
        rating: float,
        weight: float = 1.0,
        diversity: float = 1.0,
    ) -> History:
        """Return this history with one more answer at its end."""
        row = np.asarray(features, dtype=np.float64)
        songs = Songs.of(features=row[np.newaxis], elapsed=[elapsed], diversity=[diversity])
        if songs.features.shape[1] != self.columns:
            msg = f"a song must have {self.columns} features as before, got {row.size}"
            raise InvalidInputError(msg)
        return self._extended(
            songs, checked_ratings([rating], 1), not_negative("weights", [weight], 1)
        )

    def extended(self, more: History) -> History:
        """Return this history with all answers of another at its end."""
        if more.columns != self.columns:
            msg = f"songs must have {self.columns} features as before, got {more.columns}"
            raise InvalidInputError(msg)
        return self._extended(more.songs, more.ratings, more.weights) if len(more) else self

    def first(self, count: int) -> History:
        """Return only the first `count` answers; nothing is copied."""
        if not 0 <= count <= len(self):
            msg = f"count must be between 0 and {len(self)}, got {count}"
            raise InvalidInputError(msg)
        return History(self._rows, count)

    def without(self, row: int) -> History:
        """Return this history as if answer number `row` had never been given."""
        if not 0 <= row < len(self):
            msg = f"row must be between 0 and {len(self) - 1}, got {row}"
            raise InvalidInputError(msg)
        keep = np.arange(len(self)) != row
        songs = Songs(
            features=self.features[keep],
            elapsed=self.elapsed[keep],
            diversity=self.diversity[keep],
        )
        return History.empty(self.columns)._extended(songs, self.ratings[keep], self.weights[keep])

    def _extended(self, songs: Songs, ratings: Vector, weights: Vector) -> History:
        told = weights > 0
        if not told.all():
            songs = Songs(
                features=songs.features[told],
                elapsed=songs.elapsed[told],
                diversity=songs.diversity[told],
            )
            ratings, weights = ratings[told], weights[told]
        length = self._length + len(ratings)
        rows = self._rows
        if rows.used != self._length or length > len(rows.ratings):
            rows = _Rows(self.columns, max(8, 2 * length))
            rows.begin_with(self._rows, self._length)
            rows.write(self.songs, self.ratings, self.weights)
        rows.write(songs, ratings, weights)
        return History(rows, length)

    def __len__(self) -> int:
        return self._length

    def continues(self, earlier: History) -> bool:
        """Return whether this history is known to begin with all of `earlier`."""
        same = self._length
        if self._rows is not earlier._rows:
            same = min(same, dict(self._rows.origins).get(earlier._rows.mark, -1))
        return same >= earlier._length

    @property
    def columns(self) -> int:
        """How many features a song has: p."""
        return self._rows.features.shape[1]

    @property
    def features(self) -> Matrix:
        """The features of each rated song: (N, p)."""
        view: Matrix = frozen(self._rows.features[: self._length])
        return view

    @property
    def elapsed(self) -> Vector:
        """The minutes since each song had been heard before, when it was rated: (N,)."""
        view: Vector = frozen(self._rows.elapsed[: self._length])
        return view

    @property
    def diversity(self) -> Vector:
        """The distance of each song to the ones before it, when it was rated: (N,)."""
        view: Vector = frozen(self._rows.diversity[: self._length])
        return view

    @property
    def ratings(self) -> Vector:
        """The answers: (N,)."""
        view: Vector = frozen(self._rows.ratings[: self._length])
        return view

    @property
    def weights(self) -> Vector:
        """How much each answer counts: (N,), all positive."""
        view: Vector = frozen(self._rows.weights[: self._length])
        return view

    @property
    def songs(self) -> Songs:
        """The rated songs as they were when they were rated."""
        return Songs(features=self.features, elapsed=self.elapsed, diversity=self.diversity)
