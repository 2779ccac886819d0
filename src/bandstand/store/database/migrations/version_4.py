"""Version 4: which songs have changed since when, so that whoever knows the rest reads only these.

Nothing is known of changes before this step. That does no harm: what is derived from the songs and
counts on it (the catalogue's matrix, since its second format) is made after this step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlalchemy import Connection

# What the two databases call things differently.
_WORDS: Final = {
    "sqlite": {"ordered_text": "TEXT", "side_by_side": "WITHOUT ROWID"},
    "postgresql": {"ordered_text": 'TEXT COLLATE "C"', "side_by_side": ""},
}

_TABLES: Final = (
    """
    CREATE TABLE song_change (
        song_id {ordered_text} NOT NULL PRIMARY KEY REFERENCES song (id),
        number BIGINT NOT NULL,
        note BIGINT NOT NULL
    ) {side_by_side}
    """,
    "CREATE INDEX ix_song_change_number ON song_change (number)",
    "CREATE INDEX ix_song_change_note ON song_change (note)",
)


def apply(connection: Connection, *, now: int) -> None:
    """Make the table; nothing that is there changes."""
    del now
    words = _WORDS[connection.dialect.name]
    for statement in _TABLES:
        connection.exec_driver_sql(statement.format(**words))
