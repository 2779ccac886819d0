"""The file of a SQLite store, and its copies.

A copy replaces its target atomically, is readable for the owner only, and has a checksum: SQLite
notices pages that are missing or malformed, but not a changed letter, so a copy has a table
`backup` with a SHA-256 over its tables and all their rows.

Before an upgrade the store is copied to FILE.before-version-N, where N is the first version that
it did not have yet. An older Bandstand can go on with that copy: `bandstand restore`.
"""

import errno
import os
import secrets
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from bandstand.errors import StoreError, StoreFullError
from bandstand.store.database.failures import is_busy

# "BAND" in the file's header identifies a Bandstand store, also to the program `file`.
APPLICATION_ID: Final = 0x42414E44

# What opens an account: no copy of a store has it.
OPENING_TABLES: Final = ("session", "app_password")

_HEADER: Final = b"SQLite format 3\0"
_MIN_DATABASE_BYTES: Final = 512  # one page
# Older SQLites that have the fix of 3.51.3 too.
_FIXED_VERSIONS: Final = ((3, 50, 7), (3, 44, 6))
_RETRY_SECONDS: Final = 0.02

_COPY_FORMAT: Final = 1
_CHECKSUM_TABLE: Final = "backup"
_SIDECARS: Final = ("", "-journal", "-wal", "-shm")
_DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


def ensure_file(path: Path) -> None:
    """Make an empty file for a store where there is none, and the folders that lead to it.

    An existing file is left alone, and not even opened: to close it again would take away the
    locks that SQLite holds on it elsewhere in this process.
    """
    try:
        _make_folder(path.parent)
        with suppress(FileExistsError):
            _make_file(path)
            sync(path.parent)  # so that a power cut does not take the file's name away again
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
    """Make an empty file for its owner only; SQLite gives its sidecars the same permissions."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


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
            return str(connection.execute(statement).fetchall()[0][0])
        except sqlite3.Error as problem:
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


@contextmanager
def written_beside(target: Path) -> Iterator[Path]:
    """Give the path of a new empty file that replaces `target` at the end of the block.

    If the block raises, `target` stays as it was, and the new file is removed.
    """
    unfinished = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.unfinished")
    with plain_errors(target):
        _make_file(unfinished)
        try:
            yield unfinished
            sync(unfinished)
            unfinished.replace(target)
            sync(target.parent)
        finally:
            for suffix in _SIDECARS:
                with suppress(FileNotFoundError):
                    os.unlink(f"{unfinished}{suffix}")  # a name of any bytes


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


def copy_sqlite(connection: Connection, path: Path) -> None:
    """Make `path`, an empty file, a copy, with a checksum, of what a connection to SQLite sees.

    Other connections may write meanwhile. A copy has no sessions and no app passwords.
    """
    # The first statement fixes the moment of which this is a copy.
    connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
    with closing(single_file(path)) as copy:
        connection.connection.backup(copy)
        finish(copy)


def finish(copy: sqlite3.Connection) -> None:
    """Remove what no copy should have, check that it is sound, and add the checksum."""
    # One file without a log beside it. It is brought to the disk as a whole at the end.
    copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    copy.execute("PRAGMA synchronous = OFF")
    copy.execute("PRAGMA secure_delete = ON")
    for table in OPENING_TABLES:
        if copy.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            copy.execute(f"DELETE FROM {table}")  # noqa: S608
    copy.execute("PRAGMA user_version = 0")  # VACUUM does a pending erase (`secure_erase`)
    copy.execute("VACUUM")  # so that it has no deleted rows
    problems = damage(copy)
    if problems:
        msg = f"the store must be sound to be copied, got: {problems[0]}"
        raise StoreError(msg)
    digest = _digest(copy)
    copy.execute(f"CREATE TABLE {_CHECKSUM_TABLE} (format BIGINT NOT NULL, digest BLOB NOT NULL)")
    copy.execute(f"INSERT INTO {_CHECKSUM_TABLE} VALUES (?, ?)", (_COPY_FORMAT, digest))  # noqa: S608


def damage(database: sqlite3.Connection) -> list[str]:
    """Return what SQLite finds wrong with a database, in its own words; nothing if it is sound."""
    found = [text for (text,) in database.execute("PRAGMA integrity_check") if text != "ok"]
    found += [
        f"a row of {table} refers to a {parent} that is not there"
        for table, _row, parent, _key in database.execute("PRAGMA foreign_key_check").fetchall()
    ]
    return [" ".join(text.split()) for text in found]


def has_checksum(copy: sqlite3.Connection) -> bool:
    """Return whether a database has a checksum, valid or not."""
    named = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
    return bool(copy.execute(named, (_CHECKSUM_TABLE,)).fetchone()[0])


def matches_checksum(copy: sqlite3.Connection) -> bool:
    """Return whether the content of a copy matches its checksum."""
    rows = copy.execute(f"SELECT format, digest FROM {_CHECKSUM_TABLE}").fetchall()  # noqa: S608
    return rows == [(_COPY_FORMAT, _digest(copy))]


def remove_checksum(copy: sqlite3.Connection) -> None:
    """Make a store of a copy again."""
    copy.execute(f"DROP TABLE {_CHECKSUM_TABLE}")


def _digest(copy: sqlite3.Connection) -> bytes:
    """Return the digest of the tables, and of their rows in storage order."""
    digest = sha256()
    schema = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name <> ? ORDER BY name"
    described = copy.execute(schema, (_CHECKSUM_TABLE,)).fetchall()
    for row in described:
        digest.update(repr(row).encode())
    for table in [name for kind, name, *_ in described if kind == "table"]:
        digest.update(repr(table).encode())
        for row in copy.execute(f'SELECT * FROM "{table}" NOT INDEXED'):  # noqa: S608
            digest.update(repr(row).encode())
    return digest.digest()


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
        with closing(single_file(unfinished)) as copy:
            ((found,),) = copy.execute("SELECT max(version) FROM schema_version").fetchall()
        if found != version:
            raise _Overtaken
