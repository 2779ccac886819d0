"""Songs as the model sees them at one moment, what one listener heard and rated.

    Songs, SongsAt    songs with elapsed times      PlayTimes   the last play of each song
    SongFeatures      a catalogue                   History     the answers

Values from outside are checked here, once; engines rely on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.core.model.song_groups import SongGroups
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH, Indices, Minutes, blocks, frozen, read_only

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.types import AnyArray, Features, Matrix, Rows, Vector

# Features are squared and compared with a prior of unit scale; beyond this size
# double precision cannot hold both. Standardised features are far below it.
FEATURE_LIMIT: Final = 1e6
# Ratings are squared and summed; this keeps the sum far from overflow.
RATING_LIMIT: Final = 1e30
# Rows of a large table that are checked at a time.
_CHECKED_PER_BLOCK: Final = 16_384
# Songs taken at a time, so that memory does not grow with the catalogue.
SONGS_PER_BLOCK: Final = 4_096


def checked_features(features: ArrayLike) -> Matrix:
    """Return `features` as a matrix of finite numbers of a size the model can hold."""
    matrix = _numbers("features", features)
    _check_table(matrix)
    return matrix


def checked_table(features: ArrayLike) -> Features:
    """Return `features` checked in the same way, but left in single precision if they are."""
    if isinstance(features, np.ndarray) and features.dtype == np.float32:
        # Rows may be parts of longer ones: a copy of them would double the catalogue.
        is_by_rows = features.ndim == 2 and features.strides[1] == features.itemsize
        table: Features = features if is_by_rows else np.ascontiguousarray(features)
        _check_table(table)
        return table
    return checked_features(features)


def _check_table(matrix: Features) -> None:
    if matrix.ndim != 2:
        msg = f"features must be a table with one row per song, got {matrix.ndim} dimension(s)"
        raise InvalidInputError(msg)
    if not matrix.shape[1]:
        msg = "songs must have at least one feature, got none"
        raise InvalidInputError(msg)
    for rows in blocks(len(matrix), _CHECKED_PER_BLOCK):
        advice = "; standardise them"
        _check_size("features", matrix[rows], FEATURE_LIMIT, advice, first=rows.start)


def _numbers(name: str, values: ArrayLike) -> Matrix:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        msg = f"{name} must be numbers in rows of equal length, got {_shown(values)}"
        raise InvalidInputError(msg) from problem


def _shown(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_size(
    name: str, values: AnyArray, limit: float, advice: str = "", *, first: int = 0
) -> None:
    """Refuse what is not finite or too large, and say which row it is in."""
    bad = ~(np.abs(values) <= limit)  # also true for NaN
    if bad.any():
        where = np.argwhere(bad)[0]
        msg = (
            f"{name} must be finite and at most {limit:g} in size, "
            f"got {values[tuple(where)]} in row {first + where[0]}{advice}"
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


def not_negative(name: str, values: ArrayLike, count: int) -> Vector:
    """Return one number per song, none below zero; a single one is for all of them."""
    column = _column(name, values, count)
    _check_size(name, column, 1e30)
    if (column < 0).any():
        row = int(np.argmax(column < 0))
        msg = f"{name} must not be negative, got {column[row]} in row {row}"
        raise InvalidInputError(msg)
    return column


def checked_ratings(ratings: ArrayLike, count: int) -> Vector:
    """Return one finite rating per song."""
    column = _column("ratings", ratings, count)
    _check_size("ratings", column, RATING_LIMIT)
    return column


def _elapsed(values: ArrayLike, count: int) -> Vector:
    """Return one elapsed time per song, none below zero; infinity stands for never."""
    column = _column("elapsed minutes", values, count)
    not_negative("elapsed minutes", np.where(column == np.inf, 0.0, column), count)
    return column


def checked_groups(groups: SongGroups | None, count: int) -> SongGroups | None:
    """Return the groups if there is one per song, or none at all."""
    if groups is not None and len(groups) != count:
        msg = f"there must be one group per song ({count}), got {len(groups)}"
        raise InvalidInputError(msg)
    return groups


@dataclass(frozen=True, kw_only=True, eq=False)
class Songs:
    """Songs that could be played now, as the model sees them.

    A whole catalogue may be large: engines ask for the rows that they need, in double
    precision, and what is dense is computed only if all of it is needed.

    >>> songs = Songs.of(features=[[1.0, 0.5], [0.0, 2.0]], elapsed=[43_200, 10])
    >>> len(songs), songs.heard.tolist()
    (2, [1])
    """

    features: Features
    elapsed: Vector
    groups: SongGroups | None = None  # without any, no song has to do with another

    def __repr__(self) -> str:
        return _sized(self, "songs", *self.features.shape)

    @classmethod
    def of(
        cls, *, features: ArrayLike, elapsed: ArrayLike, groups: SongGroups | None = None
    ) -> Songs:
        """Return checked songs; an elapsed time may be one number for all of them."""
        matrix = checked_features(features)
        count = len(matrix)
        return cls(
            features=frozen(matrix),
            elapsed=frozen(_elapsed(elapsed, count)),
            groups=checked_groups(groups, count),
        )

    def __len__(self) -> int:
        return len(self.features)

    @cached_property
    def longest(self) -> float:
        """The elapsed time that songs never heard share: none is longer."""
        return float(self.elapsed.max(initial=0.0))

    @cached_property
    def heard(self) -> Indices:
        """The rows whose elapsed time is shorter than that, rising."""
        return np.flatnonzero(self.elapsed < self.longest)

    def features_of(self, rows: Rows) -> Matrix:
        """Return the features of the songs in `rows`, in double precision: (n, p)."""
        return np.asarray(self.features[rows], dtype=np.float64)

    def elapsed_of(self, rows: Rows) -> Vector:
        """Return the minutes since each of the songs in `rows` was heard: (n,)."""
        return self.elapsed[rows]

    def groups_of(self, rows: Rows) -> SongGroups:
        """Return the song, album and artist of each of the songs in `rows`."""
        if self.groups is None:
            return SongGroups.unknown(len(self.elapsed_of(rows)))
        return self.groups.take(rows)

    def content(self, preference: Vector) -> Vector:
        """Return θ'x (1) of each song, in double precision: (S,)."""
        values = np.empty(len(self))
        with np.errstate(under="ignore"):
            for rows in blocks(len(self), SONGS_PER_BLOCK):
                values[rows] = self.features_of(rows) @ preference
        return values

    def require_columns(self, columns: int) -> None:
        """Refuse songs that do not have this number of features."""
        if self.features.shape[1] != columns:
            msg = f"songs must have {columns} features, got {self.features.shape[1]}"
            raise InvalidInputError(msg)

    def take(self, rows: Rows) -> Songs:
        """Return only the songs in `rows`."""
        return Songs(
            features=self.features_of(rows),
            elapsed=self.elapsed_of(rows),
            groups=None if self.groups is None else self.groups.take(rows),
        )


