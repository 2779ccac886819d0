"""Opens a file of the library without being led out of it, and fingerprints its content.

Every step of the path below the root is opened by itself and may not be a link, and the opened
file is examined once more, so that a file cannot be swapped for a link to something else between
the walk and the reading.

A file is recognised by its size and time while it stays, by its fingerprint when it has moved.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, Final

from bandstand.errors import InvalidInputError, UnreadableAudioError

# ── Opening a file ──────────────────────────────────────────────────────────────────────

_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe would wait for a writer.
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_GONE: Final = "it was gone when it was to be read"
_LOCKED: Final = "it may not be read: permission denied"
_NO_FILE: Final = "a file was expected, found something else"
_IS_LINK: Final = "it is a link by now, and links are not followed"
CHANGING: Final = "it was changed while it was being read"
NOT_OPENED: Final = "it cannot be opened: "
# Reasons that say nothing about the content of a file.
PASSING: Final = frozenset({_GONE, _LOCKED, _NO_FILE, _IS_LINK, CHANGING})


def open_beneath(root: bytes, path: bytes) -> BinaryIO:
    """Return the regular file at `path`, reached from `root` without following any link."""
    steps = list(_steps(root, path))
    try:
        handle = os.open(root, _FOLDER_FLAGS)
        for step in steps[:-1]:
            handle = _next(handle, step, _FOLDER_FLAGS)
        return _regular(_next(handle, steps[-1], _FILE_FLAGS | os.O_NOFOLLOW))
    except OSError as problem:
        raise UnreadableAudioError(_opening_reason(problem)) from problem


def open_file(path: bytes) -> BinaryIO:
    """Return the regular file at a path that the user gave; links are followed."""
    try:
        return _regular(os.open(path, _FILE_FLAGS))
    except OSError as problem:
        raise UnreadableAudioError(_opening_reason(problem)) from problem


def _steps(root: bytes, path: bytes) -> Iterator[bytes]:
    start = root.rstrip(b"/") + b"/"
    steps = path.removeprefix(start).split(b"/")
    if not path.startswith(start) or not all(steps) or b".." in steps or b"." in steps:
        msg = "a path below the library's folder was expected, got one that leads elsewhere"
        raise InvalidInputError(msg)
    yield from steps


def _next(folder: int, name: bytes, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    finally:
        os.close(folder)


def _regular(handle: int) -> BinaryIO:
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise UnreadableAudioError(_NO_FILE)


def _opening_reason(problem: OSError) -> str:
    match problem:
        case FileNotFoundError():
            return _GONE
        case PermissionError():
            return _LOCKED
        case NotADirectoryError() | IsADirectoryError():
            return _NO_FILE
        case OSError(errno=errno.ELOOP):
            return _IS_LINK
        case _:
            return f"{NOT_OPENED}{(problem.strerror or str(problem)).lower()}"


# ── Fingerprints and times ──────────────────────────────────────────────────────────────

_BLOCK_BYTES: Final = 65_536
_BLOCKS: Final = 16
_MAX_TIME_NS: Final = 2**63 - 1


def fingerprint(file: BinaryIO) -> str:
    """Return a digest of the file's size and of 16 blocks spread evenly over it.

    At most a mebibyte is read, since libraries lie on slow disks; a file up to that size is
    read whole. Two recordings differ nearly everywhere, so they differ in these blocks;
    the file is left at its beginning.
    """
    size = os.fstat(file.fileno()).st_size
    digest = hashlib.blake2b(size.to_bytes(8, "little"), digest_size=16)
    for place in _places(size):
        file.seek(place)
        digest.update(file.read(_BLOCK_BYTES))
    file.seek(0)
    return digest.hexdigest()


def modified_ns(status: os.stat_result) -> int:
    """Return when a file was changed last, in nanoseconds since 1970, as 64 bits can hold it.

    A disk can date a file to the year 2446; what is beyond 2262 counts as one moment.
    """
    return max(-_MAX_TIME_NS, min(status.st_mtime_ns, _MAX_TIME_NS))


def _places(size: int) -> Iterator[int]:
    if size <= _BLOCK_BYTES * _BLOCKS:
        yield from range(0, size, _BLOCK_BYTES)
    else:
        yield from ((size - _BLOCK_BYTES) * block // (_BLOCKS - 1) for block in range(_BLOCKS))
