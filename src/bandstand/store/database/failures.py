"""Errors of a database by what they mean: disk full, locked, damaged, read-only."""

import sqlite3
from typing import Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from bandstand.errors import StoreError, StoreFailedError, StoreFullError, StoreLockedError
from bandstand.store.database.location import Location

# By the beginning of SQLite's name for the error, or of PostgreSQL's five letters (its manual,
# appendix A); the first that fits is meant. A full disk works again later, a failing one does not.
_MEANINGS: Final[dict[str, tuple[type[StoreError], str]]] = {
    "SQLITE_FULL": (StoreFullError, "cannot be written: the disk is full"),
    # The memory map beside a write-ahead log found no room on the disk.
    "SQLITE_IOERR_SHMSIZE": (StoreFullError, "cannot be written: the disk is full"),
    "SQLITE_READONLY": (StoreError, "cannot be written: the file or its folder is read-only"),
    "SQLITE_CANTOPEN": (
        StoreError,
        "cannot be opened: the file or its folder may not be read or written",
    ),
    "SQLITE_PERM": (
        StoreError,
        "cannot be opened: the file or its folder may not be read or written",
    ),
    "SQLITE_NOTADB": (
        StoreError,
        "must be a Bandstand store, got a file that is no SQLite database",
    ),
    "SQLITE_CORRUPT": (StoreError, "is damaged: it can no longer be read as a database"),
    "SQLITE_IOERR": (StoreFailedError, "cannot be read or written: the disk reports an error"),
    "SQLITE_TOOBIG": (StoreError, "cannot hold a value as large as the one given"),
    "53100": (StoreFullError, "cannot be written: the server's disk is full"),
    "58": (StoreFailedError, "cannot be read or written: the server's disk reports an error"),
    "53300": (StoreError, "cannot be reached: the server has too many connections"),
    "42501": (StoreError, "cannot be used: the server does not allow this user to"),
    "25006": (StoreError, "cannot be written: the transaction is read-only"),
    "57P": (StoreError, "has lost its server, which is shutting down or starting"),
}
_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "55P03", "40001", "40P01")
_MAX_REASON_CHARS: Final = 200


def store_error(problem: SQLAlchemyError, location: Location, *, wait: float) -> StoreError:
    """Return what to raise for `problem`, which came up in the store at `location`."""
    cause = problem.orig if isinstance(problem, DBAPIError) else None
    if isinstance(problem, PoolTimeoutError) or is_busy(cause):
        return locked(location, wait=wait)
    code = _code(cause)
    for start, (kind, meaning) in _MEANINGS.items():
        if code.startswith(start):
            return kind(f"the store {location} {meaning}")
    return StoreError(f"the store {location} {_reason(problem, cause)}")


def locked(location: Location, *, wait: float) -> StoreLockedError:
    """Return what to raise when a lock was not given within `wait` seconds."""
    return StoreLockedError(
        f"the store {location} must be free to write to within {wait:g} s, "
        "got no turn: another program is writing to it"
    )


def is_busy(cause: BaseException | None) -> bool:
    """Return whether a database reports that another connection holds a lock."""
    return _code(cause).startswith(_BUSY)


def _code(cause: BaseException | None) -> str:
    """Return a database's own name for an error; empty where only its driver knows of it."""
    return getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or ""


def _reason(problem: SQLAlchemyError, cause: BaseException | None) -> str:
    is_lost = isinstance(problem, DBAPIError) and problem.connection_invalidated
    if cause is None or _code(cause) or isinstance(cause, sqlite3.Error):
        return f"cannot do this: {_one_line(cause or problem)}"
    # Otherwise the driver never had a server to speak to.
    return f"{'has lost its server' if is_lost else 'cannot be reached'}: {_one_line(cause)}"


def _one_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0][:_MAX_REASON_CHARS] if lines else type(problem).__name__
