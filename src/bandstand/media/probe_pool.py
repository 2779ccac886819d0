"""Thread pool that probes files, each thread with a limited child.

A child belongs to the thread that started it, so the threads stay. A child that is idle for a
while is ended, since it takes as much memory as the server itself.
"""

import queue
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final

from bandstand.errors import UnreadableAudioError
from bandstand.media.conversion import BusyError
from bandstand.music.sandbox import Failure, Limits, Pool

TASK: Final = "bandstand.media.media_task:look"
# A probe takes milliseconds, except for a hostile file.
LIMITS: Final = Limits(cpu_seconds=10, wall_seconds=20, reply_bytes=1 << 23)
THREADS: Final = 2
MAX_WAITING: Final = 256
IDLE_SECONDS: Final = 30.0
_RETRY_SECONDS: Final = 0.1

Wanted = tuple["Mapping[str, Any]", "Future[dict[str, Any]]"]


class ProbePool:
    """Threads that ask limited children; started when they are needed."""

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._waiting: queue.Queue[Wanted | None] = queue.Queue(MAX_WAITING)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._pools: dict[int, Pool] = {}
        self._is_closed = False

    def ask(self, request: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Return the future answer of a child, or UnreadableAudioError."""
        future: Future[dict[str, Any]] = Future()
        self._start_threads()
        try:
            self._waiting.put_nowait((request, future))
        except queue.Full:
            msg = f"at most {MAX_WAITING} files may wait to be looked into, got one more"
            raise BusyError(msg) from None
        return future

    def close(self) -> None:
        """End all children and threads; pending requests get an error."""
        with self._lock:
            self._is_closed = True
        with suppress(queue.Empty):
            while (waiting := self._waiting.get_nowait()) is not None:
                waiting[1].set_exception(_stopping())
        for _ in self._threads:
            self._waiting.put(None)
        # A child that is killed before it has begun is replaced, so this may take two attempts.
        while any(thread.is_alive() for thread in self._threads):
            for pool in tuple(self._pools.values()):
                pool.interrupt()
            for thread in self._threads:
                thread.join(_RETRY_SECONDS)

    def _start_threads(self) -> None:
        with self._lock:
            if self._is_closed:
                raise _stopping()
            while len(self._threads) < THREADS:
                name = f"probe-{len(self._threads)}"
                thread = threading.Thread(target=self._serve, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self) -> None:
        """Serve until `close`, with a child of its own while there is work."""
        while (first := self._waiting.get()) is not None:
            with Pool(TASK, workers=1, limits=LIMITS) as pool:
                wanted: Wanted | None = first
                with self._lock:
                    self._pools[threading.get_ident()] = pool
                while wanted is not None:
                    _answer(pool, *wanted)
                    wanted = self._next()
                with self._lock:
                    del self._pools[threading.get_ident()]
            if self._is_closed:
                return

    def _next(self) -> Wanted | None:
        """Return the next request; None if none comes for a while, or no more will."""
        try:
            return self._waiting.get(timeout=self._idle_seconds)
        except queue.Empty:
            return None


def _answer(pool: Pool, request: Mapping[str, Any], future: Future[dict[str, Any]]) -> None:
    try:
        ((_, outcome),) = pool.run([(None, request)])
    except Exception as problem:  # noqa: BLE001 - it is for the caller
        future.set_exception(problem)
        return
    if isinstance(outcome, Failure):
        future.set_exception(UnreadableAudioError(outcome.reason))
    else:
        future.set_result(outcome.value)


def _stopping() -> BusyError:
    return BusyError("the server must be running to look into a file, but it is about to stop")
