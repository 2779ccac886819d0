"""Engines for reading and for writing, and the time limit of a read.

On SQLite these are two sets of connections. A writer takes the write lock at once (BEGIN
IMMEDIATE), since a transaction that reads first and writes later fails when another connection
wrote in between, however long it waits. Only the writer moves the write-ahead log into the file:
SQLite before 3.51.3 can damage it when two connections do so at once.

On PostgreSQL readers and writers share one pool. A reader sees one moment throughout, as on
SQLite; a writer locks the rows that it is going to change (`songs.changes.claim`).

A reader sees one moment of the store. While it does, nothing written since can leave SQLite's
write-ahead log, and PostgreSQL cannot vacuum. So a read has a time limit: later statements are
refused, and a running one is interrupted.
"""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import URL, create_engine, event
from sqlalchemy.exc import DBAPIError

from bandstand.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine.interfaces import DBAPIConnection

    from bandstand.store.database.location import Location


# The size to which SQLite's write-ahead log is cut when it is restarted, in bytes.
MAX_LOG_BYTES: Final = 64 * 2**20

# Instructions of SQLite's virtual machine between two looks at the clock: about a millisecond.
_PROGRESS_STEPS: Final = 100_000
_CANCELLED: Final = "57014"  # PostgreSQL's manual, appendix A
_OPTION: Final = "bandstand_deadline"


class _TooLate(Exception):  # noqa: N818  # becomes a StoreError that names the store
    """A statement came after the time limit."""


def refuse_late_statements(engine: Engine) -> None:
    """Make the connections of an engine refuse statements after the deadline of `limited`."""

    @event.listens_for(engine, "before_cursor_execute")
    def _check(connection: Connection, *_: Any) -> None:
        deadline = connection.get_execution_options().get(_OPTION)
        if deadline is not None and time.monotonic() > deadline:
            raise _TooLate


@contextmanager
def limited(connection: Connection, location: Location, seconds: float | None) -> Iterator[None]:
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
            _sqlite(connection).set_progress_handler(None, 0)


def _interrupt_at(connection: Connection, deadline: float, seconds: float) -> None:
    if connection.dialect.name == "sqlite":
        _sqlite(connection).set_progress_handler(
            lambda: time.monotonic() > deadline, _PROGRESS_STEPS
        )
    else:
        # For each statement until the end of the transaction; 0 would be no limit.
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, round(seconds * 1000))}")


def _sqlite(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101
    return driver


def _is_interruption(cause: BaseException | None) -> bool:
    is_sqlites = getattr(cause, "sqlite_errorname", None) == "SQLITE_INTERRUPT"
    return is_sqlites or getattr(cause, "sqlstate", None) == _CANCELLED


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


def sqlite_engines(path: Path, *, wait: float, checkpoints: bool = True) -> Engines:
    """Return the engines for a SQLite file that exists; it is not touched yet.

    Without `checkpoints` the writer leaves the log to the process that serves the file.
    """
    reader = _sqlite_engine(
        path,
        wait=wait,
        begin="BEGIN DEFERRED",
        pragmas=("query_only = ON", "wal_autocheckpoint = 0"),
    )
    writer = _sqlite_engine(
        path,
        wait=wait,
        begin="BEGIN IMMEDIATE",
        pragmas=(
            "foreign_keys = ON",
            "synchronous = FULL",
            # Deleted rows are overwritten.
            "secure_delete = ON",
            # A log that grew behind a slow reader is cut when it is restarted.
            f"journal_size_limit = {MAX_LOG_BYTES}",
            *(() if checkpoints else ("wal_autocheckpoint = 0",)),
        ),
        pool_size=1,
        max_overflow=0,
    )
    refuse_late_statements(reader)
    return Engines(reader=reader, writer=writer, checkpoints=checkpoints)


def _sqlite_engine(
    path: Path, *, wait: float, begin: str, pragmas: Sequence[str], **options: Any
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


def postgres_engines(url: URL, *, wait: float) -> Engines:
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
    refuse_late_statements(reader)
    return Engines(reader=reader, writer=writer)
