"""Starting from a song, an artist or a genre: that first, then what is near it in content.

A wish only narrows what may be played, of all years or of some (`years`); which of those songs
comes next is still the listener's taste. It holds no state: whether the wished-for song has had
its turn is seen from what was heard in the last hours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.candidates import CandidateSet
from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.music.catalogue.years import ALL_YEARS, Years

if TYPE_CHECKING:
    from bandstand.core.play_times import PlayTimes, SongFeatures
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.types import Indices, Minutes, Vector

# The neighbourhood, what is wished for included: a sixth of a small library, some dozens of a
# larger one, a share of a large one. A few songs beyond the wish always belong to it.
_PART: Final = 6
_ENOUGH: Final = 50
_SHARE: Final = 0.05
_HANDFUL: Final = 5
# Songs taken at a time.
_BLOCK: Final = 16_384
# Heard within so many minutes, the wish has had its first song.
_LATELY: Final = 360.0
_NOTHING_NEAR: Final = "nothing near what was asked for may be played: this song is from elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to start from: at most one of a song's id, an artist's name and a genre's name.

    Whatever it is, or nothing: only songs of `years` are played.
    """

    song: str | None = None
    artist: str | None = None
    genre: str | None = None
    years: Years = ALL_YEARS

    def __post_init__(self) -> None:
        """Refuse several wishes at once."""
        if len(self._given()) > 1:
            given = " and ".join(self._given())
            msg = f"a wish must name one of song, artist and genre, got {given}"
            raise InvalidInputError(msg)

    def __bool__(self) -> bool:
        return self.is_start or bool(self.years)

    @property
    def is_start(self) -> bool:
        """Whether there is something to start from."""
        return bool(self._given())

    def rows(self, shelf: Catalogue) -> Indices:
        """Return the songs that are wished for."""
        for scope, target in self._given().items():
            rows = shelf.rows_of(scope, target)
            if not len(rows):
                msg = f"the {scope} to start from must be one that can be played, got {target!r}"
                raise NotFoundError(msg)
            return rows
        return np.arange(len(shelf))

    def _given(self) -> dict[str, str]:
        names = {"song": self.song, "artist": self.artist, "genre": self.genre}
        return {scope: target for scope, target in names.items() if target is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Where the next song is to come from."""

    songs: CandidateSet
    is_first: bool  # they are what was wished for itself
    note: str = ""


class Granting:
    """A wish over what may be played of a shelf: what it comes to is worked out once."""

    def __init__(self, shelf: Catalogue, wish: Wish, free: CandidateSet) -> None:
        self._shelf = shelf
        self._free = free
        self._seeds = wish.rows(shelf)
        self._playable = self._seeds[free.holds(self._seeds)]

    def wanted(self, listening: PlayTimes, now: Minutes) -> Wanted:
        """Return what the wish asks for now; all that may be played where it asks in vain."""
        if len(self._playable) and not self._had_its_turn(listening, now):
            return Wanted(songs=self._only(self._playable), is_first=True)
        if not len(self._near):
            return Wanted(songs=self._free, is_first=False, note=_NOTHING_NEAR)
        return Wanted(songs=self._only(self._near), is_first=False)

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        near = self.__dict__.get("_near")
        seeds = self._seeds.nbytes + self._playable.nbytes
        return int(seeds) + (0 if near is None else int(near.nbytes))

    def _only(self, rows: Indices) -> CandidateSet:
        return CandidateSet.only(rows, len(self._shelf))

    def _had_its_turn(self, listening: PlayTimes, now: Minutes) -> bool:
        """Return whether one of the seeds that may be played was heard lately."""
        lately = listening.heard_rows[now - listening.heard_at < _LATELY]
        return bool(self._only(self._playable).holds(lately).any())

    @cached_property
    def _near(self) -> Indices:
        """The seeds and their neighbours, as far as they may be played."""
        shelf, free, seeds = self._shelf, self._free, self._seeds
        known = seeds[shelf.has_features[seeds]]
        if shelf.song_features is None or not len(known):
            return _related(shelf, seeds, free.rows())
        others = free.without(seeds).where(lambda rows: shelf.has_features[rows])
        count = neighbourhood(free.most, len(self._playable))
        centre = _centre(shelf.song_features, known)
        return np.union1d(_nearest(shelf.song_features, centre, count, others), self._playable)


def neighbourhood(songs: int, seeds: int) -> int:
    """Return how many songs near `seeds` of them belong to a wish where `songs` may be played.

    >>> [neighbourhood(songs, 1) for songs in (12, 60, 200, 1_000, 10_000)]
    [5, 9, 32, 49, 499]
    >>> neighbourhood(60, 9), neighbourhood(10_000, 2_000)
    (5, 5)
    """
    whole = max(min(songs // _PART, _ENOUGH), round(_SHARE * songs))
    return max(whole - seeds, _HANDFUL)


def _centre(catalogue: SongFeatures, rows: Indices) -> Vector:
    """Return the mean of some songs, taken in blocks: a genre may be half of the library."""
    total = np.zeros(catalogue.features.shape[1])
    for start in range(0, len(rows), _BLOCK):
        block = catalogue.features[rows[start : start + _BLOCK]]
        total += block.sum(axis=0, dtype=np.float64)
    return total / len(rows)


def _nearest(catalogue: SongFeatures, centre: Vector, count: int, others: CandidateSet) -> Indices:
    """Return the songs among `others` that are nearest to `centre`.

    A look at all of them in single precision leaves few in doubt, which are looked at closely.
    """
    rows = others.rows()
    if count < len(rows):
        rough, error = _rough_distances(catalogue, centre)
        far = np.partition(rough[rows], count - 1)[count - 1]
        rows = rows[rough[rows] <= far + 2 * error]
    distances = catalogue.distances(centre, rows)
    return rows[np.lexsort((rows, distances))[:count]]


def _rough_distances(catalogue: SongFeatures, centre: Vector) -> tuple[Vector, float]:
    """Return |x − c|² of each song but for |c|², and by how much it may be off."""
    features, norms = catalogue.features, catalogue.squared_norms
    single = np.finfo(features.dtype)
    with np.errstate(under="ignore"):
        products = features @ centre.astype(features.dtype)
        longest = np.sqrt(norms.max(initial=0.0) * (centre @ centre))
        # A sum of p products, each rounded, of factors that were rounded themselves.
        rounding = (features.shape[1] + 4) * (float(single.eps) * longest + float(single.tiny))
    return norms - 2.0 * products, 2 * float(rounding)


def _related(shelf: Catalogue, seeds: Indices, free: Indices) -> Indices:
    """Return what shares an artist or a genre with the seeds, where their sound is not known."""
    codes = shelf.artist_codes[seeds]
    related = np.isin(shelf.artist_codes[free], codes[codes >= 0])
    genres = {name for row in seeds.tolist() for name in shelf.genres_of(row)}
    for genre in sorted(genres):
        related |= np.isin(free, shelf.rows_of("genre", genre))
    return free[related]
