"""Leftovers of a scan: a changed library, or processes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, see prctl(2)


class Trace(NamedTuple):
    """The state that changes when a file is written, renamed or touched."""

    inode: int
    mode: int
    links: int
    size: int
    modified_ns: int
    changed_ns: int
    content: str


def picture_of(folder: Path) -> dict[bytes, Trace]:
    """Return the state of everything below a folder, the folder itself included."""
    paths = [bytes(folder)]
    for place, folders, files in os.walk(bytes(folder)):
        paths += [place + b"/" + name for name in [*folders, *files]]
    return {path: _trace(path) for path in paths}


def _trace(path: bytes) -> Trace:
    found = os.lstat(path)
    return Trace(
        inode=found.st_ino,
        mode=found.st_mode,
        links=found.st_nlink,
        size=found.st_size,
        modified_ns=found.st_mtime_ns,
        changed_ns=found.st_ctime_ns,
        content=_digest(path, found.st_mode),
    )


def _digest(path: bytes, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return os.readlink(path).hex()  # noqa: PTH115 - bytes
    if not stat.S_ISREG(mode) or not os.access(path, os.R_OK):
        return ""
    with open(path, "rb") as file:  # noqa: PTH123 - bytes
        digest = hashlib.blake2b()
        for start, end in _data(file.fileno(), os.fstat(file.fileno()).st_size):
            file.seek(start)
            digest.update(file.read(end - start))
        return digest.hexdigest()


def _data(handle: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield where a file has data; its holes may be a gigabyte."""
    place = 0
    while place < size:
        try:
            start = os.lseek(handle, place, os.SEEK_DATA)
        except OSError:  # nothing but a hole until the end
            return
        place = os.lseek(handle, start, os.SEEK_HOLE)
        yield start, place


@contextmanager
def adopting() -> Iterator[None]:
    """Become the parent of every process that is orphaned meanwhile, so that none can hide."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        libc.prctl(_SUBREAPER, 0, 0, 0, 0)


def children() -> set[int]:
    """Return the ids of the children of this process, dead but not buried ones included."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that has ended meanwhile
            found |= {int(number) for number in (task / "children").read_text().split()}
    return found


def orphans(before: set[int], *, patience: float = 60.0) -> set[int]:
    """Return the adopted processes that still run after some patience; bury those that do not."""
    end = time.monotonic() + patience
    while (left := {child for child in children() - before if not _buried(child)}) and (
        time.monotonic() < end
    ):
        time.sleep(0.01)
    return left


def _buried(child: int) -> bool:
    try:
        return os.waitpid(child, os.WNOHANG)[0] == child
    except ChildProcessError:
        return True
