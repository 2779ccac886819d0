"""Backups of a store in use, and their restoring: one SQLite file, from and to either database.

It holds everything that was acknowledged before the copy began: songs, accounts with the hashes of
their passwords, settings, logs, playlists and studies, but no sessions and no app passwords, which
open accounts. It is readable for its owner only, has a checksum (`sqlite_file`), and appears under
its name when it is complete.

A restore only reads the backup. It checks it completely before anything else is touched, and
replaces the store atomically; the old store is kept beside it.
"""

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, delete, func, insert, select

from bandstand.errors import (
    ConflictError,
    InvalidInputError,
    StoreError,
    StoreLockedError,
    StoreVersionError,
)
from bandstand.store.database.connection import LOCK_SECONDS, Store, open_store
from bandstand.store.database.failures import is_busy
from bandstand.store.database.location import Location, SqliteLocation
from bandstand.store.database.migrations import MIGRATIONS
from bandstand.store.database.schema import (
    ACCOUNT,
    FILE,
    METADATA,
    PROJECTION,
    ROWS_PER_STATEMENT,
    SCAN,
    SCHEMA_VERSION,
    SONG,
    STORE,
    STUDY,
)
from bandstand.store.database.serving_lock import serving_lock
from bandstand.store.database.sqlite_file import (
    APPLICATION_ID,
    OPENING_TABLES,
    copy_sqlite,
    damage,
    finish,
    has_checksum,
    is_database,
    matches_checksum,
    plain_errors,
    remove_checksum,
    single_file,
    sync,
    written_beside,
)

# Every store has its own versions, and what opens an account is not copied.
_LEFT_OUT: Final = frozenset({SCHEMA_VERSION.name, *OPENING_TABLES})
_NEWEST: Final = MIGRATIONS[-1].version
_SIDECARS: Final = ("-wal", "-shm", "-journal")


def check_empty(connection: Connection, location: Location) -> None:
    """Refuse a store that holds songs, scans, people or studies: nothing is ever mixed into it."""
    for table in (SONG, FILE, SCAN, PROJECTION, ACCOUNT, STUDY):
        if connection.execute(select(table).limit(1)).first() is not None:
            msg = f"the store {location} must be empty, got one with rows of {table.name}"
            raise ConflictError(msg)


def copy_rows(source: Connection, target: Connection) -> None:
    """Copy everything but what opens accounts into a store that is empty."""
    target.execute(delete(STORE))
    for table in METADATA.sorted_tables:  # what is referred to comes first
        if table.name in _LEFT_OUT:
            continue
        rows = source.execution_options(yield_per=ROWS_PER_STATEMENT).execute(select(table))
        for some in rows.mappings().partitions():
            target.execute(insert(table), [dict(row) for row in some])


def count_rows(connection: Connection) -> dict[str, int]:
    """Return how many rows each table has, but for those of no consequence."""
    return {
        table.name: connection.scalar(select(func.count()).select_from(table)) or 0
        for table in METADATA.sorted_tables
        if table.name not in _LEFT_OUT and table is not STORE
    }


def backup(store: Store, target: Path, *, replace: bool = False) -> None:
    """Make `target` a backup of a store; ConflictError if there is a file and no `replace`."""
    place = Path(os.path.abspath(target))  # links stay as they are
    _check_target(store, place, replace=replace)
    with written_beside(place) as unfinished:
        if isinstance(store.location, SqliteLocation):
            with store.reading(limit=None) as connection:
                copy_sqlite(connection, unfinished)
        else:
            _copy_rows_to(store, unfinished)


def _copy_rows_to(store: Store, path: Path) -> None:
    location = SqliteLocation(path=path)
    with (
        open_store(location) as copy,
        store.reading(limit=None) as source,
        copy.writing() as target,
    ):
        copy_rows(source, target)
    with closing(single_file(path)) as file:
        finish(file)


def _check_target(store: Store, target: Path, *, replace: bool) -> None:
    if not target.parent.is_dir():
        msg = f"a backup must go into a folder that exists, got {target}"
        raise InvalidInputError(msg)
    if not os.path.lexists(target):
        return
    if not target.is_file():
        msg = f"a backup must be a file, got {target}, which is something else"
        raise InvalidInputError(msg)
    if isinstance(store.location, SqliteLocation) and target.samefile(store.location.path):
        msg = f"a backup must be another file than its store, got {target}"
        raise InvalidInputError(msg)
    if not replace:
        msg = f"a backup must be a new file, got {target}, which exists; --replace writes over it"
        raise ConflictError(msg)
    if target.stat().st_size > 0 and not is_database(target):
        msg = f"a backup can replace an older backup, got {target}, which is no database"
        raise StoreError(msg)


def restore(source: Path, location: Location, *, replace: bool = False) -> Path | None:
    """Make the store at `location` what a backup holds.

    Returns where the store is kept that was there, None where none was. Without `replace` there
    must be none; in PostgreSQL there must be none in any case. Raises StoreLockedError while a
    server uses the store.
    """
    if isinstance(location, SqliteLocation):
        with serving_lock(location):
            return _restore_file(source, location.path, replace=replace)
    _restore_rows(source, location)
    return None


def check_backup(source: Path) -> dict[str, int]:
    """Return how many rows of each kind a backup has.

    Refuses, as `restore` does, a file that is no whole backup, or one of a newer version.
    """
    with _examined_copy(source) as path, closing(single_file(path)) as copy:
        tables = copy.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        names = [name for (name,) in tables if name not in _LEFT_OUT | {STORE.name}]
        return {
            name: copy.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608
            for name in names
        }


