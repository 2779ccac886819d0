"""The seal of a safety copy: a digest of all that is in it.

SQLite notices pages that are missing or make no sense, but not a letter that has become another.
So a copy carries a table `backup` with a SHA-256 over its tables and all their rows, and is
believed only if they still fit.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3

FORMAT: Final = 1
TABLE: Final = "backup"

_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name <> ? ORDER BY name"
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> ? ORDER BY name"


def seal(copy: sqlite3.Connection) -> None:
    """Put the seal into a copy that is complete."""
    digest = _digest(copy)
    copy.execute(f"CREATE TABLE {TABLE} (format BIGINT NOT NULL, digest BLOB NOT NULL)")
    copy.execute(f"INSERT INTO {TABLE} VALUES (?, ?)", (FORMAT, digest))  # noqa: S608


def is_sealed(copy: sqlite3.Connection) -> bool:
    """Return whether a database has a seal, be it the right one or not."""
    named = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
    return bool(copy.execute(named, (TABLE,)).fetchone()[0])


def is_seal_whole(copy: sqlite3.Connection) -> bool:
    """Return whether the content of a copy is what it was when it was sealed."""
    rows = copy.execute(f"SELECT format, digest FROM {TABLE}").fetchall()  # noqa: S608
    return rows == [(FORMAT, _digest(copy))]


def remove_seal(copy: sqlite3.Connection) -> None:
    """Make a store of a copy again."""
    copy.execute(f"DROP TABLE {TABLE}")


def _digest(copy: sqlite3.Connection) -> bytes:
    """Return the digest of the tables, and of their rows in the order in which they lie there."""
    digest = sha256()
    for row in copy.execute(_SCHEMA, (TABLE,)):
        digest.update(repr(row).encode())
    for (table,) in copy.execute(_TABLES, (TABLE,)).fetchall():
        digest.update(repr(table).encode())
        for row in copy.execute(f'SELECT * FROM "{table}" NOT INDEXED'):  # noqa: S608
            digest.update(repr(row).encode())
    return digest.digest()
