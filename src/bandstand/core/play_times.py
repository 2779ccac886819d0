"""A catalogue as one listener meets it now: elapsed times, and distances to the last songs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.core.model.history import Songs, checked_groups, checked_table
from bandstand.types import MONTH, Minutes, frozen, read_only

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.core.model.history import Rows
    from bandstand.core.model.song_groups import SongGroups
    from bandstand.types import Features, Indices, Matrix, Vector

# The listener's last songs that a new one is compared with.
RECENT: Final = 10
_PAIRS: Final = 4_096
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
    recent: tuple[int, ...] = ()
    # No elapsed time counts as longer, and never heard counts as this; ∞ is a bound for none.
    longest: Minutes = MONTH

    @classmethod
    def nothing(cls, songs: int, *, longest: Minutes = MONTH) -> PlayTimes:
        """Return the play times of a listener who has heard none of the songs."""
        return cls(songs=songs, longest=longest)

    def after(self, row: int, moment: Minutes) -> PlayTimes:
        """Return the play times after the song in `row` was heard at `moment`."""
        place = int(np.searchsorted(self.heard_rows, row))
        rows, at = self.heard_rows, self.heard_at
        if place < len(rows) and rows[place] == row:
            at = at.copy()
            at[place] = moment
        else:
            rows, at = np.insert(rows, place, row), np.insert(at, place, moment)
        return replace(
            self, heard_rows=rows, heard_at=frozen(at), recent=(*self.recent[1 - RECENT :], row)
        )

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
    """The songs that can be played, with the distance that counts as typical among them."""

    features: Features
    squared_norms: Vector
    typical_distance: float
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
            typical_distance=_typical_distance(table),
            groups=checked_groups(groups, len(table)),
        )

    @classmethod
    def unknown(cls, count: int) -> SongFeatures:
        """Return songs without features: nothing can be predicted of them."""
        return cls(
            features=np.empty((count, 0)), squared_norms=np.zeros(count), typical_distance=1.0
        )

    def __len__(self) -> int:
        return len(self.features)

    def songs(self, play_times: PlayTimes, now: Minutes) -> Songs:
        """Return all songs as the model sees them at that moment."""
        return SongsAt(self, play_times, now)

    def distances(self, centre: Vector, rows: Rows = slice(None)) -> Vector:
        """Return how far each song is from `centre`, in units of the typical distance."""
        # |x − c|² = |x|² − 2x'c + |c|²: one product with the catalogue instead of a copy of it.
        with np.errstate(under="ignore"):
            product = _by_blocks(self.features[rows], lambda block: block @ centre)
            squared = self.squared_norms[rows] - 2 * product
            squared = np.maximum(squared + centre @ centre, 0.0)
            return np.asarray(np.sqrt(squared) / self.typical_distance)


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
    def diversity(self) -> Vector:
        """The distance of each song to the last ones: (S,)."""
        dense: Vector = frozen(self.diversity_of(slice(None)))
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

    def diversity_of(self, rows: Rows) -> Vector:
        """Return the distance to the mean of the recent songs; 1 before anything was heard."""
        if not self._play_times.recent:
            return np.ones(len(self._catalogue.squared_norms[rows]))
        return self._catalogue.distances(self._recent_centre, rows)

    @cached_property
    def _recent_centre(self) -> Vector:
        return np.asarray(self.features_of(list(self._play_times.recent)).mean(axis=0))


def _by_blocks(table: Features, value: Any) -> Vector:
    """Return one number per row, computed in double precision and in blocks."""
    values = np.empty(len(table))
    with np.errstate(under="ignore"):
        for start in range(0, len(table), _BLOCK):
            block: Matrix = np.asarray(table[start : start + _BLOCK], dtype=np.float64)
            values[start : start + len(block)] = value(block)
    return values


def _typical_distance(features: Features) -> float:
    """Return the median distance between two songs, over a fixed set of pairs."""
    count = len(features)
    if count < 2:
        return 1.0
    # Songs spread over the catalogue, each with several further on: nothing is drawn.
    rows = np.unique(np.linspace(0, count - 1, min(count, 512), dtype=np.intp))
    offsets = np.unique(np.linspace(1, count - 1, _PAIRS // len(rows), dtype=np.intp))
    distances = [
        np.linalg.norm(
            np.subtract(features[rows], features[(rows + offset) % count], dtype=np.float64), axis=1
        )
        for offset in offsets
    ]
    median = float(np.median(np.concatenate(distances)))
    return median if median > 0 else 1.0
