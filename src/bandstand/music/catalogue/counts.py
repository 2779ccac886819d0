"""How much music there is: what anybody who listens may know of the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand.music.catalogue.columns import LONGEST
from bandstand.music.catalogue.names import genre_names, name_key
from bandstand.music.catalogue.spellings import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bandstand.music.catalogue.columns import SongColumns
    from bandstand.music.catalogue.spellings import Spellings
    from bandstand.types import AnyArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many songs can be played, and of how many names; spellings of one name are one."""

    songs: int
    artists: int
    albums: int  # two albums of one name by two artists are two
    genres: int
    duration: float  # of all songs, in seconds


def tally_of(columns: SongColumns) -> Tally:
    """Return how much music these songs are."""
    # Each spelling is looked at once; there are far fewer than songs.
    names = columns.names
    genres = (name for genre in _used(columns.genre, names.genres) for name in genre_names(genre))
    return Tally(
        songs=len(columns),
        artists=_distinct(_used(columns.artist, names.artists)),
        albums=_albums(columns),
        genres=_distinct(genres),
        duration=float(np.minimum(columns.seconds, LONGEST).sum(dtype=np.float64)),
    )


def _used(codes: AnyArray, spellings: Spellings) -> Iterable[str]:
    """Yield the texts that some song has."""
    for code in np.unique(codes).tolist():
        text = spellings[code]
        if text:
            yield text


def _distinct(texts: Iterable[str]) -> int:
    return len({name_key(text) for text in texts} - {""})


def _albums(columns: SongColumns) -> int:
    names = columns.names
    whose = np.where(columns.album_artist == NOTHING, columns.artist, columns.album_artist)
    on_album = columns.album != NOTHING
    pairs = np.unique(columns.album[on_album] * np.int64(2**32) + whose[on_album])
    albums = {
        (name_key(names.albums[album] or ""), name_key(names.artists[artist] or ""))
        for album, artist in (((pair + 1) >> 32, _low(pair)) for pair in pairs.tolist())
    }
    return len(albums)


def _low(pair: int) -> int:
    """Return the second of two numbers that were put into one; it may be −1."""
    return ((pair + 1) & (2**32 - 1)) - 1
