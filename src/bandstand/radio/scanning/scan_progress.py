"""How far a scan is: one frozen value, replaced with every step.

Whoever wants to follow it looks at `change` now and then, which grows with every step.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from bandstand.store.songs.scans import ScanCounts

State: TypeAlias = Literal["idle", "first look", "counting", "scanning", "refreshing", "stopped"]

_NOTHING: Final = ScanCounts()
_LATELY: Final = 10.0  # seconds over which the rate is taken
_LOOKS: Final = 50  # the rate is looked at this many times within these seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What the scanner is doing, and what it has done; times are UTC, in milliseconds."""

    state: State = "idle"
    done: int = 0  # files
    total: int | None = None  # None while nobody knows how many there are
    files_per_second: float | None = None  # lately
    counts: ScanCounts = _NOTHING
    songs: int = 0  # that can be played
    started_at: int | None = None  # of the scan under way, or of the last one
    finished_at: int | None = None  # None while one is under way, or was never finished
    next_at: int | None = None
    problem: str | None = None  # why the last scan failed, or what it could not reach
    isolation: str | None = None  # in words, what confined those who read the files
    change: int = 0

    @property
    def is_busy(self) -> bool:
        """Whether a scan is under way."""
        return self.state not in {"idle", "stopped"}

    def as_json(self) -> dict[str, Any]:
        """Return what is to be told to others."""
        return asdict(self)


class Board:
    """Where one thread writes its progress and all others may read it."""

    def __init__(self) -> None:
        self._now = Progress()
        self._recent: deque[tuple[float, int]] = deque()

    @property
    def progress(self) -> Progress:
        """The progress at this moment."""
        return self._now

    def note(self, **changes: Any) -> None:
        """Replace a part of the progress."""
        self._now = replace(self._now, change=self._now.change + 1, **changes)

    def begin(self, state: State, *, total: int | None) -> None:
        """Note that a piece of work begins, of which nothing is done yet."""
        self._recent.clear()
        self.note(state=state, done=0, total=total, files_per_second=None)

    def advance(self, done: int, **changes: Any) -> None:
        """Note how many files are done, and with it how fast it goes."""
        moment = time.monotonic()
        recent = self._recent
        if not recent or moment - recent[-1][0] >= _LATELY / _LOOKS:
            recent.append((moment, done))
        while moment - recent[0][0] > _LATELY and len(recent) > 1:
            recent.popleft()
        since, before = recent[0]
        rate = (done - before) / (moment - since) if moment - since >= _LATELY / _LOOKS else None
        total = self._now.total
        self.note(
            done=done,
            total=None if total is None else max(total, done),
            files_per_second=None if rate is None else round(rate, 2),
            **changes,
        )
