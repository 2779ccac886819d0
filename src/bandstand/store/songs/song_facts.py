"""What a shelf has to know of songs, row by row: as little as possible, for there may be a million.

A record of a song is a comfortable value with every tag; making a million of them takes a minute
and a gigabyte. These are plain tuples, read in large pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlalchemy import select

from bandstand.store.database.queries import chunks
from bandstand.store.database.schema import FILE, SONG
from bandstand.store.songs.files import PRESENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from bandstand.store.songs.songs import SongRecord

# id, title, artist, album artist, album, genre, year, MusicBrainz recording, duration in seconds
Facts: TypeAlias = tuple[
    str,
    str | None,
    str | None,
    str | None,
    str | None,
    str | None,
    int | None,
    str | None,
    float,
]

_FACTS: Final = (
    SONG.c.id,
    SONG.c.title,
    SONG.c.artist,
    SONG.c.album_artist,
    SONG.c.album,
    SONG.c.genre,
    SONG.c.year,
    SONG.c.recording_mbid,
    SONG.c.duration,
)
_SELECT: Final = select(*_FACTS).join(FILE, FILE.c.song_id == SONG.c.id).where(PRESENT)
_PAGE: Final = 10_000


def facts(connection: Connection) -> Iterator[Facts]:
    """Yield the facts of all present songs, in the order of their ids."""
    page = _SELECT.order_by(SONG.c.id).limit(_PAGE)
    rows: Any = connection.execute(page).all()
    while rows:
        yield from rows
        if len(rows) < _PAGE:
            return
        rows = connection.execute(page.where(SONG.c.id > rows[-1][0])).all()


def facts_of_some(connection: Connection, ids: Sequence[str]) -> Iterator[Facts]:
    """Yield the facts of those of these songs that are present, in the order of `ids`, rising."""
    for some in chunks(ids):
        rows: Any = connection.execute(_SELECT.where(SONG.c.id.in_(some)).order_by(SONG.c.id))
        yield from rows


def facts_of(record: SongRecord) -> Facts:
    """Return the facts of a song that is known as a record."""
    tags = record.tags
    return (
        record.id,
        tags.title,
        tags.artist,
        tags.album_artist,
        tags.album,
        tags.genre,
        tags.year,
        tags.recording_mbid,
        record.duration,
    )
