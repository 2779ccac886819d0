"""A SQLite store as one more file: whole, sealed, for its owner only, or not there at all."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from bandstand.errors import StoreError, StoreFullError
from bandstand.store.database.sqlite_file import single_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection


FORMAT: Final = 1
TABLE: Final = "backup"

_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name <> ? ORDER BY name"
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> ? ORDER BY name"


def add_checksum(copy: sqlite3.Connection) -> None:
    """Put the seal into a copy that is complete."""
    digest = _digest(copy)
    copy.execute(f"CREATE TABLE {TABLE} (format BIGINT NOT NULL, digest BLOB NOT NULL)")
    copy.execute(f"INSERT INTO {TABLE} VALUES (?, ?)", (FORMAT, digest))  # noqa: S608


def has_checksum(copy: sqlite3.Connection) -> bool:
    """Return whether a database has a seal, be it the right one or not."""
    named = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
    return bool(copy.execute(named, (TABLE,)).fetchone()[0])


def matches_checksum(copy: sqlite3.Connection) -> bool:
    """Return whether the content of a copy is what it was when it was sealed."""
    rows = copy.execute(f"SELECT format, digest FROM {TABLE}").fetchall()  # noqa: S608
    return rows == [(FORMAT, _digest(copy))]


def remove_checksum(copy: sqlite3.Connection) -> None:
    """Make a store of a copy again."""
    copy.execute(f"DROP TABLE {TABLE}")


def _digest(copy: sqlite3.Connection) -> bytes:
    """Return the digest of the tables, and of their rows in the order in which they lie there."""
    digest = sha256()
    for row in copy.execute(_SCHEMA, (TABLE,)):
        digest.update(repr(row).encode())
    for (table,) in copy.execute(_TABLES, (TABLE,)).fetchall():
        digest.update(repr(table).encode())
        for row in copy.execute(f'SELECT * FROM "{table}" NOT INDEXED'):  # noqa: S608
            digest.update(repr(row).encode())
    return digest.digest()


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
    add_checksum(copy)


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


class _Overtaken(Exception):  # noqa: N818  # it is no error
    """Somebody else has brought the store up already, and has made the copy."""


def copy_place(path: Path, version: int) -> Path:
    """Return where the copy of a store goes that has this version and is to get the next.

    >>> from pathlib import Path
    >>> print(copy_place(Path("radio.db"), 1))
    radio.db.before-version-2
    """
    return path.with_name(f"{path.name}.before-version-{version + 1}")


def keep_copy(connection: Connection, path: Path, version: int) -> None:
    """Copy the SQLite store at `path`, which had this version a moment ago."""
    with suppress(_Overtaken), written_beside(copy_place(path, version)) as unfinished:
        copy_sqlite(connection, unfinished)
        _check_version(unfinished, version)


def _check_version(path: Path, version: int) -> None:
    with closing(single_file(path)) as copy:
        ((found,),) = copy.execute("SELECT max(version) FROM schema_version").fetchall()
    if found != version:
        raise _Overtaken
