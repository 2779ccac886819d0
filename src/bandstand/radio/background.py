"""Threads behind the radio: a worker for the next requests, and a poller for changed songs.

    worker = BackgroundWorker(work)   # work(account) is called on its thread, one at a time
    worker.submit(account)            # once, however often it is asked for meanwhile

Nothing depends on the worker: a request that comes sooner does the work itself.

    watcher = CatalogueWatcher(store, known=lambda: radio.catalogue, on_change=radio.refresh)

Several servers may share a store, and `bandstand scan` may run beside them. A scan refreshes the
radio of its own process; the others learn of it here, by one short query every few seconds. After
a change the watcher rests long enough to leave nearly all of the time for listeners.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from bandstand.errors import BandstandError
from bandstand.music.catalogue.catalogue import Catalogue
from bandstand.store.database.connection import Store
from bandstand.store.songs import changes as song_changes
from bandstand.store.songs import projections
from bandstand.store.songs.changes import identity

# Beyond this number of waiting listeners, the work would come too late.
MAX_WAITING: Final = 256
POLL_SECONDS: Final = 5.0  # seconds
_MAX_SHARE: Final = 20  # at most one part in this number of the time is spent on changes
LOG_WORKER: Final = logging.getLogger("bandstand.background")
LOG_WATCHER: Final = logging.getLogger("bandstand.watching")


class BackgroundWorker:
    """A thread that works for listeners until `close`."""

    def __init__(self, work: Callable[[str], None]) -> None:
        self._work = work
        self._waiting: set[str] = set()
        self._is_closed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="bandstand.background")

    def submit(self, account: str) -> None:
        """Work for a listener when there is time."""
        if account in self._waiting or len(self._waiting) >= MAX_WAITING or self._is_closed:
            return
        self._waiting.add(account)
        with suppress(RuntimeError):  # it was closed just now
            self._thread.submit(self._run, account)

    def wait(self) -> None:
        """Return when all submitted work is done."""
        with suppress(RuntimeError, CancelledError):  # it is closed, and does no more
            self._thread.submit(int).result()

    def close(self) -> None:
        """Finish the current work, drop the rest, and end; closing twice does no harm."""
        self._is_closed = True
        self._thread.shutdown(cancel_futures=True)

    def _run(self, account: str) -> None:
        self._waiting.discard(account)
        try:
            self._work(account)
        except Exception:
            # It was for the sake of speed alone: the next request meets the problem itself.
            LOG_WORKER.exception("the work for a listener failed")


class CatalogueWatcher:
    """A thread that polls a store for changed songs until `close`.

    `known` gives the catalogue that is played from; while a thread of this process `is_busy` with
    changing the songs, there is no poll.
    """

    def __init__(
        self,
        store: Store,
        *,
        known: Callable[[], Catalogue],
        on_change: Callable[[], None],
        is_busy: Callable[[], bool] = lambda: False,
        every: float = POLL_SECONDS,
    ) -> None:
        self._store = store
        self._known, self._on_change, self._is_busy = known, on_change, is_busy
        self._every = every
        self._seen: tuple[object, ...] | None = None  # the last state that was acted on
        self._closing = threading.Event()
        # As a daemon it does not keep a process alive that forgot to close it.
        self._thread = threading.Thread(target=self._run, name="bandstand-watching", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Finish the current poll, and end; closing twice does no harm."""
        self._closing.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        pause = self._every
        while not self._closing.wait(pause):
            began = time.monotonic()
            try:
                self._poll()
            except BandstandError as problem:
                # A store that is gone comes back; requests meanwhile meet the problem themselves.
                LOG_WATCHER.warning("songs that others have changed are not noticed: %s", problem)
            except Exception:
                LOG_WATCHER.exception("songs that others have changed are not noticed")
            pause = max(self._every, _MAX_SHARE * (time.monotonic() - began))

    def _poll(self) -> None:
        if self._is_busy():
            return
        with self._store.reading() as connection:
            stored = (
                identity(connection).song_changes,
                projections.latest_version(connection),
                song_changes.latest(connection),
            )
        catalogue = self._known()
        stamp = catalogue.stamp
        known = (stamp.get("song_changes"), stamp.get("projection"), catalogue.changes)
        if stored not in {self._seen, known}:
            self._on_change()
        self._seen = stored
