"""Limits of a child, as values and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from bandstand._util.words import megabytes
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Collection

# A failure with the longest reason must fit into the smallest reply.
_MIN_REPLY_BYTES: Final = 8192
# Standard streams, two pipes, and a few for the work itself.
_MIN_OPEN_FILES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one child; times are for one request, the rest for the child.

    `written_bytes` is the largest file that may be written; 0 means that no file may be opened
    for writing at all. With `may_start_programs` the child may start other programs, and they
    are bound by the same limits, each by itself. They should take standard input and output from
    the child's own or from pipes: opening even /dev/null for writing is opening for writing.
    """

    memory_bytes: int = 1 << 30  # of address space, with the libraries that are loaded
    cpu_seconds: float = 60
    wall_seconds: float = 120
    written_bytes: int = 0
    open_files: int = 64
    reply_bytes: int = 1 << 20
    may_start_programs: bool = False
    niceness: int = 0  # how far the child yields to other processes: 0 not at all, 19 most

    def __post_init__(self) -> None:
        """Refuse limits that nothing could work under."""
        least = {
            "memory_bytes": 1,
            "written_bytes": 0,
            "open_files": _MIN_OPEN_FILES,
            "reply_bytes": _MIN_REPLY_BYTES,
            "niceness": 0,
        }
        for name, value in least.items():
            if getattr(self, name) < value:
                msg = f"{name} must be at least {value}, got {getattr(self, name)}"
                raise InvalidInputError(msg)
        for name in ("cpu_seconds", "wall_seconds"):
            if not (getattr(self, name) > 0 and math.isfinite(getattr(self, name))):
                msg = f"{name} must be positive and finite, got {getattr(self, name)}"
                raise InvalidInputError(msg)

    def as_json(self) -> dict[str, float]:
        """Return the limits as they are sent to a child.

        >>> Limits(**Limits(open_files=20).as_json()) == Limits(open_files=20)
        True
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}


DEFAULT_LIMITS: Final = Limits()


def seconds(time: float) -> str:
    """Return a length of time in words.

    >>> seconds(120), seconds(0.5)
    ('120 s', '0.5 s')
    """
    return f"{time:g} s"


def in_words(limits: Limits, measures: Collection[str]) -> str:
    """Return in words which measures are in force, and which this system does not have."""
    words = _words(limits)
    there = [text for name, text in words.items() if name in measures]
    missing = [text for name, text in words.items() if name not in measures]
    text = ", ".join(["a process of its own", *there])
    return f"{text}; not on this system: {', '.join(missing)}" if missing else text


def _words(limits: Limits) -> dict[str, str]:
    calls = ["no network"]
    calls += [] if limits.written_bytes else ["no writing"]
    calls += [] if limits.may_start_programs else ["no other programs"]
    return {
        "memory": f"at most {megabytes(limits.memory_bytes)} of memory",
        "times": f"{seconds(limits.cpu_seconds)} of processor time, "
        f"{seconds(limits.wall_seconds)} in all",
        "open files": f"{limits.open_files} open files",
        "calls": ", ".join(calls),
        "rights": "no rights but to read",
        "new rights": "no new rights",
    }
