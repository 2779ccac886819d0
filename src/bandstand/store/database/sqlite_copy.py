"""A SQLite store as one more file: whole, sealed, for its owner only, or not there at all."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from bandstand.errors import StoreError, StoreFullError
from bandstand.store.database.backup_checksum import seal
from bandstand.store.database.engines import single_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection

_SIDECARS: Final = ("", "-journal", "-wal", "-shm")
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def written_beside(target: Path) -> Iterator[Path]:
    """Give the path of a new empty file that takes the place of `target` at the end of the block.

    What the block raises leaves `target` as it was, and nothing beside it.
    """
    unfinished = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.unfinished")
    with plain_errors(target):
        os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            yield unfinished
            sync(unfinished)
            unfinished.replace(target)
            sync(target.parent)
        finally:
            for suffix in _SIDECARS:
                with suppress(FileNotFoundError):
                    os.unlink(f"{unfinished}{suffix}")  # noqa: PTH108  # a name of any bytes


def copy_sqlite(connection: Connection, path: Path) -> None:
    """Make `path`, an empty file, a sealed copy of what a connection to SQLite sees.

    Others may go on writing meanwhile. Nobody is logged in in a copy.
    """
    source = connection.connection.driver_connection
    assert isinstance(source, sqlite3.Connection)  # noqa: S101
    # The first statement fixes the moment of which this is a copy.
    connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
    with closing(single_file(path)) as copy:
        source.backup(copy)
        finish(copy)


def finish(copy: sqlite3.Connection) -> None:
    """Take out what no copy should have, see that it is sound, and seal it."""
    # One file without a log beside it. It is brought to the disk as a whole at the end.
    copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    copy.execute("PRAGMA synchronous = OFF")
    copy.execute("PRAGMA secure_delete = ON")
    if copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'session'").fetchone():
        copy.execute("DELETE FROM session")
    copy.execute("PRAGMA user_version = 0")  # what is due in the store (`traces`) is done here
    copy.execute("VACUUM")  # so that nothing of what was removed is in it
    problems = damage(copy)
    if problems:
        msg = f"the store must be sound to be copied, got: {problems[0]}"
        raise StoreError(msg)
    seal(copy)


def damage(copy: sqlite3.Connection) -> list[str]:
    """Return what SQLite finds wrong with a database, in its own words; nothing if it is sound."""
    found = [text for (text,) in copy.execute("PRAGMA integrity_check") if text != "ok"]
    loose = copy.execute("PRAGMA foreign_key_check").fetchall()
    found += [
        f"a row of {table} refers to a {parent} that is not there" for table, _, parent, _ in loose
    ]
    return [" ".join(text.split()) for text in found]


def sync(place: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def plain_errors(target: Path) -> Iterator[None]:
    """Say in one sentence why a file could not be written."""
    try:
        yield
    except OSError as problem:
        kind = StoreFullError if problem.errno in _FULL else StoreError
        msg = f"{target} cannot be written: {problem.strerror or problem}"
        raise kind(msg) from problem
    except sqlite3.Error as problem:
        is_full = getattr(problem, "sqlite_errorname", "") == "SQLITE_FULL"
        msg = f"{target} cannot be written: {'the disk is full' if is_full else problem}"
        raise (StoreFullError if is_full else StoreError)(msg) from problem
