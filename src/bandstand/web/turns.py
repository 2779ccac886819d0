"""One question of each listener at a time, however many they ask.

What is known of a listener is looked at by one thread at a time. Were the others to wait for it
as threads, one listener who asks for long playlists would soon have all of them, and nobody else
would hear what comes next. So who asks again waits here, where waiting costs nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from bandstand.web.problems import busy

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.web.workers import Workers

P = ParamSpec("P")
T = TypeVar("T")

WAITING: Final = 32  # questions of one listener; beyond them, 503


@dataclass(slots=True)
class _Queue:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0  # with the one that is being answered


class Turns:
    """The questions of all listeners; it belongs to the event loop."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._queues: dict[str, _Queue] = {}

    async def run(self, account: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what `work` returns, from another thread, once it is this question's turn."""
        queue = self._queues.setdefault(account, _Queue())
        if queue.length > WAITING:
            raise busy(message="too many questions at once; try again")
        queue.length += 1
        try:
            async with queue.lock:
                return await self._workers.run(work, *args, **kwargs)
        finally:
            queue.length -= 1
            if not queue.length:
                del self._queues[account]
