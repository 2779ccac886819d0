"""The store's id, and which songs have changed since when.

Data derived from the songs, such as the catalogue's matrix, notes the store's id and its count of
song changes, and is stale when they differ. Each song that is added, removed, analysed again or
renamed is recorded with two numbers, one for each kind of reader:

* `store.song_changes` counts the changes of what a catalogue is made from. A song is noted with
  the number that this count has, or will have, with the next of them. A reader that read all
  songs when the count was n, and later reads those with a number above n, is up to date; some
  songs may come twice.
* Notes are numbered too, including those of new names, which no catalogue holds. A reader that
  read all songs when the `latest` note was n, and later reads those with a note above n, is up to
  date, and no song comes twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, delete, func, insert, literal, select, update

from bandstand.store.database.schema import FILE, SONG_CHANGE, STORE, chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A store's own id, random; when it was made; how often its songs have changed."""

    id: str
    created_at: int  # UTC, in milliseconds
    song_changes: int


def identity(connection: Connection) -> Identity:
    """Return the identity of the store."""
    return Identity(**connection.execute(select(STORE)).mappings().one())


def claim(connection: Connection) -> None:
    """Wait until no other transaction changes songs, files, scans or projections.

    SQLite has one writer at a time anyway; on PostgreSQL the lock holds until the transaction
    ends. What is read after it stays true until then.
    """
    connection.execute(select(STORE.c.id).with_for_update())


def note_song_change(connection: Connection) -> None:
    """Note that the set of present songs, or what describes one of them, has changed."""
    connection.execute(update(STORE).values(song_changes=STORE.c.song_changes + 1))


def note_changes(
    connection: Connection, songs: Sequence[str], *, is_seen_by_catalogue: bool
) -> None:
    """Note that these songs have changed; all of them are in the store by now."""
    numbers = _numbers(connection)
    for some in chunks(sorted(set(songs))):
        connection.execute(delete(SONG_CHANGE).where(SONG_CHANGE.c.song_id.in_(some)))
        connection.execute(insert(SONG_CHANGE), [{"song_id": song, **numbers} for song in some])
    if is_seen_by_catalogue:
        note_song_change(connection)


def note_change_of_files(connection: Connection, which: ColumnElement[bool]) -> None:
    """Note that the songs of these files come or go; to be called before the files change."""
    numbers = _numbers(connection)
    concerned = select(FILE.c.song_id).where(which, FILE.c.song_id.is_not(None))
    connection.execute(delete(SONG_CHANGE).where(SONG_CHANGE.c.song_id.in_(concerned)))
    noted = concerned.add_columns(*map(literal, numbers.values()))
    connection.execute(insert(SONG_CHANGE).from_select(["song_id", *numbers], noted))


def latest(connection: Connection) -> int:
    """Return the number of the last note; 0 while nothing has changed."""
    return connection.scalar(select(func.max(SONG_CHANGE.c.note))) or 0


def since_count(count: int) -> ColumnElement[bool]:
    """Return the condition that a song has changed since `store.song_changes` was `count`."""
    return SONG_CHANGE.c.number > count


def since_note(note: int) -> ColumnElement[bool]:
    """Return the condition that a song has changed since the `latest` note was `note`."""
    return SONG_CHANGE.c.note > note


def count_changed(connection: Connection, since: ColumnElement[bool]) -> int:
    """Return how many songs have changed since then."""
    return connection.scalar(select(func.count()).select_from(SONG_CHANGE).where(since)) or 0


def changed(connection: Connection, since: ColumnElement[bool]) -> list[str]:
    """Return the songs that have changed since then, present or not, by id."""
    later = select(SONG_CHANGE.c.song_id).where(since).order_by(SONG_CHANGE.c.song_id)
    return [str(song) for song in connection.scalars(later)]


def _numbers(connection: Connection) -> dict[str, int]:
    """Return the numbers for songs that change now."""
    return {"number": identity(connection).song_changes + 1, "note": latest(connection) + 1}