# Blocks of rows that were copied into larger ones, of which a history still knows.
_MAX_ORIGINS: Final = 24


class _Rows:
    """A buffer of rows that grows by doubling, shared by all histories that grew from it.

    A history sees only its own first rows, and rows once written never change,
    so sharing is invisible; appending n rows costs O(n) in all instead of O(n²).
    """

    def __init__(self, columns: int, capacity: int) -> None:
        self.mark = object()
        # Of buffers that this one was copied from: their mark, and how many rows are the same.
        self.origins: tuple[tuple[object, int], ...] = ()
        self.features = np.empty((capacity, columns))
        self.elapsed, self.ratings, self.weights = np.empty((3, capacity))
        self.groups = np.empty((3, capacity), dtype=np.int64)
        self.used = 0

    def begin_with(self, other: _Rows, count: int) -> None:
        """Remember that the first rows are those of another buffer."""
        before = ((mark, min(same, count)) for mark, same in other.origins)
        self.origins = (*before, (other.mark, count))[-_MAX_ORIGINS:]

    def write(self, songs: Songs, ratings: Vector, weights: Vector) -> None:
        rows = slice(self.used, self.used + len(ratings))
        self.features[rows] = songs.features
        self.elapsed[rows] = songs.elapsed
        self.ratings[rows] = ratings
        self.weights[rows] = weights
        self.groups[:, rows] = songs.groups_of(slice(None)).stacked()
        self.used = rows.stop


