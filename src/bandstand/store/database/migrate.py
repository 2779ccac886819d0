"""Runs migrations: small steps, each committed together with its own record.

A step that was released is never changed again; a new one is added at the end. Both databases
undo the making of tables with the rest of a transaction, so a process that dies in a step leaves
the version before it. Several processes may open a new store at once: one of them makes it.

The modules of `migrations` have the tables as they were at their step; `schema` describes them as
they are now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from sqlalchemy import func, insert, inspect, select, text

from bandstand.errors import StoreError, StoreVersionError
from bandstand.store.database import sqlite_file
from bandstand.store.database.migrations import version_1, version_2, version_3, version_4
from bandstand.store.database.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store

# Any number will do that other programs in the same PostgreSQL database are unlikely to lock.
_LOCK_NUMBER: Final = 0x42414E4453544E44


class _Apply(Protocol):
    def __call__(self, connection: Connection, *, now: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step, from the version before it to `version`."""

    version: int
    name: str
    apply: _Apply


MIGRATIONS: Final = (
    Migration(version=1, name="songs and files", apply=version_1.apply),
    Migration(version=2, name="accounts and events", apply=version_2.apply),
    Migration(version=3, name="studies", apply=version_3.apply),
    Migration(version=4, name="song changes", apply=version_4.apply),
)


def recorded_version(connection: Connection, place: str, steps: Sequence[Migration]) -> int:
    """Return the version of the store, 0 where there is nothing yet.

    Raises StoreError for another program's database, StoreVersionError for a version of which
    `steps` know nothing. Nothing is changed.
    """
    check = _check_sqlite if connection.dialect.name == "sqlite" else _check_postgres
    check(connection, place)
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return 0
    if not {"schema_version", "store"} <= tables:
        shown = ", ".join(sorted(tables)[:3])
        msg = f"the store {place} must be empty or a Bandstand store, got other tables: {shown}"
        raise StoreError(msg)
    version = connection.scalar(select(func.max(SCHEMA_VERSION.c.version))) or 0
    if version > steps[-1].version:
        msg = (
            f"the store {place} must be of version {steps[-1].version} or older, got version "
            f"{version}: it was made by a newer Bandstand"
        )
        raise StoreVersionError(msg)
    return int(version)


def migrate(store: Store, steps: Sequence[Migration], *, now: int) -> None:
    """Bring a store to the newest version, step by step."""
    for step in steps:
        with store.writing() as connection:
            _wait_for_turn(connection)
            # Another process may have taken this step during the wait.
            if recorded_version(connection, str(store.location), steps) < step.version:
                step.apply(connection, now=now)
                record = {"version": step.version, "name": step.name, "applied_at": now}
                connection.execute(insert(SCHEMA_VERSION).values(record))


def _wait_for_turn(connection: Connection) -> None:
    """On PostgreSQL, wait until no other process migrates; SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_NUMBER})


def _check_sqlite(connection: Connection, place: str) -> None:
    if sqlite_file.is_foreign(connection):
        msg = f"the store {place} must be a Bandstand store, got another program's database"
        raise StoreError(msg)


def _check_postgres(connection: Connection, place: str) -> None:
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        msg = f"the store {place} must be a database with the encoding UTF8, got {encoding}"
        raise StoreError(msg)
    if connection.execute(select(func.current_schema())).scalar_one() is None:
        msg = f"the store {place} must have a schema that exists in its search path, got none"
        raise StoreError(msg)
