"""Starting from a song, an artist or a genre: that first, then what is near it in content.

A wish only narrows what may be played; which of those songs comes next is still the listener's
taste. It holds no state: whether the wished-for song has had its turn is seen from what was heard
in the last hours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.model.ranking import best_rows

if TYPE_CHECKING:
    from bandstand.algorithms.situation import Listening
    from bandstand.arrays import Indices
    from bandstand.radio.choice.shelf import Shelf
    from bandstand.units import Minutes

# The neighbourhood, what is wished for included: a sixth of a small library, some dozens of a
# larger one, a share of a large one. A few songs beyond the wish always belong to it.
_PART: Final = 6
_ENOUGH: Final = 50
_SHARE: Final = 0.05
_HANDFUL: Final = 5
# Heard within so many minutes, the wish has had its first song.
_LATELY: Final = 360.0
_NOTHING_NEAR: Final = "nothing near what was asked for may be played: this song is from elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to start from: at most one of a song's id, an artist's name and a genre's name."""

    song: str | None = None
    artist: str | None = None
    genre: str | None = None

    def __post_init__(self) -> None:
        """Refuse several wishes at once."""
        if len(self._given()) > 1:
            given = " and ".join(self._given())
            msg = f"a wish must name one of song, artist and genre, got {given}"
            raise InvalidInputError(msg)

    def __bool__(self) -> bool:
        return bool(self._given())

    def rows(self, shelf: Shelf) -> Indices:
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

    rows: Indices
    is_first: bool  # they are what was wished for itself
    note: str = ""


def wanted(shelf: Shelf, wish: Wish, free: Indices, listening: Listening, now: Minutes) -> Wanted:
    """Return those of the rows `free` that a wish asks for now; all where it asks in vain."""
    seeds = wish.rows(shelf)
    playable = np.intersect1d(seeds, free, assume_unique=True)
    if len(playable) and not (now - listening.last_heard[seeds] < _LATELY).any():
        return Wanted(rows=playable, is_first=True)
    near = _near(shelf, seeds, free)
    if not len(near):
        return Wanted(rows=free, is_first=False, note=_NOTHING_NEAR)
    return Wanted(rows=near, is_first=False)


def neighbourhood(songs: int, seeds: int) -> int:
    """Return how many songs near `seeds` of them belong to a wish in a library of `songs`.

    >>> [neighbourhood(songs, 1) for songs in (12, 60, 200, 1_000, 10_000)]
    [5, 9, 32, 49, 499]
    >>> neighbourhood(60, 9), neighbourhood(10_000, 2_000)
    (5, 5)
    """
    whole = max(min(songs // _PART, _ENOUGH), round(_SHARE * songs))
    return max(whole - seeds, _HANDFUL)


def _near(shelf: Shelf, seeds: Indices, free: Indices) -> Indices:
    """Return the seeds and their neighbours among `free`."""
    known = seeds[shelf.has_features[seeds]]
    if shelf.catalogue is None or not len(known):
        return _related(shelf, seeds, free)
    centre = shelf.catalogue.features[known].mean(axis=0)
    candidates = np.setdiff1d(free[shelf.has_features[free]], seeds, assume_unique=True)
    count = neighbourhood(len(shelf), len(seeds))
    nearest = best_rows(-shelf.catalogue.distances(centre), count, candidates)
    return np.union1d(nearest, np.intersect1d(seeds, free, assume_unique=True))


def _related(shelf: Shelf, seeds: Indices, free: Indices) -> Indices:
    """Return what shares an artist or a genre with the seeds, where their sound is not known."""
    codes = shelf.artist_codes[seeds]
    related = np.isin(shelf.artist_codes[free], codes[codes >= 0])
    genres = {name for row in seeds.tolist() for name in shelf.genre_names[row]}
    for genre in sorted(genres):
        related |= np.isin(free, shelf.rows_of("genre", genre))
    return free[related]
