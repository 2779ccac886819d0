"""Opening a store, reading from it and writing to it.

    with open_store("music.db") as store, store.writing() as connection:
        …

What happens inside one `writing()` happens as a whole or not at all, and is on the disk when the
block ends; what is read inside one `reading()` is the state of one moment. Every error of the
database becomes a StoreError with one sentence.

On SQLite readers and the writer have connections of their own. The writer takes the write lock at
once (BEGIN IMMEDIATE), since a transaction that reads first and writes later fails when another
connection wrote in between, however long it waits. Only the writer moves the write-ahead log into
the file: SQLite before 3.51.3 can damage it when two connections do so at once. On PostgreSQL
readers and writers share one pool; a writer locks the rows that it is going to change
(`songs.changes.claim`).

While a reader sees one moment, nothing written since can leave SQLite's write-ahead log, and
PostgreSQL cannot vacuum. So a read has a time limit: later statements are refused, and a running
one is interrupted.
"""

import math
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from bandstand.errors import StoreError
from bandstand.store.database import migrations, secure_erase
from bandstand.store.database.failures import locked, store_error
from bandstand.store.database.location import Location, SqliteLocation, parse_location
from bandstand.store.database.migrations import Migration
from bandstand.store.database.serving_lock import is_served_elsewhere, is_served_here
from bandstand.store.database.sqlite_file import (
    ensure_file,
    keep_copy,
    use_write_ahead_log,
)

# How long another connection may hold the write lock, in seconds.
LOCK_SECONDS: Final = 5.0

# How long one read may take, in seconds, unless the caller says otherwise.
READ_SECONDS: Final = 30.0

# The size to which SQLite's write-ahead log is cut when it is restarted, in bytes.
MAX_LOG_BYTES: Final = 64 * 2**20

# Instructions of SQLite's virtual machine between two looks at the clock: about a millisecond.
_PROGRESS_STEPS: Final = 100_000
_CANCELLED: Final = "57014"  # PostgreSQL's manual, appendix A
_OPTION: Final = "bandstand_deadline"

# One thread at a time opens a store: see `ensure_file` for what would be lost otherwise.
_opening: Final = threading.Lock()


class FairLock:
    """A first-in, first-out lock between threads.

    SQLAlchemy's pool gives a returned connection to the first thread that asks, most often the one
    that has just returned it: a thread that writes without a pause would keep all others out.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()  # the first place holds the lock

    def acquire(self, *, timeout: float) -> bool:
        """Wait for the lock for at most `timeout` seconds; return whether it was acquired."""
        place, is_acquired = object(), False
        with self._changed:
            self._queue.append(place)
            try:
                is_acquired = self._changed.wait_for(lambda: self._queue[0] is place, timeout)
            finally:  # also when the wait is interrupted: a place left behind would hold the lock
                if not is_acquired:
                    self._queue.remove(place)
                    self._changed.notify_all()
        return is_acquired

    def release(self) -> None:
        """Hand the lock to the thread that has waited longest, if there is one."""
        with self._changed:
            self._queue.popleft()
            self._changed.notify_all()


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """The engines of one database."""

    reader: Engine
    writer: Engine
    # Whether the writer may move SQLite's write-ahead log into the file at any moment.
    checkpoints: bool = True

    def dispose(self) -> None:
        """Close all connections; the writer last, which checkpoints the log."""
        self.reader.dispose()
        self.writer.dispose()


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
            _limited(connection, self.location, limit),
        ):
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose changes are kept as a whole, unless the block raises."""
        self._check_open()
        with self._plain_errors(), self._locked(), self._engines.writer.begin() as connection:
            before = secure_erase.pending(connection)
            yield connection
            due = secure_erase.pending(connection)
        # The process that serves the file, if there is one, does the erases of other processes.
        self._eraser.after_transaction(due if due != before or self._engines.checkpoints else 0)

    @contextmanager
    def _locked(self) -> Iterator[None]:
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
        return _sqlite_engines(location.path, wait=wait, checkpoints=checkpoints)
    return _postgres_engines(location.url, wait=wait)


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
        for step in steps:
            with store.writing() as connection:
                migrations.take_step(connection, str(store.location), step, steps, now=now)


