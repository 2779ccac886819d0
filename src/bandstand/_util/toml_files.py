"""TOML files that people write: read whole, and refused in one sentence that names the file."""

import tomllib
from pathlib import Path
from typing import Any, Final

from bandstand.errors import InvalidInputError

_LARGEST_FILE: Final = 1 << 20  # bytes


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Return what a TOML file says; `what` is what the file should be, in the words of an error."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        msg = f"{what} {path} must be a file that can be read, got: {reason}"
        raise InvalidInputError(msg) from problem
    if len(content) > _LARGEST_FILE:
        msg = f"{what} {path} must have at most {_LARGEST_FILE:,} bytes, got more"
        raise InvalidInputError(msg)
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    # Also what is said of bytes that are no text, and of numbers with thousands of digits.
    except (ValueError, RecursionError) as problem:
        msg = f"{what} {path} must be TOML in UTF-8, got: {problem}"
        raise InvalidInputError(msg) from problem