class History:
    """The answers of one listener, in order; rows of weight 0 say nothing and are left out.

    >>> history = History.empty(2).append(features=[1.0, 0.5], elapsed=43_200, rating=4)
    >>> len(history), float(history.ratings[0])
    (1, 4.0)
    """

    __slots__ = ("_length", "_rows")

    def __init__(self, rows: _Rows, length: int) -> None:
        self._rows = rows
        self._length = length

    def __repr__(self) -> str:
        return _sized(self, "answers", len(self), self.columns)

    @classmethod
    def empty(cls, columns: int) -> History:
        """Return a history without any answers."""
        return cls(_Rows(columns, 8), 0)

    @classmethod
    def of(
        cls,
        *,
        features: ArrayLike,
        elapsed: ArrayLike,
        ratings: ArrayLike,
        weights: ArrayLike = 1.0,
        groups: SongGroups | None = None,
    ) -> History:
        """Return a checked history; weights and elapsed may be single numbers."""
        songs = Songs.of(features=features, elapsed=elapsed, groups=groups)
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
        groups: SongGroups | None = None,
    ) -> History:
        """Return this history with one more answer at its end; `groups` are those of one song."""
        row = np.asarray(features, dtype=np.float64)
        songs = Songs.of(features=row[np.newaxis], elapsed=[elapsed], groups=groups)
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
        keep = np.delete(np.arange(len(self)), row)
        return History.empty(self.columns)._extended(
            self.songs.take(keep), self.ratings[keep], self.weights[keep]
        )

    def _extended(self, songs: Songs, ratings: Vector, weights: Vector) -> History:
        if not (weights > 0).all():
            kept = np.flatnonzero(weights > 0)
            songs, ratings, weights = songs.take(kept), ratings[kept], weights[kept]
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
        """The number of features of a song: p."""
        return self._rows.features.shape[1]

    @property
    def features(self) -> Matrix:
        """The features of each rated song: (N, p)."""
        return np.asarray(frozen(self._rows.features[: self._length]))

    @property
    def elapsed(self) -> Vector:
        """The minutes since each song had been heard before, when it was rated: (N,)."""
        return np.asarray(frozen(self._rows.elapsed[: self._length]))

    @property
    def ratings(self) -> Vector:
        """The answers: (N,)."""
        return np.asarray(frozen(self._rows.ratings[: self._length]))

    @property
    def weights(self) -> Vector:
        """The weight of each answer: (N,), all positive."""
        return np.asarray(frozen(self._rows.weights[: self._length]))

    @property
    def groups(self) -> SongGroups:
        """The song, album and artist of each answer; a song has the same features in all of its."""
        return SongGroups.unstacked(self._rows.groups[:, : self._length])

    @property
    def songs(self) -> Songs:
        """The rated songs as they were when they were rated."""
        return Songs(features=self.features, elapsed=self.elapsed, groups=self.groups)


