"""The features of all songs in one file, shared by any number of processes.

    FOLDER/000000000007/features.npy   (S, p + 1) float32, one row per song; the last column is 1
    FOLDER/000000000007/ids.npy        (S,) 16 bytes each, rising: the song of each row
    FOLDER/000000000007/stamp.json     S, p, where the sound begins, and what the caller wants
    FOLDER/.lock                       held by the one process that writes

A new catalogue is written beside the old one, brought to the disk, and then given its number by
one rename: a crash leaves the old one or the new one, never a mixture. The old one is removed
afterwards; a process that has it mapped keeps it until it unmaps it. Readers take no lock.

The constant is in the file because a model with an intercept reads whole rows: it works on the
mapped pages themselves, one copy for all processes; `features` is a view without the constant.

The header of an array has a fixed length and follows from its type and shape, so it is written
after the rows, when their number is known. A file is accepted only with exactly the expected
header and length: headers are never parsed.
"""

import contextlib
import fcntl
import json
import math
import mmap
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias, overload

import numpy as np

from bandstand._util.atomic_files import sync, sync_folder
from bandstand.errors import InvalidInputError
from bandstand.types import AnyArray, Indices, Vector, blocks

Features: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float32]]
Ids: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bytes_]]
Chunks: TypeAlias = "Iterable[tuple[Sequence[str] | Ids, AnyArray]]"

ID_LENGTH: Final = 16
_FORMAT: Final = 3
_DIGITS: Final = 12
_UNFINISHED: Final = ".new"
_FEATURES, _IDS, _STAMP = "features.npy", "ids.npy", "stamp.json"
_FLOAT, _ID = "<f4", f"|S{ID_LENGTH}"
_LETTER_OR_DIGIT: Final = np.array([bytes([byte]).isalnum() for byte in range(256)])
# A multiple of 64, as the .npy format requires; the shape of any array fits.
_HEADER_BYTES: Final = 128
_BLOCK_ROWS: Final = 4_096


