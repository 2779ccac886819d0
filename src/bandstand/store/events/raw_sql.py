"""Statements that go straight to the driver, for the few places where every microsecond counts.

SQLAlchemy costs some 40 µs a statement, SQLite itself 2. What goes wrong becomes the same error as
everywhere else.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection
    from sqlalchemy.engine.interfaces import DBAPICursor

_PARAMETER_IN: Final = {"sqlite": ":{}", "postgresql": "%({})s"}


class _Parameters:
    """What `str.format_map` puts for {name} in a statement."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def __getitem__(self, name: str) -> str:
        return self._pattern.format(name)


def statement_for(database: str, statement: str) -> str:
    """Return a statement with its {parameters} as the driver of a database wants them.

    >>> statement_for("postgresql", "SELECT {seq}")
    'SELECT %(seq)s'
    """
    return statement.format_map(_Parameters(_PARAMETER_IN[database]))


@contextmanager
def cursor_of(connection: Connection) -> Iterator[DBAPICursor]:
    """Give the driver's cursor of a connection that is in a transaction."""
    dbapi = connection.dialect.loaded_dbapi
    driver = connection.connection
    cursor = driver.cursor()
    try:
        yield cursor
    except dbapi.Error as problem:
        lost = connection.dialect.is_disconnect(problem, driver, cursor)
        raise DBAPIError(None, None, problem, connection_invalidated=lost) from problem
    finally:
        cursor.close()
