"""Bring the catalogue up to date while songs are coming in, neither too rarely nor too often."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from bandstand.library import catalogue
from bandstand.store.songs import files, projections
from bandstand.store.songs.changes import identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.radio.clock import Clock
    from bandstand.store.database.connection import Store

_EVERY: Final = 60.0  # seconds, …
_SOONEST: Final = 1.0  # … or sooner, when there are twice as many songs
_SHARE: Final = 20  # at most one part in so many of the time is spent on it
# A projection made at a first look knows few songs. One that stands on fewer than this is fitted
# again at the end of a scan that has found twice as many.
_SETTLED: Final = 2_000


class Refresher:
    """Projects the songs that have come, and then tells whoever plays them."""

    def __init__(self, store: Store, *, clock: Clock, on_refresh: Callable[[], None]) -> None:
        self._store = store
        self._clock = clock
        self._on_refresh = on_refresh
        self._song_changes: int | None = None
        self._ended = time.monotonic()
        self._pause = _EVERY
        self.songs = self.count()

    def count(self) -> int:
        """Return how many songs can be played."""
        with self._store.reading() as connection:
            return files.counts(connection).songs

    def is_time(self, songs: int) -> bool:
        """Return whether to refresh, now that there are so many songs."""
        waited = time.monotonic() - self._ended
        soon = _SOONEST * self._pause / _EVERY
        return waited > self._pause or (songs >= 2 * max(self.songs, 1) and waited > soon)

    def refresh(self, *, is_end: bool = False) -> None:
        """Make the catalogue again if songs have come or gone; at the end of a scan tell anyway.

        At the end, since what a song is called may have changed, which the catalogue does not hold.
        """
        began = time.monotonic()
        with self._store.reading() as connection:
            changes = identity(connection).song_changes
            fitted = projections.latest(connection)
        self.songs = self.count()
        is_outgrown = fitted is not None and 2 * fitted.songs <= self.songs
        is_settled = fitted is not None and fitted.songs >= _SETTLED
        if changes != self._song_changes or is_end:
            refit = is_end and is_outgrown and not is_settled
            catalogue.refreshed(self._store, now=self._clock(), refit=refit)
            self._on_refresh()
        self._song_changes = changes
        self._ended = time.monotonic()
        self._pause = max(_EVERY, _SHARE * (self._ended - began))
