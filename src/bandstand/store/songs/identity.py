"""Which store this is, and how often its songs have changed.

What is derived from the songs, such as the catalogue's matrix, notes both and is stale when they
differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from bandstand.store.database.schema import STORE

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A store's own id, random; when it was made; how often its songs have changed."""

    id: str
    created_at: int  # UTC, in milliseconds
    song_changes: int


def identity(connection: Connection) -> Identity:
    """Return which store this is."""
    row = connection.execute(select(STORE)).one()
    return Identity(id=row.id, created_at=row.created_at, song_changes=row.song_changes)


def claim(connection: Connection) -> None:
    """Wait until no other transaction changes songs, files, scans or projections.

    On SQLite nobody else writes anyway; on PostgreSQL this holds until the transaction ends.
    So what is read after it stays true until the writing that depends on it is done.
    """
    connection.execute(select(STORE.c.id).with_for_update())


def note_song_change(connection: Connection) -> None:
    """Note that the set of present songs, or what describes one of them, has changed."""
    connection.execute(update(STORE).values(song_changes=STORE.c.song_changes + 1))
