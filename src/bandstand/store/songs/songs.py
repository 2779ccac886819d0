"""Songs, each with its file.

`Facts` are plain tuples with the few fields that the radio needs of every song: a million
`SongRecord`s would take a minute and a gigabyte.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import ColumnElement, Connection, func, or_, select

from bandstand.store.database.schema import (
    FILE,
    SONG,
    checked_integer,
    chunks,
    descriptors_from_bytes,
    folded,
    in_order,
    is_storable,
)
from bandstand.store.songs.files import PRESENT
from bandstand.types import Tags, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class SongRecord:
    """What is known of one song, without its descriptors."""

    id: str
    fingerprint: str
    tags: Tags
    duration: float  # seconds
    descriptor_version: int
    added_at: int  # UTC, in milliseconds
    path: bytes  # of its file, or where that was last
    size: int
    missing: bool  # the file is gone
    problem: str | None  # the file can no longer be read, and why

    @property
    def is_present(self) -> bool:
        """Whether there is a file that can be played."""
        return not self.missing and self.problem is None

    @property
    def title(self) -> str:
        """The title in its tags, or else the name of its file without the ending."""
        if self.tags.title is not None:
            return self.tags.title
        name = os.path.basename(self.path).decode("utf-8", "replace")
        stem = os.path.splitext(name)[0]
        return "".join(letter if letter.isprintable() else "�" for letter in stem)

    @property
    def full_title(self) -> str:
        """Its "artist - title", or the title alone where there is no artist."""
        artist = self.tags.artist
        return self.title if artist is None else f"{artist} - {self.title}"


_TAGS: Final = tuple(field.name for field in fields(Tags))
_OTHERS: Final = tuple(field.name for field in fields(SongRecord) if field.name != "tags")
_FILE_COLUMNS: Final = (FILE.c.path, FILE.c.size, FILE.c.missing, FILE.c.problem)
_NOT_SHOWN: Final = {"content_size", "descriptors", "folded_name"}
_SONG_COLUMNS: Final = [column for column in SONG.c if column.name not in _NOT_SHOWN]
# All that a `SongRecord` says; to be narrowed, and read by `record_of`.
SELECT: Final = select(*_SONG_COLUMNS, *_FILE_COLUMNS).join(FILE, FILE.c.song_id == SONG.c.id)
# Longer than any name; SQLite refuses patterns of more than 50,000 bytes.
MAX_SEARCH_CHARS: Final = 5_000


def record_of(row: Mapping[Any, Any]) -> SongRecord:
    """Return the song of a row that `SELECT` gave."""
    tags = Tags(**{name: row[name] for name in _TAGS})
    return SongRecord(tags=tags, **{name: row[name] for name in _OTHERS})


def get(connection: Connection, song_id: str) -> SongRecord | None:
    """Return a song, also one that is not present; None where there is no such id."""
    return _one(connection, SONG.c.id == song_id)


def at_path(connection: Connection, path: bytes) -> SongRecord | None:
    """Return the song of a file, also one that is not present; None where there is none."""
    return _one(connection, FILE.c.path == path)


def _one(connection: Connection, which: ColumnElement[bool]) -> SongRecord | None:
    row = connection.execute(SELECT.where(which)).mappings().one_or_none()
    return None if row is None else record_of(row)


def find(connection: Connection, text: str, *, limit: int) -> list[SongRecord]:
    """Return the songs that `text` may mean, at most `limit`.

    It is an id; or else the path of a file, absolute or from the current folder; or else a part
    of the artist, the title, "artist - title" or the file's name, upper or lower case. The last
    finds present songs only, in the order of their names.
    """
    checked_integer(limit, "limit", least=0)
    exact = get(connection, text) or _at_named_path(connection, text)
    if exact is not None:
        return [exact][:limit]
    if not text or len(text) > MAX_SEARCH_CHARS or not is_storable(text):
        return []
    part = folded(text)
    named = or_(
        SONG.c.folded_name.contains(part, autoescape=True),
        FILE.c.folded_name.contains(part, autoescape=True),
    )
    best = SELECT.where(PRESENT, named).order_by(SONG.c.folded_name, SONG.c.id).limit(limit)
    return [record_of(row) for row in connection.execute(best).mappings()]


def many(connection: Connection, ids: Sequence[str]) -> list[SongRecord]:
    """Return these songs in this order, present or not; ids of no song are left out."""
    found: dict[str, SongRecord] = {}
    for some in chunks(list(set(ids))):
        rows = connection.execute(SELECT.where(SONG.c.id.in_(some)))
        found.update((row["id"], record_of(row)) for row in rows.mappings())
    return [found[song] for song in ids if song in found]


def present(connection: Connection) -> Iterator[SongRecord]:
    """Yield the songs whose file is there and can be read, in the order of their ids."""
    for row in in_order(connection, SELECT.where(PRESENT), SONG.c.id):
        yield record_of(row)


def count_present(connection: Connection, version: int, *, enough: int | None = None) -> int:
    """Return of how many songs `descriptors` would tell; no more are counted than are `enough`."""
    wanted = SONG.c.descriptor_version == checked_integer(version, "version")
    joined = select(SONG.c.id).join(FILE, FILE.c.song_id == SONG.c.id).where(PRESENT, wanted)
    return connection.scalar(select(func.count()).select_from(joined.limit(enough).subquery())) or 0


class Described(NamedTuple):
    """What the model sees of a song."""

    id: str
    descriptors: Vector  # (159,)
    genre: str | None
    year: int | None


_SELECT_DESCRIBED: Final = select(SONG.c.id, SONG.c.descriptors, SONG.c.genre, SONG.c.year)
_OF_FILE: Final = FILE.c.song_id == SONG.c.id


def described(connection: Connection, version: int) -> Iterator[Described]:
    """Yield what is known of each present song, in the order of their ids.

    Only those of one version of the descriptors: numbers of different versions do not mix.
    """
    wanted = SONG.c.descriptor_version == checked_integer(version, "version")
    rows = _SELECT_DESCRIBED.join(FILE, _OF_FILE).where(PRESENT, wanted)
    for row in in_order(connection, rows, SONG.c.id):
        yield _described(row["id"], row["descriptors"], row["genre"], row["year"])


def described_of(
    connection: Connection, ids: Sequence[str], version: int, *, must_be_present: bool = False
) -> Iterator[Described]:
    """Yield what is known of each of these songs, present or not.

    Songs that are not there, or only with descriptors of another version, are left out.
    """
    wanted = _SELECT_DESCRIBED.where(
        SONG.c.descriptor_version == checked_integer(version, "version")
    )
    if must_be_present:
        wanted = wanted.join(FILE, _OF_FILE).where(PRESENT)
    for some in chunks(ids):
        rows = connection.execute(wanted.where(SONG.c.id.in_(some)).order_by(SONG.c.id))
        yield from (_described(*row) for row in rows)


def _described(song: str, descriptors: bytes, genre: str | None, year: int | None) -> Described:
    return Described(song, descriptors_from_bytes(descriptors), genre, year)


def _at_named_path(connection: Connection, text: str) -> SongRecord | None:
    if not text or "\0" in text:
        return None
    try:
        path = os.fsencode(os.path.abspath(text))  # links stay as they are
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return None
    return at_path(connection, path)


_Text: TypeAlias = str | None
# id, title, artist, album artist, album, genre, year, MusicBrainz recording and artist, duration in
# seconds
Facts: TypeAlias = tuple[str, _Text, _Text, _Text, _Text, _Text, int | None, _Text, _Text, float]

_FACT_TAGS: Final = (
    *("title", "artist", "album_artist", "album", "genre", "year"),
    *("recording_mbid", "artist_mbid"),
)
_FACTS: Final = (SONG.c.id, *(SONG.c[name] for name in _FACT_TAGS), SONG.c.duration)
_SELECT_FACTS: Final = select(*_FACTS).join(FILE, FILE.c.song_id == SONG.c.id).where(PRESENT)
_FACTS_PER_PAGE: Final = 10_000


def facts(connection: Connection) -> Iterator[Facts]:
    """Yield the facts of all present songs, in the order of their ids."""
    page = _SELECT_FACTS.order_by(SONG.c.id).limit(_FACTS_PER_PAGE)
    rows: Any = connection.execute(page).all()
    while rows:
        yield from rows
        if len(rows) < _FACTS_PER_PAGE:
            return
        rows = connection.execute(page.where(SONG.c.id > rows[-1][0])).all()


def facts_of_some(connection: Connection, ids: Sequence[str]) -> Iterator[Facts]:
    """Yield the facts of those of these songs that are present, in the order of `ids`, rising."""
    for some in chunks(ids):
        rows: Any = connection.execute(_SELECT_FACTS.where(SONG.c.id.in_(some)).order_by(SONG.c.id))
        yield from rows


def facts_of(record: SongRecord) -> Facts:
    """Return the facts of a song that is known as a record."""
    tags: Any = (getattr(record.tags, name) for name in _FACT_TAGS)
    return (record.id, *tags, record.duration)
