"""Files that are whole or not there, whenever the process ends."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand_lab.report.study import Json

# An unfinished file begins with a dot and ends so; the next writer replaces it.
_UNFINISHED = ".part"


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` in place of what a file held, at once, in a folder that is made if needed.

    There must be one writer: whoever holds the folder (see `folder`).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}{_UNFINISHED}")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def as_bytes(value: Json, *, indent: int | None = None) -> bytes:
    r"""Return JSON that every reader takes: without NaN, and the same for equal values.

    >>> as_bytes({"ä": 1.5})
    b'{"\xc3\xa4": 1.5}'
    """
    return json.dumps(value, allow_nan=False, ensure_ascii=False, indent=indent).encode()


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of what a file holds, in hexadecimal digits."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        msg = f"{path}: expected a file that can be read, got: {problem.strerror}"
        raise InvalidInputError(msg) from problem


def remove_others(folder: Path, kept: set[str]) -> None:
    """Remove the files of a folder of ours that an earlier report had and this one has not."""
    for path in folder.iterdir():
        if path.is_file() and path.name not in kept:
            path.unlink()
