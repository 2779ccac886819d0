"""Tags and lengths of a library's songs, as columns: about 50 bytes per song, mapped from a file.

code             type    meaning
`ids`            16 B    the songs, rising
`seconds`        f4      length of each song, as its file says; at most a day
`artist`, …      i4      code of the spelling in `names`; −1 for none
`year`           i2      from 0 to 9999; −1 if unknown
`title`          u8      digest of the title that all versions of the song share; 0 for none
`recording`      u8      digest of its MusicBrainz recording; 0 for none
`artist_mbid`    u8      digest of its MusicBrainz artist, the first of several; 0 for none

Two of a million different texts share a digest of 64 bits with a chance of 3 in 10⁸, and then two
songs are kept apart in time that need not be.

The file, beside the matrix:

    8 bytes   the kind of file
    8 bytes   the length of the description, little end first
    …         a description in JSON: the store, its last change note by then, the names
    …         one column after the other, each from a multiple of 64 bytes on

Reading a million songs from the store takes half a minute, mapping them no time. The file may be
old: later changes are read from the store. A file that is not whole counts as absent. The writer
holds a lock on it until it has its name, so that the file of a killed process can be recognised
and removed.
"""

from __future__ import annotations

import fcntl
import json
import mmap
from array import array
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from bandstand._util.atomic_files import sync
from bandstand.music.catalogue.matrix import ID_LENGTH, SongIds
from bandstand.music.catalogue.names import NOTHING, Names, song_key
from bandstand.types import read_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bandstand.music.catalogue.matrix import Ids
    from bandstand.store.songs.songs import Facts
    from bandstand.types import AnyArray

# A tag with another year counts as one without.
FIRST_YEAR: Final = 0
LAST_YEAR: Final = 9_999
_UNKNOWN_YEAR: Final = -1
# No song counts for longer, whatever its file claims.
MAX_SECONDS: Final = 86_400.0
_INFINITE: Final = float("inf")
_CHUNK_IDS: Final = 16_384

_NAME: Final = "shelf.columns"
_UNFINISHED: Final = f".{_NAME}."  # followed by random characters
_KIND: Final = b"BSCOLS\x00\x03"
_ALIGNMENT: Final = 64  # bytes
_COLUMNS: Final = {
    "ids": f"|S{ID_LENGTH}",
    "seconds": "<f4",
    "artist": "<i4",
    "album_artist": "<i4",
    "album": "<i4",
    "genre": "<i4",
    "year": "<i2",
    "title": "<u8",
    "recording": "<u8",
    "artist_mbid": "<u8",
}
_NAMES_OF: Final = {
    "artist": "artists",
    "album_artist": "artists",
    "album": "albums",
    "genre": "genres",
}


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
    artist_mbid: AnyArray
    names: Names
    store: str = ""  # id of the store that they are from, …
    changes: int = 0  # … and its last change note by then

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
        for song, title, artist, album_artist, album, genre, year, *mbids, duration in songs:
            ids.append(song.encode())
            seconds.append(duration if duration == _INFINITE else min(duration, MAX_SECONDS))
            codes.extend((artists(artist), artists(album_artist), albums(album), genres(genre)))
            years.append(year_code(year))
            digests.append(digest_of(song_key(title)) if title else 0)
            digests.extend(map(digest_of, mbids))
            if len(ids) == _CHUNK_IDS:
                chunks.append(np.array(ids, dtype=np.bytes_))
                ids = []
        tables: dict[tuple[str, ...], AnyArray] = {
            ("artist", "album_artist", "album", "genre"): np.frombuffer(codes, dtype=np.int32),
            ("title", "recording", "artist_mbid"): np.frombuffer(digests, dtype=np.uint64),
        }
        # Copies: a view would step over its neighbours, and keep all of them.
        columns = {
            name: read_only(np.ascontiguousarray(table[number :: len(group)]))
            for group, table in tables.items()
            for number, name in enumerate(group)
        }
        return cls(
            ids=read_only(np.concatenate([*chunks, np.array(ids, dtype=np.bytes_)])),
            seconds=read_only(np.frombuffer(seconds, dtype=np.float32)),
            year=read_only(np.frombuffer(years, dtype=np.int16)),
            names=names,
            **columns,
        )

    def changed(self, ids: Sequence[str], songs: Iterable[Facts]) -> SongColumns:
        """Return the columns without the songs `ids`, and with those of them that are `songs`."""
        rows = SongIds(self.ids).rows(ids)
        stay = np.ones(len(self), dtype=np.bool_)
        stay[rows[rows >= 0]] = False
        more = SongColumns.of(songs, self.names)
        places = np.searchsorted(self.ids[stay], more.ids)
        merged: dict[str, Any] = {}
        for name in _COLUMNS:
            kept, new = getattr(self, name)[stay], getattr(more, name)
            kind = np.promote_types(kept.dtype, new.dtype)
            merged[name] = read_only(np.insert(kept.astype(kind), places, new))
        return replace(self, **merged)


