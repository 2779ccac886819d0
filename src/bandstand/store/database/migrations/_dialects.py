"""Statements of a step, with the words of either database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

_WORDS: Final = {
    "sqlite": {"bytes": "BLOB", "ordered_text": "TEXT", "side_by_side": "WITHOUT ROWID"},
    "postgresql": {"bytes": "BYTEA", "ordered_text": 'TEXT COLLATE "C"', "side_by_side": ""},
}


def run(connection: Connection, statements: Iterable[str]) -> None:
    """Execute statements, with {bytes}, {ordered_text} and {side_by_side} filled in."""
    words = _WORDS[connection.dialect.name]
    for statement in statements:
        connection.exec_driver_sql(statement.format(**words))
