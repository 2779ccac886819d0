"""Histories of listeners, and the sources they came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.types import Indices, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The plays of one listener, in the order in which they began.

    `items` are codes: places in `Histories.item_names`. `times` are seconds since 1970, or since
    an unknown beginning where not `is_dated`. Values that an export does not have are NaN.
    """

    name: str
    items: Indices  # (n,)
    times: Vector  # (n,), seconds, rising
    played: Vector  # (n,), seconds that the play lasted
    skipped: Vector  # (n,), 1 where the export says so, 0 where it says not
    is_dated: bool = True

    def __len__(self) -> int:
        """Return the number of plays."""
        return len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Entries of a source that are no plays of songs, and why."""

    reason: str
    count: int
    first: str  # position of the first: "line 17", "entry 4 (line 31)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file, or one file within an archive, and what was in it."""

    name: str
    format: str
    plays: int  # read from it; some may be duplicates of other sources' plays
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Histories:
    """The histories of all listeners, the one with most plays first."""

    listeners: tuple[History, ...]
    item_names: tuple[str, ...]
    sources: tuple[Source, ...] = ()
    duplicates: int = 0  # plays that another source had as well, counted once
    ignored: tuple[str, ...] = ()  # files of archives that are no histories
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[History]:
        """Return the listeners' histories one by one."""
        return iter(self.listeners)

    def __len__(self) -> int:
        """Return the number of listeners."""
        return len(self.listeners)

    @property
    def plays(self) -> int:
        """Return the number of plays of all listeners."""
        return sum(len(history) for history in self.listeners)
