"""Thread pools, per-listener queues, replies at a fixed time, and client disconnects.

The event loop never touches the store or the model: a `ThreadPool` does, and the loop waits for it.
A `ListenerQueue` answers one request of each listener at a time, so that a listener who asks for
long playlists occupies one thread, not all of them; the others wait where waiting costs nothing.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, ParamSpec, TypeVar

from starlette.requests import Request

from bandstand.web.http.problems import busy

P = ParamSpec("P")
T = TypeVar("T")

# Most threads wait for the disk; more of them would only share the same processors.
THREADS: Final = 8
MAX_WAITING: Final = 512
MAX_WAITING_PER_LISTENER: Final = 32


class ThreadPool:
    """A bounded thread pool: 503 when its queue is full."""

    def __init__(
        self,
        threads: int = THREADS,
        waiting: int = MAX_WAITING,
        name: str = "web",
        niceness: int = 0,
    ) -> None:
        self._pool = ThreadPoolExecutor(
            threads, thread_name_prefix=name, initializer=_lower_priority, initargs=(niceness,)
        )
        self._limit = threads + waiting
        self._taken = 0  # only the event loop changes it

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in another thread and return its result."""
        if self._taken >= self._limit:
            raise busy()
        self._taken += 1
        try:
            future = self._pool.submit(work, *args, **kwargs)
            return await asyncio.wrap_future(future)
        finally:
            self._taken -= 1

    def close(self) -> None:
        """Wait for running work and drop the rest."""
        self._pool.shutdown(cancel_futures=True)


def _lower_priority(niceness: int) -> None:
    """Lower the priority of this thread; Linux knows each thread by itself."""
    if niceness and sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


@dataclass(slots=True)
class _Waiting:
    """The requests of one listener."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0  # including the one that is being answered


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """A place among the requests of one listener."""

    pool: ThreadPool
    waiting: _Waiting

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in another thread after the requests before it."""
        async with self.waiting.lock:
            return await self.pool.run(work, *args, **kwargs)


class ListenerQueue:
    """Queues of all listeners; it belongs to the event loop.

    A queue made `beside` another uses a pool of its own, and still answers each listener's
    requests one after the other across both.
    """

    def __init__(self, pool: ThreadPool, *, beside: ListenerQueue | None = None) -> None:
        self._pool = pool
        self.waiting: dict[str, _Waiting] = {} if beside is None else beside.waiting

    async def run(self, account: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in another thread after the listener's earlier requests."""
        with self.place(account) as place:
            return await place.run(work, *args, **kwargs)

    @contextmanager
    def place(self, account: str) -> Iterator[QueuePlace]:
        """Hold a place in the listener's queue for the duration of the block."""
        waiting = self.waiting.setdefault(account, _Waiting())
        if waiting.length > MAX_WAITING_PER_LISTENER:
            raise busy(message="too many questions at once; try again")
        waiting.length += 1
        try:
            yield QueuePlace(self._pool, waiting)
        finally:
            waiting.length -= 1
            if not waiting.length:
                del self.waiting[account]


async def reply_at(work: Coroutine[Any, Any, T], *, at: float) -> T:
    """Return the result of `work`, or raise its error, at the time `at` of the event loop.

    The time that a choice takes would reveal which algorithm made it, so participants of a study
    get every answer and refusal after the same delay. The work begins at once, and goes on to its
    end when the client has gone.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    task.add_done_callback(_retrieve_error)
    await asyncio.sleep(max(0.0, at - loop.time()))
    return await asyncio.shield(task)


def _retrieve_error(task: asyncio.Task[Any]) -> None:
    """Keep asyncio from logging an error after the client has gone."""
    if not task.cancelled():
        task.exception()


@asynccontextmanager
async def connected(request: Request) -> AsyncIterator[Callable[[], bool]]:
    """Yield a function that says whether the client is still there; any thread may call it."""
    gone = threading.Event()

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    watching = asyncio.create_task(watch())
    try:
        yield lambda: not gone.is_set()
    finally:
        watching.cancel()
