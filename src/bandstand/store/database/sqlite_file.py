"""The file of a SQLite store: permissions, application id, journal, version of SQLite."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import DBAPIError

from bandstand.errors import StoreError
from bandstand.store.database.failures import is_busy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection, Engine

# "BAND" in the file's header identifies a Bandstand store, also to the program `file`.
APPLICATION_ID: Final = 0x42414E44

_HEADER: Final = b"SQLite format 3\0"
_MIN_DATABASE_BYTES: Final = 512  # one page
# Older SQLites that have the fix of 3.51.3 too.
_FIXED_VERSIONS: Final = ((3, 50, 7), (3, 44, 6))
_RETRY_SECONDS: Final = 0.02
# Instructions of SQLite's virtual machine between two calls of `should_stop`.
_PROGRESS_STEPS: Final = 10_000


def ensure_file(path: Path) -> None:
    """Make an empty file for a store where there is none, and the folders that lead to it.

    An existing file is left alone, and not even opened: to close it again would take away the
    locks that SQLite holds on it elsewhere in this process.
    """
    try:
        _make_folder(path.parent)
        _make_file(path)
        status = path.stat()
    except OSError as problem:
        msg = f"the store {path} cannot be opened: {problem.strerror}"
        raise StoreError(msg) from problem
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "something else"
        msg = f"the store {path} must be a file, got {kind}"
        raise StoreError(msg)
    # SQLite takes a file of one byte for an empty one.
    if 0 < status.st_size < _MIN_DATABASE_BYTES:
        msg = f"the store {path} must be a Bandstand store, got a file that is no SQLite database"
        raise StoreError(msg)


def is_foreign(connection: Connection) -> bool:
    """Return whether another program made this database."""
    number = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
    if number != 0:
        return bool(number != APPLICATION_ID)
    count = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
    return bool(count > 0)


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it for their owner only, where they are missing."""
    if not folder.exists():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _make_file(path: Path) -> None:
    try:
        # SQLite gives the files that it puts beside this one the same permissions.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    # So that a power cut does not take the name of the file away again.
    sync(path.parent)


def sync(place: Path) -> None:
    """Sync a file, or the names in a folder, to the disk."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_database(path: Path) -> bool:
    """Return whether a file begins as a SQLite database does, and is as long as a page."""
    with path.open("rb") as file:
        return file.read(len(_HEADER)) == _HEADER and path.stat().st_size >= _MIN_DATABASE_BYTES


def sqlite_warning(version: str = sqlite3.sqlite_version) -> str | None:
    """Return a warning about a version of SQLite; None if it needs none.

    >>> sqlite_warning("3.51.3") is None
    True
    """
    numbers = tuple(int(part) for part in version.split("."))
    if numbers >= (3, 51, 3) or any(old <= numbers < (*old[:2], 99) for old in _FIXED_VERSIONS):
        return None
    return (
        f"SQLite {version} has the WAL-reset bug, which can damage a database that two connections "
        "checkpoint at once. Bandstand is safe by its shape, since only its one writer does so; "
        "let no other program write to the store. SQLite 3.51.3 or newer is without it."
    )


def use_write_ahead_log(engine: Engine, *, wait: float) -> str:
    """Switch a SQLite file to a write-ahead log; return the kind of journal that it has now.

    That is "wal" unless its disk cannot. SQLite's own timeout does not apply here, so this waits
    for other writers itself.
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
        time.sleep(_RETRY_SECONDS)


def single_file(path: Path, *, wait: float = 0) -> sqlite3.Connection:
    """Return a connection to a SQLite file that no other program uses, such as a copy.

    Each statement is a transaction of its own.
    """
    return sqlite3.connect(path, isolation_level=None, timeout=wait)


def rewrite_file(engine: Engine, *, should_stop: Callable[[], bool]) -> None:
    """Run VACUUM, so that the file holds nothing but its rows.

    Others can read meanwhile, and wait to write. It takes about as long as copying the file. When
    `should_stop` says so it ends with an error, and the file is as it was.
    """
    with _driver(engine) as driver:
        driver.set_progress_handler(should_stop, _PROGRESS_STEPS)
        try:
            driver.execute("VACUUM")
        finally:
            driver.set_progress_handler(None, 0)


def empty_log(engine: Engine, *, wait: float) -> bool:
    """Empty the write-ahead log; return False if a reader still needs it after `wait` seconds.

    No other connection can write meanwhile.
    """
    with _driver(engine) as driver:
        ((before,),) = driver.execute("PRAGMA busy_timeout").fetchall()
        driver.execute(f"PRAGMA busy_timeout = {round(wait * 1000)}")
        try:
            ((busy, _pages, _moved),) = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            driver.execute(f"PRAGMA busy_timeout = {before}")
    return not busy


@contextmanager
def _driver(engine: Engine) -> Iterator[sqlite3.Connection]:
    connection = engine.raw_connection()
    try:
        driver = connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)  # noqa: S101
        yield driver
    finally:
        connection.close()


def header_number(connection: Connection) -> int:
    """Return the user version in the header of a SQLite file; 0 in a new one."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def set_header_number(connection: Connection, number: int) -> None:
    """Put a user version into the header of a SQLite file, as a part of the transaction."""
    connection.exec_driver_sql(f"PRAGMA user_version = {number}")


def clear_number(engine: Engine, number: int) -> int:
    """Put 0 in place of `number` in the header; return the number that is there now."""
    with engine.begin() as connection:
        now = header_number(connection)
        if now != number:
            return now
        set_header_number(connection, 0)
        return 0
