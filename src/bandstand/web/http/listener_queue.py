"""One question of each listener at a time, however many they ask.

What is known of a listener is looked at by one thread at a time. Were the others to wait for it
as threads, one listener who asks for long playlists would soon have all of them, and nobody else
would hear what comes next. So who asks again waits here, where waiting costs nothing.

What takes long and what is soon done may have threads of their own, and still be one listener's
questions, one after the other: `Turns(quick, beside=turns)`.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from bandstand.web.http.problems import busy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bandstand.web.http.thread_pools import Workers

P = ParamSpec("P")
T = TypeVar("T")

WAITING: Final = 32  # questions of one listener; beyond them, 503


@dataclass(slots=True)
class _Line:
    """The questions of one listener."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0  # with the one that is being answered


@dataclass(frozen=True, slots=True)
class Queue:
    """A place among the questions of one listener."""

    workers: Workers
    line: _Line

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what `work` returns, from another thread, once it is this question's turn."""
        async with self.line.lock:
            return await self.workers.run(work, *args, **kwargs)


class Turns:
    """The questions of all listeners; it belongs to the event loop."""

    def __init__(self, workers: Workers, *, beside: Turns | None = None) -> None:
        self._workers = workers
        shared = {} if beside is None else beside._lines  # noqa: SLF001  (of the same class)
        self._lines: dict[str, _Line] = shared

    async def run(self, account: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what `work` returns, from another thread, once it is this question's turn."""
        with self.place(account) as queue:
            return await queue.run(work, *args, **kwargs)

    @contextmanager
    def place(self, account: str) -> Iterator[Queue]:
        """Give the queue of a listener, in which the block has a place until it ends."""
        line = self._lines.setdefault(account, _Line())
        if line.length > WAITING:
            raise busy(message="too many questions at once; try again")
        line.length += 1
        try:
            yield Queue(self._workers, line)
        finally:
            line.length -= 1
            if not line.length:
                del self._lines[account]
