"""Files that commands write: whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from bandstand.errors import InvalidInputError


def check_place(name: str, *, option: str) -> None:
    """Refuse a file that could not be written, before the work for it begins."""
    try:
        place = Path(name).resolve()
        is_device = _is_device(place)
    except (OSError, RuntimeError, ValueError) as problem:  # a link in a circle, for instance
        msg = f"{option} must name a file that can be written, got {name!r}: {problem}"
        raise InvalidInputError(msg) from problem
    if name == "-" or is_device:
        return
    if name == "" or place.is_dir():
        msg = f"{option} must name a file, got {name!r}, which is a folder"
        raise InvalidInputError(msg)
    if not os.access(place.parent, os.W_OK | os.X_OK):
        msg = f"{option} must name a file in a folder that can be written to, got {name!r}"
        raise InvalidInputError(msg)


def replace_file(name: str, content: bytes) -> None:
    """Put `content` in place of what a file held, at once; `-` is standard output.

    If that fails, or is interrupted, the file is what it was. A link stays one: what it leads
    to is replaced.
    """
    place = Path(name).resolve()
    if name == "-":
        _print(content)
    elif _is_device(place):
        place.write_bytes(content)
    else:
        _replace(place, content)


def _replace(place: Path, content: bytes) -> None:
    handle, unfinished = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:64]}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).chmod(_mode(place))
        Path(unfinished).replace(place)
    except BaseException:
        with suppress(OSError):
            Path(unfinished).unlink()
        raise


def _mode(place: Path) -> int:
    """Return who may read the file: as before, or as usual for a new one."""
    with suppress(OSError):
        return stat.S_IMODE(place.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _is_device(place: Path) -> bool:
    """Return whether something is there that is written to, not replaced: a pipe, a terminal."""
    return place.exists() and not place.is_file() and not place.is_dir()


def _print(content: bytes) -> None:
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # somebody else stands in for standard output, who takes text
        sys.stdout.write(content.decode("utf-8", "backslashreplace"))
    else:
        binary.write(content)
        binary.flush()
