"""How long one look at a store may take.

Who reads sees one moment of the store, and as long as that lasts nothing that was written since
can leave SQLite's write-ahead log, nor can PostgreSQL tidy up. So a look has an end: a statement
that comes later is refused, and one that is running is interrupted.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from bandstand.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

    from bandstand.store.database.location import Location

# About a millisecond of SQLite's work: between two looks at the clock.
_STEPS: Final = 100_000
_CANCELLED: Final = "57014"  # PostgreSQL's manual, appendix A
_OPTION: Final = "bandstand_deadline"


class _TooLate(Exception):  # noqa: N818  # becomes a StoreError that names the store
    """A statement came after the time was over."""


def refuse_late_statements(engine: Engine) -> None:
    """Let the connections of an engine keep to what `limited` says."""

    @event.listens_for(engine, "before_cursor_execute")
    def _check(connection: Connection, *_: Any) -> None:
        deadline = connection.get_execution_options().get(_OPTION)
        if deadline is not None and time.monotonic() > deadline:
            raise _TooLate


@contextmanager
def limited(connection: Connection, location: Location, seconds: float | None) -> Iterator[None]:
    """Let a connection be used for so many seconds inside the block; None is for ever."""
    if seconds is None:
        yield
        return
    deadline = time.monotonic() + seconds
    _interrupt_at(connection, deadline, seconds)
    connection.execution_options(**{_OPTION: deadline})
    try:
        yield
    except (DBAPIError, _TooLate) as problem:
        if isinstance(problem, _TooLate) or _is_interruption(problem.orig):
            msg = f"the store {location} must be read within {seconds:g} s at a time, got longer"
            raise StoreError(msg) from None
        raise
    finally:
        connection.execution_options(**{_OPTION: None})
        if connection.dialect.name == "sqlite" and not connection.invalidated:
            _sqlite(connection).set_progress_handler(None, 0)


def _interrupt_at(connection: Connection, deadline: float, seconds: float) -> None:
    if connection.dialect.name == "sqlite":
        _sqlite(connection).set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
    else:
        # Of one statement, until the end of the transaction; 0 would be for ever.
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, round(seconds * 1000))}")


def _sqlite(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101
    return driver


def _is_interruption(cause: BaseException | None) -> bool:
    is_sqlites = getattr(cause, "sqlite_errorname", None) == "SQLITE_INTERRUPT"
    return is_sqlites or getattr(cause, "sqlstate", None) == _CANCELLED
