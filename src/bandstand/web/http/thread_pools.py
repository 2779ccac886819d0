"""Threads for whatever touches the store or the model; the event loop only waits for them."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from bandstand.web.http.problems import busy

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

# More wait for the disk than for a processor, and a processor is shared by all of them anyway.
THREADS: Final = 8
WAITING: Final = 512


class Workers:
    """Some threads, and a queue before them that is not endless: beyond it, 503."""

    def __init__(
        self, threads: int = THREADS, waiting: int = WAITING, name: str = "web", niceness: int = 0
    ) -> None:
        self._pool = ThreadPoolExecutor(
            threads, thread_name_prefix=name, initializer=_stand_back, initargs=(niceness,)
        )
        self._most = threads + waiting
        self._taken = 0  # only the event loop changes it

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what `work` returns, from another thread."""
        if self._taken >= self._most:
            raise busy()
        self._taken += 1
        try:
            future = self._pool.submit(work, *args, **kwargs)
            return await asyncio.wrap_future(future)
        finally:
            self._taken -= 1

    def close(self) -> None:
        """Let what was begun come to its end."""
        self._pool.shutdown(cancel_futures=True)


def _stand_back(niceness: int) -> None:
    """Let this thread get the processor after the others; Linux knows each thread by itself."""
    if niceness and sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
