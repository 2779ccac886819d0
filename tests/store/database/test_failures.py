"""Which error of a database is which of ours."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg.errors
import pytest
from sqlalchemy.exc import DBAPIError

from bandstand.errors import StoreError, StoreFailedError, StoreFullError, StoreLockedError
from bandstand.store.database.failures import store_error
from bandstand.store.database.location import SqliteLocation

PLACE = SqliteLocation(path=Path("/music/radio.db"))


def error_for(cause: BaseException) -> StoreError:
    return store_error(DBAPIError(None, None, cause), PLACE, wait=1)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SQLITE_FULL", StoreFullError),
        ("SQLITE_IOERR_SHMSIZE", StoreFullError),
        ("SQLITE_IOERR", StoreFailedError),
        ("SQLITE_IOERR_FSYNC", StoreFailedError),
        ("SQLITE_IOERR_WRITE", StoreFailedError),
        ("SQLITE_IOERR_READ", StoreFailedError),
        ("SQLITE_BUSY", StoreLockedError),
        ("SQLITE_BUSY_SNAPSHOT", StoreLockedError),
        ("SQLITE_CORRUPT", StoreError),
        ("SQLITE_READONLY", StoreError),
        ("SQLITE_CONSTRAINT_CHECK", StoreError),
    ],
)
def test_what_sqlite_says(name: str, kind: type[StoreError]) -> None:
    cause = sqlite3.OperationalError("it says so")
    cause.sqlite_errorname = name
    assert type(error_for(cause)) is kind
    assert len(str(error_for(cause)).splitlines()) == 1


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (psycopg.errors.DiskFull, StoreFullError),
        (psycopg.errors.IoError, StoreFailedError),
        (psycopg.errors.SystemError, StoreFailedError),
        (psycopg.errors.UndefinedFile, StoreFailedError),
        (psycopg.errors.LockNotAvailable, StoreLockedError),
        (psycopg.errors.DeadlockDetected, StoreLockedError),
        (psycopg.errors.AdminShutdown, StoreError),
        (psycopg.errors.TooManyConnections, StoreError),
        (psycopg.OperationalError, StoreError),  # a server that is gone comes back
    ],
)
def test_what_postgresql_says(cause: type[psycopg.Error], kind: type[StoreError]) -> None:
    assert type(error_for(cause("it says so"))) is kind
