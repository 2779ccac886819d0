"""A library's columns in one file beside the catalogue, mapped by every process that serves it.

    8 bytes   what kind of file this is
    8 bytes   the length of the description, little end first
    …         a description in JSON: which store, the last note of changes by then, the names
    …         one column after the other, each from a multiple of 64 bytes on

To read a million songs from the store takes half a minute, to map them no time. The file may be
old: what has changed since is read from the store. A file that is not whole counts as absent.

Whoever writes one holds a lock on it until it has its name, so that what was left by a process
that was killed can be told from what is being written, and is removed.
"""

from __future__ import annotations

import fcntl
import json
import mmap
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from bandstand._util.atomic_files import sync
from bandstand.music.catalogue.columns import SongColumns
from bandstand.music.catalogue.matrix import ID_LENGTH
from bandstand.music.catalogue.spellings import NOTHING, Names
from bandstand.types import read_only

if TYPE_CHECKING:
    from bandstand.music.catalogue.spellings import Spellings
    from bandstand.types import AnyArray

_NAME: Final = "shelf.columns"
_UNFINISHED: Final = f".{_NAME}."  # and something random
_KIND: Final = b"BSCOLS\x00\x02"
_ALIGNED: Final = 64
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
}
_NAMES_OF: Final = {
    "artist": "artists",
    "album_artist": "artists",
    "album": "albums",
    "genre": "genres",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownSongs:
    """Songs of a store as they were when `changes` was the last note of changes."""

    columns: SongColumns
    store: str
    changes: int

    def __len__(self) -> int:
        return len(self.columns)


def saved(folder: Path, known: KnownSongs) -> KnownSongs:
    """Return the columns, mapped from a file that takes the place of the one before.

    Where that cannot be written they are returned as they are.
    """
    if known.columns.ids.dtype.itemsize != ID_LENGTH:
        return known
    with suppress(OSError):  # it only saves time and memory
        _remove_leftovers(folder)
        # Like the store, it is nobody else's to read: the mode of such a file is 0600.
        with NamedTemporaryFile(dir=folder, prefix=_UNFINISHED, delete=False) as file:
            unfinished = Path(file.name)
            try:
                content = _written(file.file, known)
                unfinished.replace(folder / _NAME)
            finally:
                unfinished.unlink(missing_ok=True)
        return _read(content, known.columns.names) or known
    return known


def opened(folder: Path) -> KnownSongs | None:
    """Return the columns that were saved, mapped from the file; None if there are none."""
    try:
        with (folder / _NAME).open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return _read(content)
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def discard(folder: Path) -> None:
    """Remove what was saved; whoever has it mapped keeps it until it lets go."""
    (folder / _NAME).unlink(missing_ok=True)
    _remove_leftovers(folder)


def _remove_leftovers(folder: Path) -> None:
    """Remove what nobody is writing any more: its lock ended with the process that held it."""
    for left in folder.glob(f"{_UNFINISHED}*"):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


def _written(file: IO[bytes], known: KnownSongs) -> mmap.mmap:
    """Return what a new file holds, mapped, when all of it is on the disk."""
    fcntl.flock(file, fcntl.LOCK_EX)
    for part in _parts(known):
        file.write(part)
        file.write(bytes(-file.tell() % _ALIGNED))
    sync(file)
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _parts(known: KnownSongs) -> list[bytes | memoryview]:
    columns = known.columns
    about = {
        "store": known.store,
        "changes": known.changes,
        "songs": len(columns),
        **{name: list(getattr(columns.names, name)) for name in sorted({*_NAMES_OF.values()})},
    }
    text = json.dumps(about, ensure_ascii=False).encode(errors="surrogatepass")
    arrays = [
        np.ascontiguousarray(getattr(columns, name), dtype=kind) for name, kind in _COLUMNS.items()
    ]
    start = _KIND + len(text).to_bytes(8, "little") + text
    return [start, *(array.view(np.uint8).data for array in arrays)]


def _read(content: mmap.mmap, names: Names | None = None) -> KnownSongs | None:
    """Return the columns in a file; with the names that they are known to have, if given."""
    length = int.from_bytes(content[8:16], "little")
    if content[:8] != _KIND or length > len(content):
        return None
    about = json.loads(content[16 : 16 + length].decode(errors="surrogatepass"))
    if not isinstance(about["store"], str) or not all(
        _is_number(about[name]) for name in ("changes", "songs")
    ):
        return None
    place, found = 16 + length, dict[str, Any]()
    for name, kind in _COLUMNS.items():
        place += -place % _ALIGNED
        array = np.frombuffer(content, dtype=kind, count=about["songs"], offset=place)
        found[name] = read_only(array)
        place += array.nbytes
    names = _names(about) if names is None else names
    if place + -place % _ALIGNED != len(content) or not _fits(found, names):
        return None
    columns = SongColumns(**found, names=names)
    return KnownSongs(columns=columns, store=about["store"], changes=about["changes"])


def _is_number(value: object) -> bool:
    return type(value) is int and value >= 0  # True is no number here


def _names(about: dict[str, Any]) -> Names:
    names = Names()
    for kind in {*_NAMES_OF.values()}:
        spellings: Spellings = getattr(names, kind)
        for number, text in enumerate(about[kind]):
            if not isinstance(text, str) or spellings.code(text) != number:
                msg = "each spelling must be there once"
                raise ValueError(msg)
    return names


def _fits(found: dict[str, AnyArray], names: Names) -> bool:
    """Return whether ids rise and all names are there."""
    ids = found["ids"]
    return bool((ids[1:] > ids[:-1]).all()) and all(
        not len(ids)
        or (found[name].min() >= NOTHING and found[name].max() < len(getattr(names, of)))
        for name, of in _NAMES_OF.items()
    )
