"""Which error of a database is which of ours."""

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
    ("kind", "names"),
    [
        (StoreFullError, ["FULL", "IOERR_SHMSIZE"]),
        (StoreFailedError, ["IOERR", "IOERR_FSYNC", "IOERR_WRITE", "IOERR_READ"]),
        (StoreLockedError, ["BUSY", "BUSY_SNAPSHOT"]),
        (StoreError, ["CORRUPT", "READONLY", "CONSTRAINT_CHECK"]),
    ],
)
def test_what_sqlite_says(kind: type[StoreError], names: list[str]) -> None:
    for name in names:
        cause = sqlite3.OperationalError("it says so")
        cause.sqlite_errorname = f"SQLITE_{name}"
        assert type(error_for(cause)) is kind
        assert len(str(error_for(cause)).splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (StoreFullError, "DiskFull"),
        (StoreFailedError, "IoError SystemError UndefinedFile"),
        (StoreLockedError, "LockNotAvailable DeadlockDetected"),
        # A server that is gone comes back.
        (StoreError, "AdminShutdown TooManyConnections OperationalError"),
    ],
)
def test_what_postgresql_says(kind: type[StoreError], names: str) -> None:
    for name in names.split():
        assert type(error_for(getattr(psycopg.errors, name)("it says so"))) is kind
