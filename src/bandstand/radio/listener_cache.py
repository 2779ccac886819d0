"""LRU cache of per-listener state, bounded by bytes.

    cached ledger, or else a snapshot's ─ end of the log ─ ledger
    cached listener, if it still fits ─ ledger ─ listener

Everything in it can be rebuilt from the log. A snapshot of the ledger is written now and then, so
that no long log is read twice.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from bandstand.errors import NotFoundError
from bandstand.music.catalogue.catalogue import Catalogue
from bandstand.radio.listener_settings import ListenerSettings, settings_of
from bandstand.radio.log import snapshots
from bandstand.radio.log.fold import Ledger
from bandstand.radio.selection.select import RadioListener
from bandstand.store import accounts
from bandstand.store.database.connection import Store

# A play is a row of 48 bytes, and most are of a song of their own with its id.
_BYTES_PER_PLAY: Final = 250
# Of the cache of `taste_of`: a digest and a number.
_BYTES_PER_POINT: Final = 200
# A snapshot is written after this number of events, or this part of all plays: reading fewer again
# takes a millisecond, and a long history is not written again for every few of them.
_SNAPSHOT_EVENTS: Final = 64
_SNAPSHOT_PART: Final = 16


@dataclass(slots=True, eq=False)
class CachedListener:
    """The state of one listener; the holder of `lock` may read and change it."""

    account: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    ledger: Ledger | None = None
    settings: ListenerSettings = field(default_factory=ListenerSettings)
    seed: int = 0
    listener: RadioListener | None = None
    # `listener` as it was, and rebuilt for the next answer; until then it stays as it is.
    rebuilt: tuple[RadioListener, RadioListener] | None = None
    saved: int = 0  # the last event in the newest snapshot
    known: dict[bytes, float] = field(default_factory=dict)  # the cache of `taste_of`
    nbytes: int = 0  # as counted by the cache

    def size(self) -> int:
        """Return about how much is kept, in bytes."""
        plays = 0 if self.ledger is None else len(self.ledger.plays)
        listener = 0 if self.listener is None else self.listener.nbytes
        if self.rebuilt is not None and self.rebuilt[0] is not self.rebuilt[1]:
            listener += self.rebuilt[1].nbytes
        return listener + _BYTES_PER_PLAY * plays + _BYTES_PER_POINT * len(self.known)

    def load_state(self, store: Store, write: Callable[..., object]) -> Ledger:
        """Read settings, seed and the end of the log; `write` is that of the radio."""
        with store.reading() as connection:
            account = accounts.get(connection, self.account)
            if account is None:
                msg = "there must be an account with that id, got one that is gone"
                raise NotFoundError(msg)
            self.seed = account.seed
            self.settings = settings_of(connection, self.account)
            if self.ledger is None:
                ledger, self.saved = snapshots.load(connection, self.account)
            else:
                ledger = snapshots.catch_up(connection, self.account, self.ledger)
        self.ledger = ledger
        if ledger.seq - self.saved >= max(_SNAPSHOT_EVENTS, len(ledger.plays) // _SNAPSHOT_PART):
            self.saved = ledger.seq
            write(lambda to: snapshots.save(to, account.id, ledger), order=account.id)
        return ledger

    def follow(self, ledger: Ledger, catalogue: Catalogue) -> RadioListener:
        """Return the listener as of this ledger, the settings and the songs."""
        settings, known = self.settings, self.listener
        if known is not None and ledger is not known.ledger:
            # Not before: two questions without an event between them have the same answer, to
            # the last digit.
            if self.rebuilt is not None and self.rebuilt[0] is known:
                known = self.rebuilt[1]
            self.rebuilt = None
        made_for = None if known is None else (known.algorithm, known.reader.intercept)
        found = None
        if known is not None and made_for == (settings.algorithm, settings.intercept):
            is_same = known.catalogue is catalogue
            found = known.follow(ledger) if is_same else known.migrated(catalogue, ledger)
        if found is None:
            found = RadioListener.load(
                catalogue,
                ledger,
                algorithm=settings.algorithm,
                intercept=settings.intercept,
                seed=self.seed,
            )
        self.keep(found)
        return found

    def keep(self, listener: RadioListener | None) -> None:
        """Keep this listener, and nothing that was rebuilt from another one."""
        self.listener = listener
        if self.rebuilt is not None and self.rebuilt[0] is not listener:
            self.rebuilt = None

    def migrate(self, catalogue: Catalogue) -> None:
        """Move to the songs of today.

        Otherwise each listener who asks no more would keep an old catalogue alive.
        """
        with self.lock:  # waits for requests that began with the catalogue before
            listener = self.listener
        if listener is None or listener.catalogue is catalogue:
            return
        moved = listener.migrated(catalogue, listener.ledger)
        with self.lock:
            if self.listener is listener:
                self.keep(moved)  # None where it is loaded again, at the next question

    def rebuild(self) -> None:
        """Rebuild the listener for more answers; the lock is held only to keep the outcome."""
        listener = self.listener
        if listener is None or self.is_rebuilt(listener):
            return
        rebuilt = listener.rebuilt()
        with self.lock:
            if self.listener is listener:  # or else it is rebuilt after the next question
                self.rebuilt = (listener, rebuilt)

    def is_rebuilt(self, listener: RadioListener) -> bool:
        """Return whether a listener has been rebuilt."""
        rebuilt = self.rebuilt  # read once: the worker asks without the lock
        return rebuilt is not None and rebuilt[0] is listener


class ListenerCache:
    """Listeners that together hold at most `max_bytes`, or one; to be shared by threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._listeners: OrderedDict[str, CachedListener] = OrderedDict()
        self._nbytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._listeners)

    @property
    def nbytes(self) -> int:
        """The size of all listeners."""
        return self._nbytes

    @contextmanager
    def locked(self, account: str) -> Iterator[CachedListener]:
        """Give the listener to one thread at a time."""
        with self._lock:
            cached = self._listeners.setdefault(account, CachedListener(account))
            self._listeners.move_to_end(account)
        with cached.lock:
            try:
                yield cached
            finally:  # also when a question fails: what was learned for it is kept
                self._count(cached)

    def all(self) -> list[CachedListener]:
        """Return all listeners, the latest first."""
        with self._lock:
            return list(reversed(self._listeners.values()))

    def get(self, account: str) -> CachedListener | None:
        """Return a listener if there is one; it does not count as a use."""
        with self._lock:
            return self._listeners.get(account)

    def recount(self, cached: CachedListener) -> None:
        """Count the bytes of a listener that has changed; the caller must not hold its lock."""
        with cached.lock:
            self._count(cached)

    def drop(self, account: str) -> None:
        """Forget a listener."""
        with self._lock:
            cached = self._listeners.pop(account, None)
            self._nbytes -= 0 if cached is None else cached.nbytes

    def _count(self, cached: CachedListener) -> None:
        """Count a listener's bytes, and evict others; a thread that holds one goes on with it."""
        nbytes = cached.size()
        with self._lock:
            if self._listeners.get(cached.account) is not cached:
                return  # it was dropped meanwhile, and counts no more
            self._nbytes += nbytes - cached.nbytes
            cached.nbytes = nbytes
            while self._nbytes > self._max_bytes and len(self._listeners) > 1:
                _, quiet = self._listeners.popitem(last=False)
                self._nbytes -= quiet.nbytes