def _sqlite_engines(path: Path, *, wait: float, checkpoints: bool) -> Engines:
    """Return the engines for a SQLite file that exists; it is not touched yet.

    Without `checkpoints` the writer leaves the log to the process that serves the file.
    """
    no_checkpoints = "wal_autocheckpoint = 0"
    reader = _sqlite_engine(path, "BEGIN DEFERRED", ["query_only = ON", no_checkpoints], wait=wait)
    pragmas = [
        "foreign_keys = ON",
        "synchronous = FULL",
        "secure_delete = ON",  # deleted rows are overwritten
        # A log that grew behind a slow reader is cut when it is restarted.
        f"journal_size_limit = {MAX_LOG_BYTES}",
        *(() if checkpoints else (no_checkpoints,)),
    ]
    writer = _sqlite_engine(
        path, "BEGIN IMMEDIATE", pragmas, wait=wait, pool_size=1, max_overflow=0
    )
    _refuse_late_statements(reader)
    return Engines(reader=reader, writer=writer, checkpoints=checkpoints)


def _sqlite_engine(
    path: Path, begin: str, pragmas: Sequence[str], *, wait: float, **options: Any
) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        # `timeout` is SQLite's busy_timeout. Without an isolation level Python's own layer keeps
        # out of transactions, and the one statement that begins them is ours.
        connect_args={"timeout": wait, "isolation_level": None},
        pool_timeout=wait,
        hide_parameters=True,  # stored values belong into no message
        **options,
    )

    @event.listens_for(engine, "connect")
    def _set_up(connection: sqlite3.Connection, _record: object) -> None:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _postgres_engines(url: URL, *, wait: float) -> Engines:
    """Return the engines for a PostgreSQL database; it is not connected yet."""
    if find_spec("psycopg") is None:
        msg = "a PostgreSQL store needs the package psycopg, got none: install bandstand[postgres]"
        raise StoreError(msg)
    defaults = {
        "application_name": "bandstand",
        "client_encoding": "utf8",
        "connect_timeout": max(1, math.ceil(wait)),
    }
    engine = create_engine(
        url,
        connect_args={name: to for name, to in defaults.items() if name not in url.query},
        pool_timeout=wait,
        hide_parameters=True,
        pool_pre_ping=True,  # the server may have been restarted
    )

    @event.listens_for(engine, "connect")
    def _set_up(connection: DBAPIConnection, _record: object) -> None:
        with connection.cursor() as cursor:  # type: ignore[attr-defined]
            # 0 would be no limit.
            cursor.execute(f"SET lock_timeout = {max(1, round(wait * 1000))}")
        connection.commit()

    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    writer = engine.execution_options(isolation_level="READ COMMITTED", postgresql_readonly=False)
    _refuse_late_statements(reader)
    return Engines(reader=reader, writer=writer)


class _TooLate(Exception):  # noqa: N818  # becomes a StoreError that names the store
    """A statement came after the time limit."""


def _refuse_late_statements(engine: Engine) -> None:
    """Make the connections of an engine refuse statements after the deadline of `_limited`."""

    @event.listens_for(engine, "before_cursor_execute")
    def _check(connection: Connection, *_: Any) -> None:
        deadline = connection.get_execution_options().get(_OPTION)
        if deadline is not None and time.monotonic() > deadline:
            raise _TooLate


@contextmanager
def _limited(connection: Connection, location: Location, seconds: float | None) -> Iterator[None]:
    """Limit the use of a connection inside the block to `seconds`; None is no limit."""
    if seconds is None:
        yield
        return
    deadline = time.monotonic() + seconds
    _interrupt_at(connection, deadline, seconds)
    connection.execution_options(**{_OPTION: deadline})
    try:
        yield
    except (DBAPIError, _TooLate) as problem:
        if isinstance(problem, _TooLate) or _is_interruption(problem.orig):
            msg = f"the store {location} must be read within {seconds:g} s at a time, got longer"
            raise StoreError(msg) from None
        raise
    finally:
        connection.execution_options(**{_OPTION: None})
        if connection.dialect.name == "sqlite" and not connection.invalidated:
            connection.connection.set_progress_handler(None, 0)


def _interrupt_at(connection: Connection, deadline: float, seconds: float) -> None:
    if connection.dialect.name == "sqlite":
        connection.connection.set_progress_handler(
            lambda: time.monotonic() > deadline, _PROGRESS_STEPS
        )
    else:
        # For each statement until the end of the transaction; 0 would be no limit.
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, round(seconds * 1000))}")


def _is_interruption(cause: BaseException | None) -> bool:
    is_sqlites = getattr(cause, "sqlite_errorname", None) == "SQLITE_INTERRUPT"
    return is_sqlites or getattr(cause, "sqlstate", None) == _CANCELLED
