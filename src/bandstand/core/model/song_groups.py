"""Groups of songs: song, album and artist of each row, as identities.

An identity is any whole number that is not negative, the same wherever the same song, album or
artist is meant. `UNKNOWN` is a song, an album or an artist that no other row shares.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bandstand.errors import InvalidInputError
from bandstand.types import AnyArray, Indices, Rows, read_only

Identities: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Stacked: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.int64]]

UNKNOWN: Final = -1
_OF_ALBUM, _OF_SONG = 1, 2  # what an identity was made of


@dataclass(frozen=True, kw_only=True, eq=False)
class SongGroups:
    """The identities of n songs: (n,) each. An album has one artist, a song one album.

    >>> groups = SongGroups.of(song=[1, 2, 3], album=[7, 7, 7], artist=[5, 5, 6])
    >>> bool(groups.album[0] == groups.album[1]), bool(groups.album[1] == groups.album[2])
    (True, False)
    """

    song: Identities
    album: Identities
    artist: Identities

    @classmethod
    def of(
        cls, *, song: ArrayLike, album: ArrayLike | None = None, artist: ArrayLike | None = None
    ) -> SongGroups:
        """Return the groups of these identities.

        An album is that of its artist: the same number with another artist is another album.
        A song without an artist, or without an album, is one of its own.
        """
        songs = _checked("song", song, None)
        albums, artists = (
            np.full_like(songs, UNKNOWN) if ids is None else _checked(name, ids, len(songs))
            for name, ids in (("album", album), ("artist", artist))
        )
        own = _own(songs)
        artists = np.where(artists == UNKNOWN, own, artists)
        of_album = mixed(mixed(artists, albums), np.full_like(songs, _OF_ALBUM))
        return cls(
            song=read_only(songs),
            album=read_only(np.where(albums == UNKNOWN, own, of_album)),
            artist=read_only(artists),
        )

    @classmethod
    def unknown(cls, count: int) -> SongGroups:
        """Return `count` songs that have nothing in common with any other."""
        each = read_only(np.full(count, UNKNOWN, dtype=np.int64))
        return cls(song=each, album=each, artist=each)

    @classmethod
    def unstacked(cls, rows: Stacked) -> SongGroups:
        """Return the groups of `stacked` rows."""
        song, album, artist = read_only(rows)
        return cls(song=song, album=album, artist=artist)

    def stacked(self) -> Stacked:
        """Return songs, albums and artists as rows: (3, n)."""
        return np.stack([self.song, self.album, self.artist])

    def __len__(self) -> int:
        return len(self.song)

    def take(self, rows: Rows) -> SongGroups:
        """Return the groups of the songs in `rows` alone."""
        return SongGroups(song=self.song[rows], album=self.album[rows], artist=self.artist[rows])

    @property
    def has_artist(self) -> AnyArray:
        """Whether each song has an artist, who is more than the song by itself: (n,)."""
        return np.asarray(self.artist != _own(self.song))

    @property
    def has_album(self) -> AnyArray:
        """Whether each song has an album of an artist: (n,)."""
        return np.asarray(self.has_artist & (self.album != _own(self.song)))

    @cached_property
    def _by_artist(self) -> tuple[Indices, Identities]:
        """The rows in order of their artist, and that artist: made once for a catalogue."""
        order = np.argsort(self.artist, kind="stable")
        return order, self.artist[order]

    def rows_of(self, artists: Identities) -> Indices:
        """Return the rows of all songs of these artists, rising."""
        order, rising = self._by_artist
        wanted = np.unique(artists[artists != UNKNOWN])
        first = np.searchsorted(rising, wanted)
        counts = np.searchsorted(rising, wanted, side="right") - first
        return np.sort(order[ranges(first, counts)])


def _own(songs: Identities) -> Identities:
    """Return the artist, and the album, of songs that have none."""
    own = mixed(songs, np.full_like(songs, _OF_SONG))
    own[songs == UNKNOWN] = UNKNOWN
    return own


def ranges(first: Indices, counts: Indices) -> Indices:
    """Return first, first + 1, … of each range, one range after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total) + np.repeat(first - ends + counts, counts))


def codes(ids: Identities) -> tuple[int, Indices]:
    """Return how many different identities there are, and which of them each one is."""
    own = UNKNOWN - 1 - np.arange(len(ids))
    different, which = np.unique(np.where(ids == UNKNOWN, own, ids), return_inverse=True)
    return len(different), which


def identities(
    names: Sequence[Hashable | None], known: dict[Hashable, int] | None = None
) -> Identities:
    """Return a number for each name, the same for the same name; `UNKNOWN` for none.

    None, NaN and blank text are no names. `known` has the numbers of names and gets those of new
    ones.

    >>> identities(["a", None, "b", "a", " "]).tolist()
    [0, -1, 1, 0, -1]
    """
    numbers_by_name = {} if known is None else known
    numbers = []
    for row, name in enumerate(names):
        try:
            number = numbers_by_name.get(name)
        except TypeError as problem:
            msg = f"names must be hashable, such as text or numbers, got {type(name)} in row {row}"
            raise InvalidInputError(msg) from problem
        if number is None and not _is_missing(name):
            number = numbers_by_name[name] = len(numbers_by_name)
        numbers.append(UNKNOWN if number is None else number)
    return np.array(numbers, dtype=np.int64)


def _is_missing(name: Hashable) -> bool:
    """Return whether that stands for no name: NaN and its kind do not equal themselves."""
    if isinstance(name, str):
        return not name.strip()
    same = name == name  # noqa: PLR0124
    return name is None or not (isinstance(same, bool | np.bool_) and same)


def _checked(name: str, ids: ArrayLike, count: int | None) -> Identities:
    array: AnyArray = np.asarray(ids)
    whole = array.size == 0 or np.issubdtype(array.dtype, np.integer)
    if array.ndim != 1 or not whole or (array < UNKNOWN).any():
        msg = f"{name} identities must be whole numbers, {UNKNOWN} for none or from 0 on, "
        raise InvalidInputError(msg)
    if count is not None and len(array) != count:
        msg = f"there must be one {name} per song ({count}), got {len(array)}"
        raise InvalidInputError(msg)
    return np.array(array, dtype=np.int64)


def mixed(first: Identities, second: Identities) -> Identities:
    """Return one number for each pair: equal for other pairs by a chance of 2⁻⁶³ (splitmix64)."""
    bits = first.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + second.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return (bits >> np.uint64(1)).astype(np.int64)
