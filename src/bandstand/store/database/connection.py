"""Opening a store, reading from it and writing to it.

    with open_store("music.db") as store, store.writing() as connection:
        …

What happens inside one `writing()` happens as a whole or not at all, and is on the disk when the
block ends; what is read inside one `reading()` is the state of one moment. Every error of the
database becomes a StoreError with one sentence.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

from sqlalchemy.exc import SQLAlchemyError

from bandstand.errors import StoreError
from bandstand.store.database import migrate as migrations
from bandstand.store.database import secure_erase
from bandstand.store.database.engines import (
    Engines,
    limited,
    postgres_engines,
    sqlite_engines,
)
from bandstand.store.database.failures import locked, store_error
from bandstand.store.database.fair_lock import FairLock
from bandstand.store.database.location import Location, SqliteLocation, parse_location
from bandstand.store.database.serving_lock import is_served_elsewhere, is_served_here
from bandstand.store.database.sqlite_copy import keep_copy
from bandstand.store.database.sqlite_file import ensure_file, use_write_ahead_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from bandstand.store.database.migrate import Migration

# How long another connection may hold the write lock, in seconds.
LOCK_SECONDS: Final = 5.0

# How long one read may take, in seconds, unless the caller says otherwise.
READ_SECONDS: Final = 30.0

# One thread at a time opens a store: see `ensure_file` for what would be lost otherwise.
_opening: Final = threading.Lock()


class Store:
    """A store that is open until `close`, or until the end of its `with` block.

    It may be shared by threads. `open_store` makes one.
    """

    def __init__(self, location: Location, engines: Engines, *, wait: float) -> None:
        self.location: Final = location
        self._engines = engines
        self._wait = wait
        self._closed = False
        self._lock = FairLock()
        self._eraser = secure_erase.SecureEraser(engines.writer)

    def __repr__(self) -> str:
        return f"Store({self.location})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; to close twice does no harm."""
        self._closed = True
        self._eraser.stop()
        self._engines.dispose()

    @contextmanager
    def reading(self, limit: float | None = READ_SECONDS) -> Iterator[Connection]:
        """Give a connection that sees one moment of the store and cannot change it.

        That moment may last `limit` seconds; StoreError after it. None is for long jobs, which
        keep the write-ahead log from becoming shorter.
        """
        self._check_open()
        with (
            self._plain_errors(),
            self._engines.reader.begin() as connection,
            limited(connection, self.location, limit),
        ):
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose changes are kept as a whole, unless the block raises."""
        self._check_open()
        with self._plain_errors(), self._turn(), self._engines.writer.begin() as connection:
            before = secure_erase.pending(connection)
            yield connection
            due = secure_erase.pending(connection)
        # The process that serves the file, if there is one, does the erases of other processes.
        self._eraser.after_transaction(due if due != before or self._engines.checkpoints else 0)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait until no other thread of this process writes to a SQLite file."""
        if not isinstance(self.location, SqliteLocation):
            yield
            return
        if not self._lock.acquire(timeout=self._wait):
            raise locked(self.location, wait=self._wait)
        try:
            yield
        finally:
            self._lock.release()

    def use_write_ahead_log(self) -> None:
        """Switch a SQLite file to a write-ahead log, so that readers and a writer do not block."""
        with self._plain_errors():
            journal = use_write_ahead_log(self._engines.writer, wait=self._wait)
        if journal != "wal":
            msg = (
                f"the store {self.location} must be on a disk that allows a write-ahead log, "
                f"got one that keeps the journal {journal!r}: a folder on the network, perhaps"
            )
            raise StoreError(msg)

    def finish_erasing(self) -> None:
        """Finish a secure erase that an earlier process left pending."""
        with self.reading() as connection:
            due = secure_erase.pending(connection)
        self._eraser.after_transaction(due)

    def _check_open(self) -> None:
        if self._closed:
            msg = f"the store {self.location} must be open, got a closed one"
            raise StoreError(msg)

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as problem:
            raise store_error(problem, self.location, wait=self._wait) from problem


def open_store(
    place: str | Location | None = None,
    *,
    wait: float = LOCK_SECONDS,
    steps: Sequence[Migration] = migrations.MIGRATIONS,
    now: int | None = None,
) -> Store:
    """Return the store at `place`, made or brought to the newest version where needed.

    Without a place it is the one in the user's data folder. `wait` is how many seconds
    another connection may hold it before StoreLockedError, `now` the creation time of a new store
    in milliseconds. A file of another program or of a newer Bandstand is left as it is. The
    process that serves the store finishes pending erases (`secure_erase`).
    """
    location = place if not isinstance(place, str | None) else parse_location(place)
    moment = time.time_ns() // 1_000_000 if now is None else now
    with _opening:
        store = Store(location, _engines(location, wait=wait), wait=wait)
        try:
            _prepare(store, steps, moment)
        except BaseException:
            store.close()
            raise
    if isinstance(location, SqliteLocation) and is_served_here(location):
        store.finish_erasing()
    return store


def _engines(location: Location, *, wait: float) -> Engines:
    if isinstance(location, SqliteLocation):
        ensure_file(location.path)
        checkpoints = not is_served_elsewhere(location)
        return sqlite_engines(location.path, wait=wait, checkpoints=checkpoints)
    return postgres_engines(location.url, wait=wait)


def _prepare(store: Store, steps: Sequence[Migration], now: int) -> None:
    with store.reading() as connection:
        version = migrations.recorded_version(connection, str(store.location), steps)
    # Only now is it known to be a Bandstand store that may be changed.
    if isinstance(store.location, SqliteLocation):
        store.use_write_ahead_log()
    if version < steps[-1].version:
        if version > 0 and isinstance(store.location, SqliteLocation):
            with store.reading(limit=None) as connection:
                keep_copy(connection, store.location.path, version)
        migrations.migrate(store, steps, now=now)
