"""What a listener is asked about, and what the listener answered.

code         maths  shape   meaning
`features`   x      (S, p)  a song's audio features, one row per song
`elapsed`    t      (S,)    minutes since this listener last heard the song
`diversity`  d      (S,)    distance to the listener's last songs; 1 is the catalogue's typical one
`ratings`    r      (N,)    what the listener said
`weights`    w      (N,)    how much that counts: inverse relative noise variance, 1 for a rating

`Songs` and `History` check what they are given, so everything below them can
trust its types. Both are values: they never change, `History.append` returns a new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.arrays import frozen
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from bandstand.arrays import AnyArray, Matrix, Vector

# Features are squared and compared with a prior of unit scale; beyond this size
# double precision cannot hold both. Standardised features are far below it.
FEATURE_LIMIT: Final = 1e6
# Ratings are squared and summed; this keeps the sum far from overflow.
RATING_LIMIT: Final = 1e30


@dataclass(frozen=True, slots=True, kw_only=True)
class Songs:
    """Songs that could be played now, as the model sees them.

    >>> songs = Songs.of(features=[[1.0, 0.5], [0.0, 2.0]], elapsed=[43_200, 10])
    >>> len(songs)
    2
    """

    features: Matrix
    elapsed: Vector
    diversity: Vector

    @classmethod
    def of(
        cls, *, features: ArrayLike, elapsed: ArrayLike, diversity: ArrayLike | None = None
    ) -> Songs:
        """Return checked songs; an elapsed time may be one number for all of them."""
        matrix = checked_features(features)
        count = len(matrix)
        return cls(
            features=frozen(matrix),
            elapsed=frozen(_not_negative("elapsed minutes", elapsed, count)),
            diversity=frozen(
                np.ones(count)
                if diversity is None
                else _not_negative("diversity", diversity, count)
            ),
        )

    def __len__(self) -> int:
        return len(self.features)

    def take(self, rows: Sequence[int] | slice) -> Songs:
        """Return only the songs in `rows`."""
        return Songs(
            features=self.features[rows], elapsed=self.elapsed[rows], diversity=self.diversity[rows]
        )


class _Rows:
    """Room for rows that grows by doubling and is shared by all histories that grew from it.

    A history sees only its own first rows, and rows once written never change,
    so sharing is invisible; appending n rows costs O(n) in all instead of O(n²).
    """

    __slots__ = ("diversity", "elapsed", "features", "ratings", "used", "weights")

    def __init__(self, columns: int, room: int) -> None:
        self.features = np.empty((room, columns))
        self.elapsed = np.empty(room)
        self.diversity = np.empty(room)
        self.ratings = np.empty(room)
        self.weights = np.empty(room)
        self.used = 0

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
            _checked_ratings(ratings, len(songs)),
            _not_negative("weights", weights, len(songs)),
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
            songs, _checked_ratings([rating], 1), _not_negative("weights", [weight], 1)
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
            rows.write(self.songs, self.ratings, self.weights)
        rows.write(songs, ratings, weights)
        return History(rows, length)

    def __len__(self) -> int:
        return self._length

    def continues(self, earlier: History) -> bool:
        """Return whether this history is known to begin with all of `earlier`."""
        return self._rows is earlier._rows and self._length >= earlier._length

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


def checked_features(features: ArrayLike) -> Matrix:
    """Return `features` as a matrix of finite numbers of a size the model can hold."""
    matrix = _numbers("features", features)
    if matrix.ndim != 2:
        msg = f"features must be a table with one row per song, got {matrix.ndim} dimension(s)"
        raise InvalidInputError(msg)
    if not matrix.shape[1]:
        msg = "songs must have at least one feature, got none"
        raise InvalidInputError(msg)
    _check_size("features", matrix, FEATURE_LIMIT, "; standardise them")
    return matrix


def _numbers(name: str, values: ArrayLike) -> Matrix:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        msg = f"{name} must be numbers in rows of equal length, got {_shown(values)}"
        raise InvalidInputError(msg) from problem


def _shown(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_size(name: str, values: Matrix | Vector, limit: float, advice: str = "") -> None:
    """Refuse what is not finite or too large, and say which row it is in."""
    bad = ~(np.abs(values) <= limit)  # also true for NaN
    if bad.any():
        where = np.argwhere(bad)[0]
        msg = (
            f"{name} must be finite and at most {limit:g} in size, "
            f"got {values[tuple(where)]} in row {where[0]}{advice}"
        )
        raise InvalidInputError(msg)


def _column(name: str, values: ArrayLike, count: int) -> Vector:
    column: AnyArray = _numbers(name, values)
    if column.ndim == 0:
        return np.full(count, float(column))
    if column.shape != (count,):
        msg = f"{name} must be one number per song ({count}), got shape {column.shape}"
        raise InvalidInputError(msg)
    return column


def _not_negative(name: str, values: ArrayLike, count: int) -> Vector:
    column = _column(name, values, count)
    _check_size(name, column, 1e30)
    if (column < 0).any():
        row = int(np.argmax(column < 0))
        msg = f"{name} must not be negative, got {column[row]} in row {row}"
        raise InvalidInputError(msg)
    return column


def _checked_ratings(ratings: ArrayLike, count: int) -> Vector:
    column = _column("ratings", ratings, count)
    _check_size("ratings", column, RATING_LIMIT)
    return column
