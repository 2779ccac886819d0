"""Files of the library, as the last scan saw them.

Paths are absolute and bytes, since a name need not be text. A file's row is never removed while
it has a song: a file that is gone is `missing`, one that can no longer be read has a `problem`,
and in both cases its song keeps its id and comes back with the file. A song is present when its
file is neither.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, or_, select, update

from bandstand.store.database.schema import (
    FILE,
    SONG,
    SONG_CHANGE,
    checked_integer,
    checked_path,
    checked_text,
    chunks,
    folded,
    in_order,
)
from bandstand.store.songs.changes import (
    claim,
    note_change_of_files,
    note_changes,
    note_song_change,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """What is known of one file."""

    path: bytes
    size: int
    modified_ns: int
    song_id: str | None
    fingerprint: str | None  # of the song's content
    problem: str | None  # why it cannot be read
    analysis_version: int  # of the analysis that read it, or could not
    seen: int  # number of the last scan that met it
    missing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Numbers of present songs, of songs without a file, and of unreadable files."""

    songs: int
    missing: int
    problems: int


_MAX_COPIES: Final = 1_000
_COLUMNS: Final = tuple(field.name for field in fields(FileRecord))
_SELECT: Final = select(FILE, SONG.c.fingerprint).outerjoin(SONG, SONG.c.id == FILE.c.song_id)

# Whether a file's song can be played; for statements that join the two.
PRESENT: Final = and_(
    FILE.c.song_id.is_not(None), FILE.c.problem.is_(None), FILE.c.missing.is_(False)
)


def in_folder(connection: Connection, folder: bytes) -> dict[bytes, FileRecord]:
    """Return the files directly inside a folder by path, missing ones included."""
    rows = connection.execute(_SELECT.where(FILE.c.folder == checked_path(folder)))
    return {row["path"]: _record(row) for row in rows.mappings()}


def under(connection: Connection, root: bytes) -> Iterator[FileRecord]:
    """Yield the files at any depth below a folder, or the file `root` itself, by path."""
    for row in in_order(connection, _SELECT.where(_at_or_below(root)), FILE.c.path):
        yield _record(row)


def has_size(connection: Connection, size: int) -> bool:
    """Return whether there is a song whose content has this size."""
    wanted = SONG.c.content_size == checked_integer(size, "size")
    return connection.execute(select(SONG.c.id).where(wanted).limit(1)).first() is not None


def of_content(connection: Connection, fingerprint: str) -> list[FileRecord]:
    """Return the files whose song has this content, by path: what a new file may have been.

    At most a thousand of them; more equal copies cannot be kept apart anyway.
    """
    same = _SELECT.where(SONG.c.fingerprint == checked_text(fingerprint, "fingerprint"))
    rows = connection.execute(same.order_by(FILE.c.path).limit(_MAX_COPIES))
    return [_record(row) for row in rows.mappings()]


def problems(connection: Connection, root: bytes = b"/") -> Iterator[tuple[bytes, str]]:
    """Yield the path of each file at or below `root` that cannot be read, and why."""
    wanted = and_(FILE.c.problem.is_not(None), FILE.c.missing.is_(False), _at_or_below(root))
    for row in in_order(connection, select(FILE.c.path, FILE.c.problem).where(wanted), FILE.c.path):
        yield row["path"], row["problem"]


def count_songs(connection: Connection) -> int:
    """Return how many songs are present: one look at the files, none at their songs."""
    return connection.scalar(select(func.count()).select_from(FILE).where(PRESENT)) or 0


def gone(connection: Connection, since: ColumnElement[bool]) -> list[str]:
    """Return the songs that cannot be played, of those that have changed since then, by id."""
    is_here = exists().where(FILE.c.song_id == SONG_CHANGE.c.song_id, PRESENT)
    away = select(SONG_CHANGE.c.song_id).where(since, ~is_here).order_by(SONG_CHANGE.c.song_id)
    return [str(song) for song in connection.scalars(away)]


def counts(connection: Connection) -> Counts:
    """Return how many songs are present and missing, and how many files cannot be read."""
    is_missing = and_(FILE.c.song_id.is_not(None), FILE.c.missing.is_(True))
    is_unreadable = and_(FILE.c.problem.is_not(None), FILE.c.missing.is_(False))
    row = connection.execute(
        select(*(func.count().filter(what) for what in (PRESENT, is_missing, is_unreadable)))
    ).one()
    return Counts(songs=row[0], missing=row[1], problems=row[2])


def mark_seen(connection: Connection, paths: Sequence[bytes], scan: int) -> None:
    """Note that a scan met these files as they are known; those that were missing are back.

    Paths of which nothing is known are passed over.
    """
    number = checked_integer(scan, "scan", least=0)
    claim(connection)
    back, songs = 0, list[str | None]()
    for some in chunks([checked_path(path) for path in paths]):
        known = FILE.c.path.in_(some)
        is_back = and_(known, FILE.c.missing.is_(True))
        songs += connection.scalars(select(FILE.c.song_id).where(is_back)).all()
        back += connection.execute(update(FILE).where(is_back).values(missing=False)).rowcount
        # Never backwards, or a slow scan would undo what a later one saw.
        connection.execute(update(FILE).where(known, FILE.c.seen < number).values(seen=number))
    if back:
        known_songs = [song for song in songs if song is not None]
        note_changes(connection, known_songs, is_seen_by_catalogue=True)


def mark_missing(connection: Connection, root: bytes, scan: int) -> int:
    """Return how many songs at or below `root` are missing now that were not before this scan.

    These are the ones whose file neither this scan nor a later one met. No song is removed; of
    a file that never had one and is gone, nothing is kept.
    """
    number = checked_integer(scan, "scan", least=0)
    claim(connection)
    not_met = and_(_at_or_below(root), FILE.c.seen < number)
    connection.execute(delete(FILE).where(not_met, FILE.c.song_id.is_(None)))
    lost = and_(not_met, FILE.c.missing.is_(False))
    note_change_of_files(connection, lost)
    count = connection.execute(update(FILE).where(lost).values(missing=True)).rowcount
    if count:
        note_song_change(connection)
    return count


def is_present(row: Mapping[Any, Any]) -> bool:
    """Return whether a file's song can be played."""
    return row["song_id"] is not None and row["problem"] is None and not row["missing"]


def place(path: bytes) -> dict[str, Any]:
    """Return the columns of a file that follow from its path."""
    folder, name = os.path.split(checked_path(path))
    return {"path": path, "folder": folder, "folded_name": folded(name.decode(errors="replace"))}


def _at_or_below(root: bytes) -> ColumnElement[bool]:
    """Return the condition that a path is `root` or somewhere inside it."""
    inside = checked_path(root).rstrip(b"/") + b"/"
    behind = inside[:-1] + b"0"  # the byte after the slash
    path = FILE.c.path
    # One range, which an index can follow; in it are also names that go on before the slash.
    return and_(path >= root, path < behind, or_(path == root, path >= inside))


def _record(row: Mapping[Any, Any]) -> FileRecord:
    return FileRecord(**{name: row[name] for name in _COLUMNS})
