"""Listening histories from files.

The format of a file is found by its first bytes, not by its name: plain, compressed with gzip, or
an archive (ZIP). Nothing is unpacked to the disk and no file is held in memory as a whole; a file
that unpacks to far more than any history could is refused.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import time
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast

from bandstand.errors import InvalidInputError
from bandstand_lab.histories.collector import Collector, merged
from bandstand_lab.histories.json_formats import read_entries
from bandstand_lab.histories.positions import printable, refusal
from bandstand_lab.histories.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from bandstand_lab.histories.values import Histories

_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_BUFFER_BYTES: Final = 1 << 18
# Real histories become 5 to 30 times smaller; a file that is all the same letter, 1,000 times.
_MAX_RATIO: Final = 200
_ALLOWED_BYTES: Final = 1 << 24  # bytes
_MAX_MEMBERS: Final = 10_000
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


def documents(path: Path) -> Iterator[Document]:
    """Yield the file, or, of an archive, each file in it; a stream is read before the next."""
    with _opened(path) as file:
        head = file.peek(4)
        if head.startswith(_ZIP):
            yield from _members(path, file)
        elif head.startswith(_GZIP):
            packed = os.fstat(file.fileno()).st_size
            stream = gzip.GzipFile(fileobj=file)
            yield Document(str(path), _guarded(str(path), stream, packed), may_be_other=False)
        else:
            yield Document(str(path), file, may_be_other=False)


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    try:
        file = cast("io.BufferedReader", path.open("rb", buffering=_BUFFER_BYTES))
    except (OSError, ValueError) as problem:  # a ValueError for a name with a NUL
        reason = getattr(problem, "strerror", None) or problem
        raise refusal(str(path), None, f"expected a file that can be read, got: {reason}") from None
    with file:
        yield file


def _members(path: Path, file: io.BufferedReader) -> Iterator[Document]:
    try:
        archive = zipfile.ZipFile(file)
        infos = [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as problem:
        raise refusal(str(path), None, f"expected a whole ZIP archive, got: {problem}") from None
    if len(infos) > _MAX_MEMBERS:
        what = f"expected at most {_MAX_MEMBERS:,} files, got {len(infos):,}"
        raise refusal(str(path), None, what)
    with archive:
        for info in sorted(infos, key=lambda each: each.filename):
            name = f"{path}:{printable(info.filename)}"
            try:
                stream = archive.open(info)
            except (RuntimeError, NotImplementedError, zipfile.BadZipFile, OSError) as problem:
                raise refusal(
                    name, None, f"expected a file that can be unpacked, got: {problem}"
                ) from None
            with stream:
                unpacking = cast("_Unpacking", stream)
                guarded = _guarded(name, unpacking, info.compress_size)
                yield Document(name, guarded, may_be_other=True)


class _Unpacking(Protocol):
    def readinto(self, buffer: Any, /) -> int: ...


def _guarded(name: str, stream: _Unpacking, packed: int) -> io.BufferedReader:
    return io.BufferedReader(_Guard(name, stream, packed), _BUFFER_BYTES)


class _Guard(io.RawIOBase):
    """A stream that unpacks, limited in size, with our errors."""

    def __init__(self, name: str, stream: _Unpacking, packed: int) -> None:
        super().__init__()
        self._name = name
        # The size of a pipe is not known.
        self._limit = max(packed * _MAX_RATIO, _ALLOWED_BYTES) if packed else None
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
            raise refusal(self._name, None, what) from None
        except (OSError, zlib.error, zipfile.BadZipFile, RuntimeError) as problem:
            raise refusal(
                self._name, None, f"expected a whole compressed file, got: {problem}"
            ) from None
        self._read += count
        if self._limit is not None and self._read > self._limit:
            expected = f"expected a file that unpacks to at most {_MAX_RATIO} times its size"
            raise refusal(self._name, None, f"{expected}, got more than {self._limit:,} bytes")
        return count


_JSON: Final = (b"[", b"{")
_MARKS: Final = b"\xef\xbb\xbf \t\r\n"  # a byte order mark, and space


def read(
    paths: Sequence[PathLike[str] | str],
    *,
    apart: bool = False,
    now: float | None = None,
    on_file: Callable[[str], None] = lambda _: None,
) -> Histories:
    """Return the histories in the files, each play once.

    Files without a name are of one listener; with `apart`, every file is of another. Plays after
    `now` (epoch seconds; by default the clock's) are left out. An error names the file and the
    line or entry.
    """
    collector = Collector(apart=apart)
    latest = time.time() if now is None else now
    for path in paths:
        is_history = False
        for document in documents(Path(path)):
            on_file(document.name)
            if _read_document(document, collector, now=latest):
                is_history = True
            else:
                collector.ignored.append(document.name)
        if not is_history:
            msg = f"{path}: expected an archive with a listening history, got none in it"
            raise InvalidInputError(msg)
    if not collector.columns.item:
        shown = ", ".join(map(str, paths)) or "no file"
        msg = f"expected at least one possible play of a song, got none in {shown}"
        raise InvalidInputError(msg)
    return merged(collector)


def _read_document(document: Document, collector: Collector, *, now: float) -> bool:
    head = document.stream.peek(1).lstrip(_MARKS)
    reader = read_entries if head.startswith(_JSON) else read_table
    return reader(document, collector, now=now)