# Songs taken at a time, so that memory does not grow with the catalogue.
_BLOCK: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlayTimes:
    """The songs that a listener has heard, with the time of the last play of each.

    code          shape  meaning
    `heard_rows`  (H,)   the songs that were ever heard, rising
    `heard_at`    (H,)   when each of them was heard last: minutes since any fixed moment
    """

    songs: int  # in the catalogue
    heard_rows: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    heard_at: Vector = field(default_factory=lambda: np.empty(0))
    # No elapsed time counts as longer, and never heard counts as this; ∞ is a bound for none.
    longest: Minutes = MONTH

    @classmethod
    def nothing(cls, songs: int, *, longest: Minutes = MONTH) -> PlayTimes:
        """Return the play times of a listener who has heard none of the songs."""
        return cls(songs=songs, longest=longest)

    def after(self, rows: ArrayLike, moments: ArrayLike) -> PlayTimes:
        """Return the play times after these songs were heard at these moments, one or many."""
        # Of several plays the last one counts: in rows turned around, the first.
        every = np.concatenate([np.atleast_1d(rows)[::-1], self.heard_rows])
        at = np.concatenate([np.atleast_1d(moments)[::-1], self.heard_at])
        heard, first = np.unique(every, return_index=True)
        return replace(self, heard_rows=heard, heard_at=frozen(at[first]))

    def elapsed_between(self, rows: Indices, moments: Vector) -> Vector:
        """Return the minutes from each play back to the one before of the same song: (n,)."""
        order = np.argsort(rows, kind="stable")
        again = np.flatnonzero(np.diff(rows[order]) == 0)
        before = self.last_heard_of(rows)
        before[order[again + 1]] = moments[order[again]]
        return np.clip(moments - before, 0.0, self.longest)

    def last_heard_of(self, rows: Rows) -> Vector:
        """Return when each of the songs in `rows` was heard last, −∞ for never."""
        some = np.arange(*rows.indices(self.songs)) if isinstance(rows, slice) else np.asarray(rows)
        if not len(self.heard_rows):
            return np.full(len(some), -np.inf)
        places = np.minimum(np.searchsorted(self.heard_rows, some), len(self.heard_rows) - 1)
        return np.where(self.heard_rows[places] == some, self.heard_at[places], -np.inf)

    def elapsed_of(self, now: Minutes, rows: Rows) -> Vector:
        """Return the minutes since each of these was heard, from 0 to `longest`, which is never."""
        return np.clip(now - self.last_heard_of(rows), 0.0, self.longest)

    def elapsed(self, now: Minutes) -> Vector:
        """Return the minutes since each song of the catalogue was heard."""
        elapsed = np.full(self.songs, float(self.longest))
        elapsed[self.heard_rows] = self.elapsed_of(now, self.heard_rows)
        return elapsed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SongFeatures:
    """The songs that can be played."""

    features: Features
    squared_norms: Vector
    groups: SongGroups | None = None  # without any, no song has to do with another

    @classmethod
    def of(cls, features: ArrayLike, *, groups: SongGroups | None = None) -> SongFeatures:
        """Return a checked catalogue with one row of features per song.

        Features in single precision are used as they are: nothing of their size is copied.
        """
        table = checked_table(features)
        norms = _by_blocks(table, lambda block: np.einsum("sp,sp->s", block, block))
        return cls(
            features=read_only(table),
            squared_norms=frozen(norms),
            groups=checked_groups(groups, len(table)),
        )

    @classmethod
    def unknown(cls, count: int) -> SongFeatures:
        """Return songs without features: nothing can be predicted of them."""
        return cls(features=np.empty((count, 0)), squared_norms=np.zeros(count))

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        return _sized(self, "songs", *self.features.shape)

    def distances(self, centre: Vector, rows: Rows = slice(None)) -> Vector:
        """Return how far each song is from `centre`."""
        # |x − c|² = |x|² − 2x'c + |c|²: one product with the catalogue instead of a copy of it.
        with np.errstate(under="ignore"):
            product = _by_blocks(self.features[rows], lambda block: block @ centre)
            squared = self.squared_norms[rows] - 2 * product
            return np.asarray(np.sqrt(np.maximum(squared + centre @ centre, 0.0)))


class SongsAt(Songs):
    """The songs of a catalogue at one moment of a listener; columns are computed when asked for."""

    def __init__(self, catalogue: SongFeatures, play_times: PlayTimes, now: Minutes) -> None:
        object.__setattr__(self, "features", catalogue.features)
        object.__setattr__(self, "groups", catalogue.groups)
        self.__dict__.update(_catalogue=catalogue, _play_times=play_times, _now=now)

    _catalogue: SongFeatures
    _play_times: PlayTimes
    _now: Minutes

    @cached_property
    def elapsed(self) -> Vector:
        """The minutes since each song was heard: (S,)."""
        dense: Vector = frozen(self._play_times.elapsed(self._now))
        return dense

    @cached_property
    def longest(self) -> float:
        """The elapsed time that songs never heard share: none is longer."""
        return float(self._play_times.longest)

    @cached_property
    def heard(self) -> Indices:
        """The rows whose elapsed time is shorter than that, rising."""
        rows = self._play_times.heard_rows
        return rows[self._play_times.elapsed_of(self._now, rows) < self.longest]

    def elapsed_of(self, rows: Rows) -> Vector:
        """Return the minutes since each of the songs in `rows` was heard: (n,)."""
        return self._play_times.elapsed_of(self._now, rows)


def _sized(value: object, rows: str, count: int, columns: int) -> str:
    return f"<{type(value).__name__}: {count:,} {rows} of {columns:,} columns>"


def _by_blocks(table: Features, value: Any) -> Vector:
    """Return one number per row, computed in double precision and in blocks."""
    values = np.empty(len(table))
    with np.errstate(under="ignore"):
        for start in range(0, len(table), _BLOCK):
            block: Matrix = np.asarray(table[start : start + _BLOCK], dtype=np.float64)
            values[start : start + len(block)] = value(block)
    return values
