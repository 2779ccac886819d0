"""Backups of a store in use: one SQLite file, from either database.

It holds everything that was acknowledged before the copy began: songs, accounts with the hashes of
their passwords, settings, logs, playlists and studies, but no sessions. It is readable for its
owner only, has a checksum (`sqlite_copy`), and appears under its name when it is complete.
"""

from __future__ import annotations

import os
import secrets
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import delete, func, insert, select, update

from bandstand.errors import ConflictError, InvalidInputError, StoreError
from bandstand.store.database.connection import open_store
from bandstand.store.database.location import SqliteLocation
from bandstand.store.database.queries import ROWS_PER_STATEMENT
from bandstand.store.database.schema import (
    ACCOUNT,
    FILE,
    METADATA,
    PROJECTION,
    SCAN,
    SCHEMA_VERSION,
    SESSION,
    SONG,
    STORE,
    STUDY,
)
from bandstand.store.database.sqlite_copy import copy_sqlite, finish, written_beside
from bandstand.store.database.sqlite_file import is_database, single_file

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store
    from bandstand.store.database.location import Location


# Every store has its own versions, and sessions are not copied.
_LEFT_OUT: Final = frozenset({SCHEMA_VERSION.name, SESSION.name})


def check_empty(connection: Connection, location: Location) -> None:
    """Refuse a store that holds songs, scans, people or studies: nothing is ever mixed into it."""
    for table in (SONG, FILE, SCAN, PROJECTION, ACCOUNT, STUDY):
        if connection.execute(select(table).limit(1)).first() is not None:
            msg = f"the store {location} must be empty, got one with rows of {table.name}"
            raise ConflictError(msg)


def copy_rows(source: Connection, target: Connection) -> None:
    """Copy everything but sessions into a store that is empty."""
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


def give_new_id(connection: Connection) -> None:
    """Give a store a new id.

    So data derived from the songs that it had, such as the catalogue's matrix, is stale; otherwise
    it would seem to fit as soon as the count of song changes is the same again.
    """
    connection.execute(update(STORE).values(id=secrets.token_hex(16)))


def backup(store: Store, target: Path, *, replace: bool = False) -> None:
    """Make `target` a backup of a store; ConflictError if there is a file and no `replace`."""
    place = Path(os.path.abspath(target))  # noqa: PTH100  # links stay as they are
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