def _restore_file(source: Path, target: Path, *, replace: bool) -> Path | None:
    exists = os.path.lexists(target)
    if exists and not target.is_file():
        msg = f"a store must be a file, got {target}, which is something else"
        raise InvalidInputError(msg)
    if exists and not replace:
        msg = f"there must be no store at {target} yet, got one; --replace keeps it beside the new"
        raise ConflictError(msg)
    if exists and source.exists() and source.samefile(target):
        msg = f"a backup must be another file than the store, got {source} for both"
        raise InvalidInputError(msg)
    with written_beside(target) as unfinished:
        _copy_file(source, unfinished)
        _make_store(unfinished, source)
        sync(unfinished)  # here already, so that the old one is not opened after this
        return _kept(target) if exists else None


def _restore_rows(source: Path, location: Location) -> None:
    with (
        _examined_copy(source) as path,
        open_store(SqliteLocation(path=path)) as copy,  # brings an old copy up to date
        open_store(location) as store,
        copy.reading(limit=None) as rows,
        store.writing() as target,
    ):
        check_empty(target, location)
        copy_rows(rows, target)


@contextmanager
def _examined_copy(source: Path) -> Iterator[Path]:
    """Give a file in a folder of its own that was made from a backup that is whole."""
    folder = Path(tempfile.mkdtemp(prefix="bandstand-"))
    try:
        path = folder / "copy.db"
        with plain_errors(path):
            _copy_file(source, path)
            _make_store(path, source)
        yield path
    finally:
        shutil.rmtree(folder)


def _copy_file(source: Path, target: Path) -> None:
    try:
        if not stat.S_ISREG(source.stat().st_mode):
            msg = f"a backup must be a file, got {source}, which is something else"
            raise InvalidInputError(msg)
        is_sqlite = is_database(source)
    except OSError as problem:
        msg = f"a backup must be a file that can be read, got {source}: {problem.strerror}"
        raise InvalidInputError(msg) from problem
    if not is_sqlite:
        msg = f"a backup must be a Bandstand backup, got {source}, which is no SQLite database"
        raise InvalidInputError(msg)
    shutil.copyfile(source, target)
    target.chmod(0o600)


def _make_store(path: Path, source: Path) -> None:
    """Make a store of the copy of a backup, which `source` is called in messages."""
    with closing(single_file(path)) as copy:
        try:
            _check(copy, source)
        except sqlite3.Error as problem:
            msg = f"a backup must be whole, got {source}, which is damaged: {problem}"
            raise InvalidInputError(msg) from problem
        remove_checksum(copy)
        # With a new id data derived from the songs that it had, such as the catalogue's matrix, is
        # stale; otherwise it would seem to fit as soon as the count of song changes is the same.
        copy.execute("UPDATE store SET id = lower(hex(randomblob(16)))")
        # The first to open it makes a write-ahead log; until then it is one file.
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()


def _check(copy: sqlite3.Connection, source: Path) -> None:
    ((mark,),) = copy.execute("PRAGMA application_id").fetchall()
    if mark != APPLICATION_ID:
        msg = f"a backup must be a Bandstand backup, got {source}, another program's database"
        raise InvalidInputError(msg)
    problems = damage(copy)
    if problems:
        msg = f"a backup must be whole, got {source}, which is damaged: {problems[0]}"
        raise InvalidInputError(msg)
    if not has_checksum(copy):
        msg = (
            f"a backup must be made by `bandstand backup`, got {source}, which has no checksum: "
            "a store itself, perhaps, which can be used as it is"
        )
        raise InvalidInputError(msg)
    ((version,),) = copy.execute("SELECT max(version) FROM schema_version").fetchall()
    if version > _NEWEST:
        msg = (
            f"the backup {source} must be of version {_NEWEST} or older, got version {version}: "
            "it was made by a newer Bandstand"
        )
        raise StoreVersionError(msg)
    if not matches_checksum(copy):
        msg = f"a backup must be whole, got {source}, whose content does not fit its checksum"
        raise InvalidInputError(msg)


def _kept(target: Path) -> Path:
    """Return another name under which the store at `target` is found from now on.

    It is the same file until `target` is replaced, so that there is a store at any moment.
    """
    sidecars = _settled(target)
    suffixes = chain([""], (f"-{number}" for number in count(2)))
    names = (f"{target.name}.before-restore{suffix}" for suffix in suffixes)
    kept = next(place for name in names if not os.path.lexists(place := target.with_name(name)))
    try:
        kept.hardlink_to(target)
    except OSError:  # a file system without such names
        shutil.copy2(target, kept)
        sync(kept)
    for suffix in sidecars:
        # Left under their old names, they would be taken for the log of the new file.
        with suppress(FileNotFoundError):
            Path(f"{target}{suffix}").rename(f"{kept}{suffix}")
    sync(target.parent)
    return kept


def _settled(target: Path) -> tuple[str, ...]:
    """Bring all of a store into its one file, and see that no other program has it open.

    Returns what lies beside it that could not be brought in, since the file is too damaged.
    """
    if not is_database(target):
        return _SIDECARS  # SQLite would take the file for a new one, and remove its log
    in_use = (
        f"the store {target} must not be in use while it is replaced, got a program that uses it"
    )
    try:
        with closing(single_file(target, wait=LOCK_SECONDS)) as old:
            ((journal,),) = old.execute("PRAGMA journal_mode = DELETE").fetchall()
    except sqlite3.Error as problem:
        if is_busy(problem):
            raise StoreLockedError(in_use) from problem
        return _SIDECARS
    if journal != "delete":
        raise StoreLockedError(in_use)
    return ()
