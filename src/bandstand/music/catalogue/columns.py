"""What is known of a library's songs besides their sound, as columns: some 50 bytes per song.

code             type    meaning
`ids`            16 B    the songs, rising
`seconds`        f4      how long each song lasts, as its file says; no more than a day
`artist`, …      i4      which spelling of `names` its tag has; −1 for none
`year`           i2      from 0 to 9999; −1 where it is not known
`title`          u8      a digest of what all versions of the song are called; 0 for none
`recording`      u8      a digest of its MusicBrainz recording; 0 for none

A digest of 64 bits is shared by two of a million different texts with a chance of 3 in 10⁸, and
then two songs are kept apart in time that need not be.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.music.catalogue.names import song_key
from bandstand.music.catalogue.song_ids import RowsBySong
from bandstand.music.catalogue.spellings import Names
from bandstand.music.catalogue.years import year_code
from bandstand.types import read_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bandstand.music.catalogue.matrix import Ids
    from bandstand.store.songs.songs import Facts
    from bandstand.types import AnyArray

# No song counts for longer, whatever its file pretends.
LONGEST: Final = 86_400.0  # seconds
_INFINITE: Final = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SongColumns:
    """The songs that can be played, in the order of their ids."""

    ids: Ids
    seconds: AnyArray
    artist: AnyArray
    album_artist: AnyArray
    album: AnyArray
    genre: AnyArray
    year: AnyArray
    title: AnyArray
    recording: AnyArray
    names: Names

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, songs: Iterable[Facts], names: Names | None = None) -> SongColumns:
        """Return the columns of songs that come in the order of their ids."""
        names = Names() if names is None else names
        artists, albums, genres = names.artists.code, names.albums.code, names.genres.code
        ids: list[bytes] = []
        chunks: list[AnyArray] = []
        seconds, codes, years, digests = array("f"), array("i"), array("h"), array("Q")
        for song, title, artist, album_artist, album, genre, year, recording, duration in songs:
            ids.append(song.encode())
            seconds.append(duration if duration == _INFINITE else min(duration, LONGEST))
            codes.extend((artists(artist), artists(album_artist), albums(album), genres(genre)))
            years.append(year_code(year))
            digests.extend((_digest(song_key(title)) if title else 0, _digest(recording)))
            if len(ids) == _AT_ONCE:
                chunks.append(np.array(ids, dtype=np.bytes_))
                ids = []
        spelt = np.frombuffer(codes, dtype=np.int32).reshape(-1, 4)
        digested = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
        return cls(
            ids=read_only(np.concatenate([*chunks, np.array(ids, dtype=np.bytes_)])),
            seconds=read_only(np.frombuffer(seconds, dtype=np.float32)),
            artist=_column(spelt, 0),
            album_artist=_column(spelt, 1),
            album=_column(spelt, 2),
            genre=_column(spelt, 3),
            year=read_only(np.frombuffer(years, dtype=np.int16)),
            title=_column(digested, 0),
            recording=_column(digested, 1),
            names=names,
        )

    def changed(self, ids: Sequence[str], songs: Iterable[Facts]) -> SongColumns:
        """Return the columns without the songs `ids`, and with those of them that are `songs`."""
        rows = RowsBySong(self.ids).of(ids)
        stay = np.ones(len(self), dtype=np.bool_)
        stay[rows[rows >= 0]] = False
        more = SongColumns.of(songs, self.names)
        places = np.searchsorted(self.ids[stay], more.ids)
        merged: dict[str, Any] = {}
        for field in fields(self):
            if field.name != "names":
                kept, new = getattr(self, field.name)[stay], getattr(more, field.name)
                kind = np.promote_types(kept.dtype, new.dtype)
                merged[field.name] = read_only(np.insert(kept.astype(kind), places, new))
        return SongColumns(**merged, names=self.names)


_AT_ONCE: Final = 16_384


def _column(table: AnyArray, number: int) -> AnyArray:
    # A copy: a view would step over its neighbours, and keep all of them.
    column: AnyArray = read_only(np.ascontiguousarray(table[:, number]))
    return column


def _digest(text: str | None) -> int:
    """Return 64 bits that stand for a text; 0 for none."""
    if not text:
        return 0
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
