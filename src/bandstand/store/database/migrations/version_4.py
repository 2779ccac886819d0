"""Version 4: records which songs have changed since when, so that a reader needs only these.

Changes before this step are unknown. Derived data that relies on it (the catalogue's matrix, since
its second format) is made after this step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand.store.database.migrations._dialects import run

if TYPE_CHECKING:
    from sqlalchemy import Connection

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
    run(connection, _TABLES)
