"""The two ways into a database: one that may only read, one that may write.

On SQLite these are two sets of connections. Whoever writes holds the write lock from its first
word (BEGIN IMMEDIATE), since a transaction that reads first and writes later fails when somebody
else wrote in between, and no waiting helps. Only the writer moves the write-ahead log into the
file: SQLite before 3.51.3 can damage it when two connections do so at once.

On PostgreSQL readers and writers share one pool. A reader sees one moment throughout, as on
SQLite; a writer claims what it is going to change (`identity.claim`).
"""

from __future__ import annotations

import math
import sqlite3
import time
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import URL, create_engine, event
from sqlalchemy.exc import DBAPIError

from bandstand.errors import StoreError
from bandstand.store.database.failures import is_busy
from bandstand.store.database.limits import refuse_late_statements

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine.interfaces import DBAPIConnection

# Of SQLite's write-ahead log, in bytes, whenever it begins anew.
LARGEST_LOG: Final = 64 * 2**20

# Older SQLites that got the mending of 3.51.3 too.
_MENDED: Final = ((3, 50, 7), (3, 44, 6))

_RETRY_AFTER: Final = 0.02  # seconds

# Of SQLite's machine, between two looks at whether it is enough.
_STEPS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """What gives out connections."""

    reader: Engine
    writer: Engine
    # Whether the writer may move SQLite's write-ahead log into the file at any moment.
    checkpoints: bool = True

    def dispose(self) -> None:
        """Close all connections; the writer last, which tidies up behind all."""
        self.reader.dispose()
        self.writer.dispose()


def sqlite_engines(path: Path, *, wait: float, checkpoints: bool = True) -> Engines:
    """Return the engines for a SQLite file that exists; it is not touched yet.

    Without `checkpoints` the writer leaves its part of the log to another process, which serves
    the file.
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
            # What is removed is overwritten, so that nobody finds it in the file.
            "secure_delete = ON",
            # A log that grew behind a slow reader gives its room back when it begins anew.
            f"journal_size_limit = {LARGEST_LOG}",
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
        hide_parameters=True,  # what somebody stored belongs into no message
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


def sqlite_warning(version: str = sqlite3.sqlite_version) -> str | None:
    """Return what is to be said of a version of SQLite; None if nothing is.

    >>> sqlite_warning("3.51.3") is None
    True
    """
    numbers = tuple(int(part) for part in version.split("."))
    if numbers >= (3, 51, 3) or any(old <= numbers < (*old[:2], 99) for old in _MENDED):
        return None
    return (
        f"SQLite {version} has the WAL-reset bug, which can damage a database that two connections "
        "checkpoint at once. Bandstand is safe by its shape, since only its one writer does so; "
        "let no other program write to the store. SQLite 3.51.3 or newer is without it."
    )


def use_write_ahead_log(engine: Engine, *, wait: float) -> str:
    """Return the kind of journal that a SQLite file has now; "wal" unless its disk cannot.

    SQLite does not wait here for somebody who writes, even where it is told to, so this does.
    """
    statement = "PRAGMA journal_mode = WAL"
    deadline = time.monotonic() + wait
    while True:
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute(statement)
            ((journal,),) = cursor.fetchall()
            return str(journal)
        except engine.dialect.loaded_dbapi.Error as problem:
            if not is_busy(problem) or time.monotonic() > deadline:
                raise DBAPIError(statement, None, problem) from problem
        finally:
            connection.close()
        time.sleep(_RETRY_AFTER)


def rewrite_file(engine: Engine, *, is_enough: Callable[[], bool]) -> None:
    """Write all that a SQLite file holds anew, so that nothing else is in it.

    Others can read meanwhile, and wait to write. It takes about as long as to copy the file. As
    soon as `is_enough` it is given up with an error, and the file is as it was.
    """
    connection = engine.raw_connection()
    try:
        driver = connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)  # noqa: S101
        driver.set_progress_handler(is_enough, _STEPS)
        try:
            driver.execute("VACUUM")
        finally:
            driver.set_progress_handler(None, 0)
    finally:
        connection.close()


def emptied_log(engine: Engine, *, wait: float) -> bool:
    """Return whether the write-ahead log of a SQLite file is empty now.

    False if somebody still reads from it after `wait` seconds, in which nobody can write.
    """
    connection = engine.raw_connection()
    try:
        driver = connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)  # noqa: S101
        ((before,),) = driver.execute("PRAGMA busy_timeout").fetchall()
        driver.execute(f"PRAGMA busy_timeout = {round(wait * 1000)}")
        try:
            ((busy, _pages, _moved),) = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            driver.execute(f"PRAGMA busy_timeout = {before}")
    finally:
        connection.close()
    return not busy


def header_number(connection: Connection) -> int:
    """Return the number that the header of a SQLite file has room for; 0 in a new one."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def set_header_number(connection: Connection, number: int) -> None:
    """Put a number into the header of a SQLite file, as a part of the transaction."""
    connection.exec_driver_sql(f"PRAGMA user_version = {number}")


def cleared_number(engine: Engine, number: int) -> int:
    """Put 0 in place of `number` in the header, and return what is there now: 0, or another."""
    with engine.begin() as connection:
        now = header_number(connection)
        if now != number:
            return now
        set_header_number(connection, 0)
        return 0


def single_file(path: Path, *, wait: float = 0) -> sqlite3.Connection:
    """Return a connection to a SQLite file that nobody else uses: a copy being made or looked at.

    Each statement is a transaction of its own.
    """
    return sqlite3.connect(path, isolation_level=None, timeout=wait)


def postgres_engines(url: URL, *, wait: float) -> Engines:
    """Return the engines for a PostgreSQL database; it is not spoken to yet."""
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
        pool_pre_ping=True,  # a server that was restarted is nobody's error
    )

    @event.listens_for(engine, "connect")
    def _set_up(connection: DBAPIConnection, _record: object) -> None:
        with connection.cursor() as cursor:  # type: ignore[attr-defined]
            # 0 would mean to wait for ever.
            cursor.execute(f"SET lock_timeout = {max(1, round(wait * 1000))}")
        connection.commit()

    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    writer = engine.execution_options(isolation_level="READ COMMITTED", postgresql_readonly=False)
    refuse_late_statements(reader)
    return Engines(reader=reader, writer=writer)
