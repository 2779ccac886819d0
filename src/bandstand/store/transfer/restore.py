"""Restores a store from a backup.

The backup is only read. It is checked completely before anything else is touched, and replaces the
store atomically; the old store is kept beside it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bandstand.errors import ConflictError, InvalidInputError, StoreLockedError, StoreVersionError
from bandstand.store.database.connection import LOCK_SECONDS, open_store
from bandstand.store.database.failures import is_busy
from bandstand.store.database.location import Location, SqliteLocation
from bandstand.store.database.migrate import MIGRATIONS
from bandstand.store.database.serving_lock import serving_lock
from bandstand.store.database.sqlite_copy import (
    damage,
    has_checksum,
    matches_checksum,
    plain_errors,
    remove_checksum,
    written_beside,
)
from bandstand.store.database.sqlite_file import APPLICATION_ID, is_database, single_file, sync
from bandstand.store.transfer.backup import check_empty, copy_rows, give_new_id

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEWEST: Final = MIGRATIONS[-1].version
_SIDECARS: Final = ("-wal", "-shm", "-journal")


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
        names = [name for (name,) in tables if name not in {"store", "schema_version", "session"}]
        counts = (f'SELECT count(*) FROM "{name}"' for name in names)  # noqa: S608
        return {
            name: copy.execute(statement).fetchone()[0]
            for name, statement in zip(names, counts, strict=True)
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
        give_new_id(target)


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
        copy.execute("UPDATE store SET id = lower(hex(randomblob(16)))")  # see `give_new_id`
        # The first who opens it makes a write-ahead log; until then it is one file.
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
    names = (f"{target.name}.before-restore{suffix}" for suffix in _suffixes())
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


def _suffixes() -> Iterator[str]:
    yield ""
    yield from (f"-{number}" for number in count(2))


def _settled(target: Path) -> tuple[str, ...]:
    """Bring all of a store into its one file, and see that no other program has it open.

    Returns what lies beside it that could not be brought in, since the file is too damaged.
    """
    if not is_database(target):
        return _SIDECARS  # SQLite would take the file for a new one, and remove its log
    try:
        with closing(single_file(target, wait=LOCK_SECONDS)) as old:
            ((journal,),) = old.execute("PRAGMA journal_mode = DELETE").fetchall()
    except sqlite3.Error as problem:
        if is_busy(problem):
            raise _in_use(target) from problem
        return _SIDECARS
    if journal != "delete":
        raise _in_use(target)
    return ()


def _in_use(target: Path) -> StoreLockedError:
    msg = f"the store {target} must not be in use while it is replaced, got a program that uses it"
    return StoreLockedError(msg)