class SongIds(Sequence[str]):
    """The id of the song in each row, as text, over one array of rising ids.

    >>> ids = SongIds(np.array([b"a", b"b", b"c"]))
    >>> ids[1], ids[1:], ids == ("a", "b", "c"), ids.rows(["c", "x", "a"]).tolist()
    ('b', ('b', 'c'), True, [2, -1, 0])
    """

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...
    def __getitem__(self, row: int | slice) -> str | tuple[str, ...]:
        if isinstance(row, slice):
            return tuple(song.decode() for song in self._ids[row].tolist())
        return bytes(self._ids[row]).decode()

    def __iter__(self) -> Iterator[str]:
        for some in blocks(len(self), _BLOCK_ROWS):
            yield from self[some]

    def __contains__(self, song: object) -> bool:
        return isinstance(song, str) and self.rows([song])[0] >= 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def rows(self, songs: Sequence[str]) -> Indices:
        """Return the rows of songs, −1 for those that are absent."""
        if not len(self):
            return np.full(len(songs), -1, dtype=np.intp)
        width = self._ids.dtype.itemsize
        # NumPy would cut what is longer, and ignores a NUL at the end.
        wanted = [song.encode(errors="surrogatepass") for song in songs]
        wanted = [key if len(key) <= width and b"\0" not in key else b"" for key in wanted]
        keys = np.array(wanted, dtype=self._ids.dtype)
        rows = np.minimum(np.searchsorted(self._ids, keys), len(self) - 1)
        return np.where((self._ids[rows] == keys) & (keys != b""), rows, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureMatrix:
    """Songs and their features, read-only, mapped from the disk."""

    ids: Ids
    table: Features  # (S, p + 1): the features, then a column of ones
    stamp: Mapping[str, Any]
    first_sound: int = 0  # columns before those of the sound

    @property
    def features(self) -> Features:
        """The features without the column of ones: a view of `table`, (S, p)."""
        return self.table[:, :-1]

    def __len__(self) -> int:
        return len(self.ids)

    def id_of(self, row: int) -> str:
        """Return the id of the song in `row`."""
        return SongIds(self.ids)[row]

    def row_of(self, song: str) -> int:
        """Return the row of the song with this id."""
        row = int(SongIds(self.ids).rows([song])[0])
        if row < 0:
            msg = f"a song must be one of the {len(self)} in the catalogue, got {song!r}"
            raise InvalidInputError(msg)
        return row

    def nearest(self, row: int, count: int) -> tuple[Indices, Vector]:
        """Return the rows of the `count` songs that sound most like a song, and their distances.

        Distances are Euclidean. Equally near songs come by row; fewer come if there are fewer.
        """
        sound = self.features[:, self.first_sound :]
        song = sound[row].astype(np.float64)
        distances = np.empty(len(self))
        with np.errstate(under="ignore"):
            for some in blocks(len(self), _BLOCK_ROWS):
                squares = np.square(sound[some] - song)
                distances[some] = np.sqrt(squares.sum(axis=1))
        others = np.delete(np.arange(len(self)), row)
        rows = others[np.argsort(distances[others], kind="stable")[:count]]
        return rows, distances[rows]


def write(
    folder: Path, chunks: Chunks, *, columns: int, stamp: Mapping[str, Any], first_sound: int = 0
) -> FeatureMatrix:
    """Write a catalogue, put it in the place of the one before, and return it.

    Each chunk is some ids and their features (n, `columns`); ids rise from the first chunk to
    the last. Only one chunk is in memory at a time. Processes that write at the same time do so
    one after the other, and the last one's stays. After an exception the old one is in place.
    """
    if not 0 <= first_sound < columns:
        msg = f"a catalogue must have at least one column of sound, got {columns - first_sound}"
        raise InvalidInputError(msg)
    about: dict[str, Any] = {"format": _FORMAT, "columns": columns, "first_sound": first_sound}
    about["stamp"] = dict(stamp)
    _as_text(about)  # refused before the work, not after it
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        unfinished = folder / _UNFINISHED
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        try:
            _fill(unfinished, chunks, about)
            return _put_in_place(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def open_latest(folder: Path) -> FeatureMatrix | None:
    """Return the newest whole catalogue in `folder`, or None if there is none.

    A damaged one counts as absent: it can always be written again.
    """
    tried: list[Path] = []
    # Once more if another was put in place meanwhile, for then the one before may be gone.
    while (present := _finished(folder)) != tried:
        for place in present:
            catalogue = _opened(place)
            if catalogue is not None:
                return catalogue
        tried = present
    return None


def discard(folder: Path) -> None:
    """Remove all catalogues in `folder`; processes that have one mapped keep it."""
    if not folder.is_dir():
        return
    with _alone(folder):
        for place in _finished(folder):
            shutil.rmtree(place)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process writes; the lock ends with the process that holds it."""
    with (folder / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fill(place: Path, chunks: Chunks, about: Mapping[str, Any]) -> None:
    """Write all files of a catalogue and bring them to the disk, the stamp last."""
    songs, last, columns = 0, b"", about["columns"]
    with (place / _FEATURES).open("xb") as features, (place / _IDS).open("xb") as ids:
        for file in (features, ids):
            file.write(bytes(_HEADER_BYTES))
        for names, rows in chunks:
            keys = _checked_ids(names, last)
            features.write(_checked_rows(rows, (len(keys), columns)).data)
            ids.write(keys.tobytes())
            songs, last = songs + len(keys), bytes(keys[-1]) if len(keys) else last
        _finish(features, _FLOAT, (songs, columns + 1))
        _finish(ids, _ID, (songs,))
    with (place / _STAMP).open("xb") as file:
        file.write(_as_text({**about, "songs": songs}).encode())
        sync(file)
    sync_folder(place)


def _put_in_place(unfinished: Path, folder: Path) -> FeatureMatrix:
    catalogue = _opened(unfinished)
    if catalogue is None:
        msg = f"expected to read back what was written to {unfinished}, got something else"
        raise OSError(msg)
    before = _finished(folder)
    number = int(before[0].name) + 1 if before else 1
    unfinished.rename(folder / f"{number:0{_DIGITS}d}")
    sync_folder(folder)
    for old in before:
        shutil.rmtree(old, ignore_errors=True)
    return catalogue


def _finished(folder: Path) -> list[Path]:
    """Return the catalogues in `folder`, the newest first, whole or not."""
    try:
        names = [place.name for place in folder.iterdir()]
    except OSError:
        return []
    numbers = [name for name in names if len(name) == _DIGITS and name.isdecimal()]
    return [folder / name for name in sorted(numbers, reverse=True)]


def _opened(place: Path) -> FeatureMatrix | None:
    try:
        about = json.loads((place / _STAMP).read_bytes())
        songs, columns, stamp = about["songs"], about["columns"], about["stamp"]
        first = about["first_sound"]
        if about["format"] != _FORMAT or not isinstance(stamp, dict) or not 0 <= first < columns:
            return None
        return FeatureMatrix(
            ids=_mapped(place / _IDS, _ID, (songs,)),
            table=_mapped(place / _FEATURES, _FLOAT, (songs, columns + 1)),
            stamp=stamp,
            first_sound=first,
        )
    except (OSError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _as_text(about: Mapping[str, Any]) -> str:
    try:
        return json.dumps(about, indent=2, allow_nan=False) + "\n"
    except (TypeError, ValueError, RecursionError) as problem:
        msg = f"a stamp must be something that JSON can hold, got {problem}"
        raise InvalidInputError(msg) from problem


def _checked_ids(names: Sequence[str] | Ids, last: bytes) -> Ids:
    """Return ids as 16 bytes each; refuse any that does not come after the one before."""
    if not len(names):
        return np.empty(0, dtype=_ID)
    keys = names if isinstance(names, np.ndarray) else _as_bytes(names)
    if keys.dtype != _ID or not _LETTER_OR_DIGIT[keys.view(np.uint8)].all():
        msg = f"ids must be {ID_LENGTH} letters or digits, got others from {names[0]!r} on"
        raise InvalidInputError(msg)
    falls = np.flatnonzero(keys <= np.concatenate([np.array([last], dtype=_ID), keys[:-1]]))
    if len(falls):
        wrong = str(keys[falls[0]], "ascii")
        msg = f"ids must rise from row to row, got {wrong!r} after one not smaller"
        raise InvalidInputError(msg)
    return keys


def _as_bytes(names: Sequence[str]) -> Ids:
    return np.array([name.encode("ascii", "replace") for name in names], dtype=np.bytes_)


def _checked_rows(rows: AnyArray, shape: tuple[int, int]) -> Features:
    """Return rows as they are written: in single precision, each with a one at its end."""
    if np.shape(rows) != shape:
        msg = f"features must be {shape[0]} rows of {shape[1]} columns, got {np.shape(rows)}"
        raise InvalidInputError(msg)
    features: Features = np.ones((shape[0], shape[1] + 1), dtype=_FLOAT)
    with np.errstate(over="ignore", under="ignore"):
        features[:, :-1] = rows
    if not np.isfinite(features).all():
        row, column = np.argwhere(~np.isfinite(features))[0]
        msg = (
            f"features must be finite in single precision, got {np.asarray(rows)[row, column]} "
            f"in row {row} of a chunk, column {column}"
        )
        raise InvalidInputError(msg)
    return features


# ── Arrays in .npy files ────────────────────────────────────────────────────────────────


def _finish(file: BinaryIO, dtype: str, shape: tuple[int, ...]) -> None:
    """Write the header of a file whose rows are written, and bring it to the disk."""
    file.seek(0)
    file.write(_header(dtype, shape))
    sync(file)


def _mapped(path: Path, dtype: str, shape: tuple[int, ...]) -> AnyArray:
    """Return the read-only array in a file; ValueError for another type or shape."""
    with path.open("rb") as file:
        if file.read(_HEADER_BYTES) != _header(dtype, shape):
            msg = f"{path} must hold {dtype} in shape {shape}, got something else"
            raise ValueError(msg)
        kind, size = np.dtype(dtype), os.fstat(file.fileno()).st_size
        if size != _HEADER_BYTES + math.prod(shape) * kind.itemsize:
            msg = f"{path} must hold {math.prod(shape)} numbers, got {size} bytes"
            raise ValueError(msg)
        if not math.prod(shape):
            return np.frombuffer(b"", dtype=kind).reshape(shape)  # an empty range cannot be mapped
        # A plain view: slices of a `memmap` object are slow to make.
        return np.asarray(np.memmap(file, dtype=kind, mode="r", offset=_HEADER_BYTES, shape=shape))


def release_pages(array: AnyArray) -> None:
    """Drop the pages of a mapped array from this process; reading brings them back."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)


def _header(dtype: str, shape: tuple[int, ...]) -> bytes:
    r"""Return the header of an .npy file, format 1.0: magic, length, description, newline.

    >>> _header("<f4", (7, 2)).rstrip()
    b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (7, 2), }"
    """
    description = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}"
    start = b"\x93NUMPY\x01\x00" + (_HEADER_BYTES - 10).to_bytes(2, "little")
    return start + description.ljust(_HEADER_BYTES - 11).encode() + b"\n"
