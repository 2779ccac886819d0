"""Copies of a SQLite store: atomic, with a checksum, readable for the owner only.

SQLite notices pages that are missing or malformed, but not a changed letter. So a copy has a table
`backup` with a SHA-256 over its tables and all their rows.

Before an upgrade the store is copied to FILE.before-version-N, where N is the first version that
it did not have yet. An older Bandstand can go on with that copy: `bandstand restore`.
"""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from bandstand.errors import StoreError, StoreFullError
from bandstand.store.database.sqlite_file import single_file, sync

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection


FORMAT: Final = 1
TABLE: Final = "backup"

_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name <> ? ORDER BY name"
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> ? ORDER BY name"


def add_checksum(copy: sqlite3.Connection) -> None:
    """Add the checksum to a copy that is complete."""
    digest = _digest(copy)
    copy.execute(f"CREATE TABLE {TABLE} (format BIGINT NOT NULL, digest BLOB NOT NULL)")
    copy.execute(f"INSERT INTO {TABLE} VALUES (?, ?)", (FORMAT, digest))  # noqa: S608


def has_checksum(copy: sqlite3.Connection) -> bool:
    """Return whether a database has a checksum, valid or not."""
    named = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
    return bool(copy.execute(named, (TABLE,)).fetchone()[0])


def matches_checksum(copy: sqlite3.Connection) -> bool:
    """Return whether the content of a copy matches its checksum."""
    rows = copy.execute(f"SELECT format, digest FROM {TABLE}").fetchall()  # noqa: S608
    return rows == [(FORMAT, _digest(copy))]


def remove_checksum(copy: sqlite3.Connection) -> None:
    """Make a store of a copy again."""
    copy.execute(f"DROP TABLE {TABLE}")


def _digest(copy: sqlite3.Connection) -> bytes:
    """Return the digest of the tables, and of their rows in storage order."""
    digest = sha256()
    for row in copy.execute(_SCHEMA, (TABLE,)):
        digest.update(repr(row).encode())
    for (table,) in copy.execute(_TABLES, (TABLE,)).fetchall():
        digest.update(repr(table).encode())
        for row in copy.execute(f'SELECT * FROM "{table}" NOT INDEXED'):  # noqa: S608
            digest.update(repr(row).encode())
    return digest.digest()


_SIDECARS: Final = ("", "-journal", "-wal", "-shm")
_DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def written_beside(target: Path) -> Iterator[Path]:
    """Give the path of a new empty file that replaces `target` at the end of the block.

    If the block raises, `target` stays as it was, and the new file is removed.
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
    """Make `path`, an empty file, a copy, with a checksum, of what a connection to SQLite sees.

    Other connections may write meanwhile. A copy has no sessions.
    """
    source = connection.connection.driver_connection
    assert isinstance(source, sqlite3.Connection)  # noqa: S101
    # The first statement fixes the moment of which this is a copy.
    connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
    with closing(single_file(path)) as copy:
        source.backup(copy)
        finish(copy)


def finish(copy: sqlite3.Connection) -> None:
    """Remove what no copy should have, check that it is sound, and add the checksum."""
    # One file without a log beside it. It is brought to the disk as a whole at the end.
    copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    copy.execute("PRAGMA synchronous = OFF")
    copy.execute("PRAGMA secure_delete = ON")
    if copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'session'").fetchone():
        copy.execute("DELETE FROM session")
    copy.execute("PRAGMA user_version = 0")  # VACUUM does a pending erase (`secure_erase`)
    copy.execute("VACUUM")  # so that it has no deleted rows
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


@contextmanager
def plain_errors(target: Path) -> Iterator[None]:
    """Turn errors of writing a file into one sentence."""
    try:
        yield
    except OSError as problem:
        kind = StoreFullError if problem.errno in _DISK_FULL else StoreError
        msg = f"{target} cannot be written: {problem.strerror or problem}"
        raise kind(msg) from problem
    except sqlite3.Error as problem:
        is_full = getattr(problem, "sqlite_errorname", "") == "SQLITE_FULL"
        msg = f"{target} cannot be written: {'the disk is full' if is_full else problem}"
        raise (StoreFullError if is_full else StoreError)(msg) from problem


class _Overtaken(Exception):  # noqa: N818  # it is no error
    """Another process has upgraded the store already, and has made the copy."""


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
