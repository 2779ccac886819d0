"""One file of the hostile folder: its name, what is in it, and what a scan must make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

# A good file must be indexed, a bad one must be listed with a reason, one that may go either
# way must be exactly one of the two, and what is ignored must not become a song.
Verdict = Literal["good", "bad", "either", "ignored"]


@dataclass(frozen=True, slots=True)
class Hole:
    """So many zeros, which cost no place on the disk."""

    length: int


@dataclass(frozen=True, slots=True)
class Case:
    """A file: `parts` follow each other in it."""

    verdict: Verdict
    name: bytes
    parts: tuple[bytes | Hole, ...]

    def write(self, folder: Path) -> bytes:
        """Write the file into `folder` and return its path."""
        path = bytes(folder) + b"/" + self.name
        with open(path, "xb") as file:  # noqa: PTH123 - a Path cannot hold every name
            for part in self.parts:
                if isinstance(part, Hole):
                    file.truncate(file.seek(part.length, 1))
                else:
                    file.write(part)
        return path


def good(name: str | bytes, *parts: bytes | Hole) -> Case:
    return Case("good", _name(name), parts)


def bad(name: str | bytes, *parts: bytes | Hole) -> Case:
    return Case("bad", _name(name), parts)


def either(name: str | bytes, *parts: bytes | Hole) -> Case:
    return Case("either", _name(name), parts)


def ignored(name: str | bytes, *parts: bytes | Hole) -> Case:
    return Case("ignored", _name(name), parts)


def _name(name: str | bytes) -> bytes:
    return name.encode() if isinstance(name, str) else name
