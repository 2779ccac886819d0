"""One thread that notices when another process has changed the songs.

    watching = Watching(store, known=lambda: radio.shelf, on_change=radio.refresh)

Several servers may share a store, and `bandstand scan` may run beside them: whoever scans tells
its own radio, and all others find out here. One short look every few seconds; if there is
something new, as much rest after taking notice as leaves nearly all of the time for listeners.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from bandstand.errors import BandstandError
from bandstand.store.songs import changes as song_changes
from bandstand.store.songs import projections
from bandstand.store.songs.changes import identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.store.database.connection import Store

EVERY: Final = 5.0  # seconds
_SHARE: Final = 20  # at most one part in so many of the time is spent on it
LOG: Final = logging.getLogger("bandstand.watching")


class Watching:
    """A thread that looks at a store until `close`.

    `known` gives the shelf that is played from; while somebody of this process `is_busy` with
    changing the songs, nothing is looked at.
    """

    def __init__(
        self,
        store: Store,
        *,
        known: Callable[[], Catalogue],
        on_change: Callable[[], None],
        is_busy: Callable[[], bool] = lambda: False,
        every: float = EVERY,
    ) -> None:
        self._store = store
        self._known, self._on_change, self._is_busy = known, on_change, is_busy
        self._every = every
        self._taken: tuple[object, ...] | None = None  # what was last taken notice of
        self._closing = threading.Event()
        # As a daemon it does not keep a process alive that forgot to close it.
        self._thread = threading.Thread(target=self._run, name="bandstand-watching", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Finish what is being done, and end; to close twice does no harm."""
        self._closing.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        pause = self._every
        while not self._closing.wait(pause):
            began = time.monotonic()
            try:
                self._look()
            except BandstandError as problem:
                # A store that is gone comes back; who asks meanwhile is told by what was asked.
                LOG.warning("songs that others have changed are not noticed: %s", problem)
            except Exception:
                LOG.exception("songs that others have changed are not noticed")
            pause = max(self._every, _SHARE * (time.monotonic() - began))

    def _look(self) -> None:
        if self._is_busy():
            return
        with self._store.reading() as connection:
            changes, version = (
                identity(connection).song_changes,
                projections.latest_version(connection),
            )
            there = (changes, version, song_changes.latest(connection))
        shelf = self._known()
        known = (shelf.stamp.get("song_changes"), shelf.stamp.get("projection"), shelf.changes)
        if there not in {self._taken, known}:
            self._on_change()
        self._taken = there
