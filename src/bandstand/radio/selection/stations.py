"""Stations that start from a song, an artist or a genre: that first, then what is near it.

A station only narrows the songs that may be played, of all years or of some (`years`); which of
those comes next is still the listener's taste. It holds no state: whether its own songs have had
their turn is seen from what was heard in the last hours.
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
    from bandstand.core.model.history import PlayTimes, SongFeatures
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.types import Indices, Minutes, Vector

# The neighbourhood, the station's own songs included: a sixth of a small library, some dozens of
# a larger one, a share of a large one. A few other songs always belong to it.
_SMALL_LIBRARY_PART: Final = 6
_MAX_OF_SMALL_LIBRARY: Final = 50
_LARGE_LIBRARY_SHARE: Final = 0.05
_MIN_NEIGHBOURS: Final = 5
# Songs taken at a time.
_BLOCK: Final = 16_384
# Heard within these minutes, the station's own songs have had their turn.
_RECENTLY: Final = 360.0
_NOTHING_NEAR: Final = "nothing near what was asked for may be played: this song is from elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """The start of a station: at most one of a song's id, an artist's name and a genre's name.

    Whatever it is, or nothing: only songs of `years` are played.
    """

    song: str | None = None
    artist: str | None = None
    genre: str | None = None
    years: Years = ALL_YEARS

    def __post_init__(self) -> None:
        """Refuse several starts at once."""
        if len(self._given()) > 1:
            given = " and ".join(self._given())
            msg = f"a station must start from one of song, artist and genre, got {given}"
            raise InvalidInputError(msg)

    @property
    def has_start(self) -> bool:
        """Whether there is something to start from."""
        return not (self.song is None and self.artist is None and self.genre is None)

    def rows(self, catalogue: Catalogue) -> Indices:
        """Return the station's own songs."""
        for scope, target in self._given().items():
            rows = catalogue.rows_of(scope, target)
            if not len(rows):
                msg = f"the {scope} to start from must be one that can be played, got {target!r}"
                raise NotFoundError(msg)
            return rows
        return np.arange(len(catalogue))

    def _given(self) -> dict[str, str]:
        names = {"song": self.song, "artist": self.artist, "genre": self.genre}
        return {scope: target for scope, target in names.items() if target is not None}


ANY_SONG: Final = Station()


class StationSongs:
    """The songs of one station among those that may be played, looked up once."""

    def __init__(self, catalogue: Catalogue, station: Station, eligible: CandidateSet) -> None:
        self._catalogue = catalogue
        self._eligible = eligible
        self._seeds = station.rows(catalogue)
        self._playable = self._seeds[eligible.contains(self._seeds)]

    def next(self, play_times: PlayTimes, now: Minutes) -> tuple[CandidateSet, bool, str]:
        """Return the songs to choose from now, whether they are the station's own, and a note.

        All songs that may be played, where the station has none.
        """
        if len(self._playable) and not self._had_its_turn(play_times, now):
            return self._only(self._playable), True, ""
        if not len(self._near):
            return self._eligible, False, _NOTHING_NEAR
        return self._only(self._near), False, ""

    @property
    def nbytes(self) -> int:
        """The size of what is cached."""
        near = self.__dict__.get("_near")
        seeds = self._seeds.nbytes + self._playable.nbytes
        return int(seeds) + (0 if near is None else int(near.nbytes))

    def _only(self, rows: Indices) -> CandidateSet:
        return CandidateSet.only(rows, len(self._catalogue))

    def _had_its_turn(self, play_times: PlayTimes, now: Minutes) -> bool:
        """Return whether one of the station's own songs was heard recently."""
        recently = play_times.heard_rows[now - play_times.heard_at < _RECENTLY]
        return bool(self._only(self._playable).contains(recently).any())

    @cached_property
    def _near(self) -> Indices:
        """The station's own songs and their neighbours, as far as they may be played."""
        catalogue, eligible, seeds = self._catalogue, self._eligible, self._seeds
        known = seeds[catalogue.has_features[seeds]]
        if catalogue.song_features is None or not len(known):
            return _related(catalogue, seeds, eligible.rows())
        others = eligible.without(seeds).where(lambda rows: catalogue.has_features[rows])
        count = neighbourhood(eligible.upper_count, len(self._playable))
        centre = _centre(catalogue.song_features, known)
        return np.union1d(_nearest(catalogue.song_features, centre, count, others), self._playable)


def neighbourhood(songs: int, seeds: int) -> int:
    """Return the number of neighbours of `seeds` songs where `songs` may be played.

    >>> [neighbourhood(songs, 1) for songs in (12, 60, 200, 1_000, 10_000)]
    [5, 9, 32, 49, 499]
    >>> neighbourhood(60, 9), neighbourhood(10_000, 2_000)
    (5, 5)
    """
    of_small = min(songs // _SMALL_LIBRARY_PART, _MAX_OF_SMALL_LIBRARY)
    whole = max(of_small, round(_LARGE_LIBRARY_SHARE * songs))
    return max(whole - seeds, _MIN_NEIGHBOURS)


def _centre(songs: SongFeatures, rows: Indices) -> Vector:
    """Return the mean of some songs, taken in blocks: a genre may be half of the library."""
    total = np.zeros(songs.features.shape[1])
    for start in range(0, len(rows), _BLOCK):
        block = songs.features[rows[start : start + _BLOCK]]
        total += block.sum(axis=0, dtype=np.float64)
    return total / len(rows)


def _nearest(songs: SongFeatures, centre: Vector, count: int, others: CandidateSet) -> Indices:
    """Return the songs among `others` that are nearest to `centre`.

    Distances in single precision leave few songs in doubt, which are compared in double precision.
    """
    rows = others.rows()
    if count < len(rows):
        rough, error = _rough_distances(songs, centre)
        far = np.partition(rough[rows], count - 1)[count - 1]
        rows = rows[rough[rows] <= far + 2 * error]
    distances = songs.distances(centre, rows)
    return rows[np.lexsort((rows, distances))[:count]]


def _rough_distances(songs: SongFeatures, centre: Vector) -> tuple[Vector, float]:
    """Return |x − c|² of each song but for |c|², and by how much it may be off."""
    features, norms = songs.features, songs.squared_norms
    single = np.finfo(features.dtype)
    with np.errstate(under="ignore"):
        products = features @ centre.astype(features.dtype)
        longest = np.sqrt(norms.max(initial=0.0) * (centre @ centre))
        # A sum of p products, each rounded, of factors that were rounded themselves.
        rounding = (features.shape[1] + 4) * (float(single.eps) * longest + float(single.tiny))
    return norms - 2.0 * products, 2 * float(rounding)


def _related(catalogue: Catalogue, seeds: Indices, eligible: Indices) -> Indices:
    """Return the songs that share an artist or a genre with the seeds, whose sound is not known."""
    codes = catalogue.artist_codes[seeds]
    related = np.isin(catalogue.artist_codes[eligible], codes[codes >= 0])
    genres = {name for row in seeds.tolist() for name in catalogue.genres_of(row)}
    for genre in sorted(genres):
        related |= np.isin(eligible, catalogue.rows_of("genre", genre))
    return eligible[related]