def digest_of(text: str | None) -> int:
    """Return 64 bits that stand for a text; 0 for none."""
    if not text:
        return 0
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


# ── The file ────────────────────────────────────────────────────────────────────────────


def saved(folder: Path, columns: SongColumns) -> SongColumns:
    """Return the columns, mapped from a file that replaces the one before.

    If it cannot be written they are returned as they are.
    """
    if columns.ids.dtype.itemsize != ID_LENGTH:
        return columns
    with suppress(OSError):  # it only saves time and memory
        _remove_leftovers(folder)
        # Like the store, it is private: the mode of such a file is 0600.
        with NamedTemporaryFile(dir=folder, prefix=_UNFINISHED, delete=False) as file:
            unfinished = Path(file.name)
            try:
                content = _written(file.file, columns)
                unfinished.replace(folder / _NAME)
            finally:
                unfinished.unlink(missing_ok=True)
        return _read(content, columns.names) or columns
    return columns


def opened(folder: Path) -> SongColumns | None:
    """Return the columns that were saved, mapped from the file; None if there are none."""
    try:
        with (folder / _NAME).open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return _read(content)
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def discard(folder: Path) -> None:
    """Remove the saved columns; a process that has them mapped keeps them."""
    (folder / _NAME).unlink(missing_ok=True)
    _remove_leftovers(folder)


def _remove_leftovers(folder: Path) -> None:
    """Remove unfinished files of ended processes: their locks ended with them."""
    for left in folder.glob(f"{_UNFINISHED}*"):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


def _written(file: IO[bytes], columns: SongColumns) -> mmap.mmap:
    """Write a new file to the disk and return its content, mapped."""
    fcntl.flock(file, fcntl.LOCK_EX)
    about = {
        "store": columns.store,
        "changes": columns.changes,
        "songs": len(columns),
        **{name: list(getattr(columns.names, name)) for name in sorted({*_NAMES_OF.values()})},
    }
    text = json.dumps(about, ensure_ascii=False).encode(errors="surrogatepass")
    file.write(_KIND + len(text).to_bytes(8, "little") + text)
    for name, kind in _COLUMNS.items():
        file.write(bytes(-file.tell() % _ALIGNMENT))
        file.write(np.ascontiguousarray(getattr(columns, name), dtype=kind).view(np.uint8).data)
    file.write(bytes(-file.tell() % _ALIGNMENT))
    sync(file)
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _read(content: mmap.mmap, names: Names | None = None) -> SongColumns | None:
    """Return the columns in a file; with the names that they are known to have, if given."""
    length = int.from_bytes(content[8:16], "little")
    if content[:8] != _KIND or length > len(content):
        return None
    about = json.loads(content[16 : 16 + length].decode(errors="surrogatepass"))
    store, changes, songs = about["store"], about["changes"], about["songs"]
    # Not isinstance: True is no number here.
    if type(store) is not str or any(type(n) is not int or n < 0 for n in (changes, songs)):
        return None
    place, found = 16 + length, dict[str, Any]()
    for name, kind in _COLUMNS.items():
        place += -place % _ALIGNMENT
        found[name] = read_only(np.frombuffer(content, dtype=kind, count=songs, offset=place))
        place += found[name].nbytes
    names = _names(about) if names is None else names
    if place + -place % _ALIGNMENT != len(content) or not _fits(found, names):
        return None
    return SongColumns(**found, names=names, store=store, changes=changes)


def _names(about: dict[str, Any]) -> Names:
    names = Names()
    for kind in {*_NAMES_OF.values()}:
        for number, text in enumerate(about[kind]):
            if not isinstance(text, str) or getattr(names, kind).code(text) != number:
                msg = "each spelling must be there once"
                raise ValueError(msg)
    return names


def _fits(found: dict[str, AnyArray], names: Names) -> bool:
    """Return whether ids rise and all names exist."""
    ids = found["ids"]
    return bool((ids[1:] > ids[:-1]).all()) and all(
        not len(ids)
        or (found[name].min() >= NOTHING and found[name].max() < len(getattr(names, of)))
        for name, of in _NAMES_OF.items()
    )


def year_code(year: int | None) -> int:
    """Return a year as a column of 16 bits holds it.

    >>> year_code(1999), year_code(None), year_code(123_456)
    (1999, -1, -1)
    """
    return year if year is not None and FIRST_YEAR <= year <= LAST_YEAR else _UNKNOWN_YEAR
