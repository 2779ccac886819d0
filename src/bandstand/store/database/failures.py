"""Errors of a database as one plain sentence."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from bandstand.errors import StoreError, StoreFailedError, StoreFullError, StoreLockedError

if TYPE_CHECKING:
    from sqlalchemy.exc import SQLAlchemyError

    from bandstand.store.database.location import Location

# By the beginning of SQLite's name for the error; the first that fits is meant.
_SQLITE: Final = {
    "SQLITE_FULL": "cannot be written: the disk is full",
    # What lies in memory beside a write-ahead log found no room on the disk.
    "SQLITE_IOERR_SHMSIZE": "cannot be written: the disk is full",
    "SQLITE_READONLY": "cannot be written: the file or its folder is read-only",
    "SQLITE_CANTOPEN": "cannot be opened: the file or its folder may not be read or written",
    "SQLITE_PERM": "cannot be opened: the file or its folder may not be read or written",
    "SQLITE_NOTADB": "must be a Bandstand store, got a file that is no SQLite database",
    "SQLITE_CORRUPT": "is damaged: it can no longer be read as a database",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error",
    "SQLITE_TOOBIG": "cannot hold a value as large as the one given",
}
_SQLITE_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED")
_SQLITE_FULL: Final = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")

# By PostgreSQL's five letters (its manual, appendix A), or by the two of their class.
_POSTGRES: Final = {
    "53100": "cannot be written: the server's disk is full",
    "58": "cannot be read or written: the server's disk reports an error",
    "53300": "cannot be reached: the server has too many connections",
    "42501": "cannot be used: the server does not allow this user to",
    "25006": "cannot be written: the transaction is read-only",
    "57P": "has lost its server, which is shutting down or starting",
}
_POSTGRES_BUSY: Final = ("55P03", "40001", "40P01")
_POSTGRES_FULL: Final = ("53100",)
_MAX_REASON_CHARS: Final = 200


def store_error(problem: SQLAlchemyError, location: Location, *, wait: float) -> StoreError:
    """Return what to raise for `problem`, which came up in the store at `location`."""
    cause = problem.orig if isinstance(problem, DBAPIError) else None
    if isinstance(problem, PoolTimeoutError) or is_busy(cause):
        return locked(location, wait=wait)
    return _kind(cause)(f"the store {location} {_reason(problem, cause)}")


def locked(location: Location, *, wait: float) -> StoreLockedError:
    """Return what to raise when a lock was not given within `wait` seconds."""
    return StoreLockedError(
        f"the store {location} must be free to write to within {wait:g} s, "
        "got no turn: another program is writing to it"
    )


def is_busy(cause: BaseException | None) -> bool:
    """Return whether a database reports that another connection holds a lock."""
    if isinstance(cause, sqlite3.Error):
        return _sqlite_name(cause).startswith(_SQLITE_BUSY)
    return getattr(cause, "sqlstate", None) in _POSTGRES_BUSY


def _kind(cause: BaseException | None) -> type[StoreError]:
    """Return the type of error: a full disk works again later, a failing one does not."""
    if isinstance(cause, sqlite3.Error):
        name = _sqlite_name(cause)
        if name.startswith(_SQLITE_FULL):
            return StoreFullError
        return StoreFailedError if name.startswith("SQLITE_IOERR") else StoreError
    state = getattr(cause, "sqlstate", None) or ""
    if state in _POSTGRES_FULL:
        return StoreFullError
    return StoreFailedError if state.startswith("58") else StoreError


def _reason(problem: SQLAlchemyError, cause: BaseException | None) -> str:
    if isinstance(cause, sqlite3.Error):
        name = _sqlite_name(cause)
        known = (text for start, text in _SQLITE.items() if name.startswith(start))
        return next(known, f"cannot do this: {_one_line(cause)}")
    state = getattr(cause, "sqlstate", None)
    if state is not None:
        known = (text for start, text in _POSTGRES.items() if state.startswith(start))
        return next(known, f"cannot do this: {_one_line(cause)}")
    if isinstance(problem, DBAPIError) and problem.connection_invalidated:
        return f"has lost its server: {_one_line(cause)}"
    if cause is not None:  # the driver never had a server to speak to
        return f"cannot be reached: {_one_line(cause)}"
    return f"cannot do this: {_one_line(problem)}"


def _sqlite_name(cause: sqlite3.Error) -> str:
    # Absent where Python's own layer refuses something before SQLite sees it.
    return getattr(cause, "sqlite_errorname", "")


def _one_line(problem: BaseException | None) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0][:_MAX_REASON_CHARS] if lines else type(problem).__name__
