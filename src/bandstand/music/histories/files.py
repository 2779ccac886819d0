"""Files that may hold a listening history, as streams of bytes.

The format of a file is found by its first bytes, not by its name: plain, compressed with gzip, or
an archive (ZIP). Nothing is unpacked to the disk; a file that unpacks to far more than any
history could is refused. Errors name the file.
"""

import gzip
import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, Protocol, cast

from bandstand._util.words import printable
from bandstand.errors import InvalidInputError

_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_BUFFER_BYTES: Final = 1 << 18
# Real histories become 5 to 30 times smaller; a file that is all the same letter, 1,000 times.
_MAX_RATIO: Final = 200
_ALLOWED_BYTES: Final = 1 << 24  # bytes
_MAX_MEMBERS: Final = 10_000
_FILES: Final = 16
_HISTORY_NAME: Final = re.compile("stream|listen|scrobbl|history|endsong|plays", re.IGNORECASE)


class Document(NamedTuple):
    """A stream of bytes that may be a history, and its name."""

    name: str
    stream: io.BufferedReader
    may_be_other: bool  # an archive has other files as well

    @property
    def is_likely(self) -> bool:
        """Whether its name is that of a history, so that damage in it is an error."""
        return _HISTORY_NAME.search(self.name.rsplit(":", 1)[-1]) is not None


def documents(
    path: Path, *, name: str | None = None, most: int | None = None
) -> Iterator[Document]:
    """Yield the file, or, of an archive, each file in it; a stream is read before the next.

    `name` is what the file is called, its path without. With `most`, no more bytes of what is
    compressed are unpacked, and 16 times that of all files in an archive: JSON is read as a whole.
    """
    called = str(path) if name is None else name
    with _opened(path, called) as file:
        head = file.peek(4)
        if head.startswith(_ZIP):
            yield from _members(called, file, most)
        elif head.startswith(_GZIP):
            packed = os.fstat(file.fileno()).st_size
            stream = gzip.GzipFile(fileobj=file)
            guarded = _guarded(called, stream, packed, most)
            yield Document(called, guarded, may_be_other=False)
        else:
            yield Document(called, file, may_be_other=False)


@contextmanager
def _opened(path: Path, called: str) -> Iterator[io.BufferedReader]:
    try:
        file = cast("io.BufferedReader", path.open("rb", buffering=_BUFFER_BYTES))
    except (OSError, ValueError) as problem:  # a ValueError for a name with a NUL
        reason = getattr(problem, "strerror", None) or problem
        refuse(called, None, f"expected a file that can be read, got: {reason}")
    with file:
        yield file


def _members(called: str, file: io.BufferedReader, most: int | None) -> Iterator[Document]:
    try:
        archive = zipfile.ZipFile(file)
        infos = [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as problem:
        refuse(called, None, f"expected a whole ZIP archive, got: {problem}")
    if len(infos) > _MAX_MEMBERS:
        what = f"expected at most {_MAX_MEMBERS:,} files, got {len(infos):,}"
        refuse(called, None, what)
    # No more than that is unpacked of each.
    sizes = [info.file_size for info in infos]
    if most is not None and (max(sizes, default=0) > most or sum(sizes) > _FILES * most):
        refuse(called, None, f"expected files of at most {most:,} bytes, got {max(sizes):,}")
    with archive:
        for info in sorted(infos, key=lambda each: each.filename):
            name = f"{called}:{printable(info.filename)}"
            try:
                stream = archive.open(info)
            except (RuntimeError, NotImplementedError, zipfile.BadZipFile, OSError) as problem:
                refuse(name, None, f"expected a file that can be unpacked, got: {problem}")
            with stream:
                unpacking = cast("_Unpacking", stream)
                guarded = _guarded(name, unpacking, info.compress_size)
                yield Document(name, guarded, may_be_other=True)


class _Unpacking(Protocol):
    def readinto(self, buffer: Any, /) -> int: ...


def _guarded(
    name: str, stream: _Unpacking, packed: int, most: int | None = None
) -> io.BufferedReader:
    return io.BufferedReader(_Guard(name, stream, packed, most), _BUFFER_BYTES)


class _Guard(io.RawIOBase):
    """A stream that unpacks, limited in size, with our errors."""

    def __init__(self, name: str, stream: _Unpacking, packed: int, most: int | None) -> None:
        super().__init__()
        self._name = name
        # The size of a pipe is not known.
        limit = max(packed * _MAX_RATIO, _ALLOWED_BYTES) if packed else None
        self._limit = min((it for it in (limit, most) if it is not None), default=None)
        self._read = 0
        self._stream = stream

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill `buffer` and return with how many bytes."""
        try:
            count = self._stream.readinto(buffer)
        except EOFError:
            what = "expected a whole compressed file, got one that is cut short"
            refuse(self._name, None, what)
        except (OSError, zlib.error, zipfile.BadZipFile, RuntimeError) as problem:
            refuse(self._name, None, f"expected a whole compressed file, got: {problem}")
        self._read += count
        if self._limit is not None and self._read > self._limit:
            expected = f"expected a file that unpacks to at most {_MAX_RATIO} times its size"
            refuse(self._name, None, f"{expected}, got more than {self._limit:,} bytes")
        return count


def refuse(source: str, where: str | None, what: str) -> NoReturn:
    """Name the file, the line or entry if there is one, and what is wrong with it.

    >>> refuse("plays.csv", "line 3", "a time must not be negative, got '-1'")
    Traceback (most recent call last):
    bandstand.errors.InvalidInputError: plays.csv line 3: a time must not be negative, got '-1'
    """
    place = source if where is None else f"{source} {where}"
    msg = f"{place}: {what}"
    raise InvalidInputError(msg) from None
