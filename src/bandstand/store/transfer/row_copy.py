"""All rows of one store, copied into another: between SQLite and PostgreSQL, either way."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from sqlalchemy import delete, func, insert, select, update

from bandstand.errors import ConflictError
from bandstand.store.database.queries import CHUNK
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

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand.store.database.location import Location

# What each store has from its own beginning, and what nobody takes along.
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
        rows = source.execution_options(yield_per=CHUNK).execute(select(table))
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
    """Let a store be another one from now on.

    What was derived from the songs that it had, such as the catalogue's matrix, is then stale;
    otherwise it would seem to fit as soon as the songs have changed as often as they had before.
    """
    connection.execute(update(STORE).values(id=secrets.token_hex(16)))
