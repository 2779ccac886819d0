"""A folder of files that can always be made again, bounded in bytes.

A file is written under another name, brought to the disk, and only then given its own, so what
has a name is whole. Who has opened a file may go on reading it after it was thrown away.
"""

import errno
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from bandstand._util.atomic_files import replacing
from bandstand.errors import InvalidInputError, StoreError, StoreFullError

_NAME: Final = re.compile(r"[0-9a-z]+(-[0-9a-z]+)*", re.ASCII)
_UNFINISHED: Final = ".part"
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class FileCache:
    """A folder of derived files; what was used least recently goes first. May be shared by threads.

    `limit` is in bytes; the newest file stays even if it is larger than that by itself.
    """

    def __init__(self, folder: Path, *, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._lock = threading.Lock()

    def open(self, name: str) -> BinaryIO | None:
        """Return a file, open for reading, and note that it was used; None if it is not there."""
        path = self._path(name)
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise _store_error(problem) from problem
        with suppress(OSError):  # thrown away meanwhile, or a disk that is full
            os.utime(path)
        return file

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """Give a file to write to; it is kept under its name if the block ends well.

        StoreFullError where there is no room for it.
        """
        path = self._path(name)
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with replacing(path, suffix=_UNFINISHED) as file:
                yield file
            self._make_room(path)
        except OSError as problem:
            raise _store_error(problem) from problem

    def clear_unfinished(self) -> None:
        """Remove what was being written when a server ended; for the start of the next."""
        for path in self._folder.glob(f"*{_UNFINISHED}"):
            path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        if _NAME.fullmatch(name) is None or len(name) > 150:
            msg = f"a name of digits, small letters and dashes was expected, got {name!r}"
            raise InvalidInputError(msg)
        return self._folder / name

    def _make_room(self, newest: Path) -> None:
        with self._lock:
            files = sorted(self._listed(), key=lambda file: file[0])
            total = sum(size for _, size, _ in files)
            for _, size, path in files:
                if total <= self._limit:
                    return
                if path != newest:
                    path.unlink(missing_ok=True)
                    total -= size

    def _listed(self) -> Iterator[tuple[int, int, Path]]:
        """Yield when each whole file was used last, its size, and its path."""
        for path in self._folder.iterdir():
            with suppress(FileNotFoundError):
                status = path.stat()
                if path.suffix != _UNFINISHED:
                    yield status.st_mtime_ns, status.st_size, path


def _store_error(problem: OSError) -> StoreError:
    reason = problem.strerror or str(problem)
    msg = f"the data folder must be readable and have room, got: {reason}"
    return StoreFullError(msg) if problem.errno in _NO_ROOM else StoreError(msg)
