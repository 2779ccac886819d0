"""Open a file of the library without being led out of it.

Every step of the path below the root is opened by itself and may not be a link, and what
is opened is examined once more, so that nobody can swap a file for a link to something
else between the walk and the reading.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO, Final

from bandstand.errors import InvalidInputError, UnreadableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

_STEP: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_GONE: Final = "it was gone when it was to be read"
_LOCKED: Final = "it may not be read: permission denied"
_NO_FILE: Final = "a file was expected, found something else"
_LINK: Final = "it is a link by now, and links are not followed"
CHANGING: Final = "it was changed while it was being read"
NOT_OPENED: Final = "it cannot be opened: "
# What says nothing of the content of a file.
PASSING: Final = frozenset({_GONE, _LOCKED, _NO_FILE, _LINK, CHANGING})


def open_beneath(root: bytes, path: bytes) -> BinaryIO:
    """Return the regular file at `path`, reached from `root` without following any link."""
    steps = list(_steps(root, path))
    try:
        handle = os.open(root, _STEP)
        for step in steps[:-1]:
            handle = _next(handle, step, _STEP)
        return _regular(_next(handle, steps[-1], _FILE | os.O_NOFOLLOW))
    except OSError as problem:
        raise UnreadableAudioError(_reason(problem)) from problem


def open_file(path: bytes) -> BinaryIO:
    """Return the regular file at a path that the user gave; links are followed."""
    try:
        return _regular(os.open(path, _FILE))
    except OSError as problem:
        raise UnreadableAudioError(_reason(problem)) from problem


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


def _reason(problem: OSError) -> str:
    match problem:
        case FileNotFoundError():
            return _GONE
        case PermissionError():
            return _LOCKED
        case NotADirectoryError() | IsADirectoryError():
            return _NO_FILE
        case OSError(errno=errno.ELOOP):
            return _LINK
        case _:
            return f"{NOT_OPENED}{(problem.strerror or str(problem)).lower()}"
