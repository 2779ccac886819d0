"""Writes what a scan has decided about a file: its analysis, its problem, or its move.

`music/library/scan.py` decides whether a file has moved. Otherwise a known path keeps its song. A
new path gets a song whose id follows from the path and the content alone, so that a scan that was
interrupted and resumed gives the same ids as one that was not, in whatever order the files were
read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import Connection, RowMapping, bindparam, delete, insert, select, update

from bandstand.errors import InvalidInputError
from bandstand.store.database.schema import (
    FILE,
    MAX_PATH_BYTES,
    SONG,
    checked_integer,
    checked_number,
    checked_tags,
    checked_text,
    chunks,
    descriptors_to_bytes,
    folded,
)
from bandstand.store.songs.changes import claim, note_changes
from bandstand.store.songs.files import is_present, place
from bandstand.types import Analysis

Outcome: TypeAlias = Literal["added", "changed", "same"]

# What a catalogue is made from; a change of anything else leaves it as it is.
_DESCRIBING: Final = ("descriptors", "descriptor_version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The song of a file, and whether it is new or has changed."""

    song_id: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What is to be written for one file."""

    song_id: str
    outcome: Outcome
    song: dict[str, Any]
    file: dict[str, Any]
    is_known_path: bool
    is_seen_by_catalogue: bool


def song_id_for(path: bytes, fingerprint: str, attempt: int = 0) -> str:
    """Return 16 hexadecimal digits for a new song; `attempt` counts up where they are taken.

    >>> song_id_for(b"/music/a.ogg", "12ab")
    'ae604ce4c878d84d'
    """
    digest = blake2b(digest_size=8)
    for part in (path, fingerprint.encode(), str(attempt).encode()):
        digest.update(len(part).to_bytes(8, "big") + part)  # so that no two lists look alike
    return digest.hexdigest()


def record_analyses(
    connection: Connection, found: Sequence[tuple[bytes, Analysis]], *, scan: int, now: int
) -> list[Recorded]:
    """Return the songs of several files, after their analyses are recorded.

    A file that could not be read before, or was missing, is back with its song.
    """
    checked_integer(now, "now")
    rows = [(_analysed_file(path, it, scan), _song_columns(it)) for path, it in found]
    if len({file["path"] for file, _ in rows}) < len(rows):
        msg = f"each path must be recorded once, got one of {len(rows)} paths twice"
        raise InvalidInputError(msg)
    claim(connection)
    changes = [change for some in chunks(rows) for change in _record(connection, some, now)]
    news = [it for it in changes if it.is_seen_by_catalogue or it.outcome != "same"]
    note_changes(
        connection,
        [change.song_id for change in news],
        is_seen_by_catalogue=any(change.is_seen_by_catalogue for change in news),
    )
    return [Recorded(song_id=change.song_id, outcome=change.outcome) for change in changes]


def record_problem(
    connection: Connection,
    path: bytes,
    *,
    size: int,
    modified_ns: int,
    reason: str,
    version: int,
    scan: int,
) -> None:
    """Record that a file cannot be read, and why.

    A song that it had is kept, with everything that refers to it, and is not present until the
    file can be read again.
    """
    problem = checked_text(reason, "reason")
    file = _file_columns(
        path, size=size, modified_ns=modified_ns, version=version, scan=scan, problem=problem
    )
    claim(connection)
    known = _known(connection, [path]).get(path)
    if known is None:
        connection.execute(insert(FILE).values({**file, "song_id": None}))
        return
    file["seen"] = max(scan, known["seen"])
    connection.execute(update(FILE).where(FILE.c.path == path).values(file))
    if is_present(known):
        note_changes(connection, [known["song_id"]], is_seen_by_catalogue=True)


def _record(
    connection: Connection, rows: Sequence[tuple[dict[str, Any], dict[str, Any]]], now: int
) -> list[_Change]:
    known = _known(connection, [file["path"] for file, _ in rows])
    first_ids = [song_id_for(file["path"], song["fingerprint"]) for file, song in rows]
    taken = set(connection.scalars(select(SONG.c.id).where(SONG.c.id.in_(first_ids))))
    changes = []
    for file, song in rows:
        before = known.get(file["path"])
        if before is None or before["song_id"] is None:
            id_ = _fresh_id(connection, file["path"], song["fingerprint"], taken)
            changes.append(_addition(id_, file, {**song, "added_at": now}, before))
        else:
            changes.append(_revision(file, song, before))
    _write(connection, changes)
    return changes


def _addition(
    id_: str, file: dict[str, Any], song: dict[str, Any], before: RowMapping | None
) -> _Change:
    seen = file["seen"] if before is None else max(file["seen"], before["seen"])
    return _Change(
        song_id=id_,
        outcome="added",
        song={**song, "id": id_},
        file={**file, "song_id": id_, "seen": seen},
        is_known_path=before is not None,
        is_seen_by_catalogue=True,
    )


def _revision(file: dict[str, Any], song: dict[str, Any], before: RowMapping) -> _Change:
    differing = {name for name, value in song.items() if before[name] != value}
    return _Change(
        song_id=before["song_id"],
        outcome="changed" if differing else "same",
        song=song,
        file={**file, "song_id": before["song_id"], "seen": max(file["seen"], before["seen"])},
        is_known_path=True,
        is_seen_by_catalogue=not is_present(before) or not differing.isdisjoint(_DESCRIBING),
    )


def _write(connection: Connection, changes: Sequence[_Change]) -> None:
    """Write songs before the files that refer to them, each kind in one statement."""
    changed_songs = update(SONG).where(SONG.c.id == bindparam("at"))
    changed_files = update(FILE).where(FILE.c.path == bindparam("at"))
    for statement, rows in (
        (insert(SONG), [it.song for it in changes if it.outcome == "added"]),
        (
            changed_songs,
            [it.song | {"at": it.song_id} for it in changes if it.outcome == "changed"],
        ),
        (insert(FILE), [it.file for it in changes if not it.is_known_path]),
        (changed_files, [it.file | {"at": it.file["path"]} for it in changes if it.is_known_path]),
    ):
        if rows:
            connection.execute(statement, rows)


def _known(connection: Connection, paths: Sequence[bytes]) -> dict[bytes, RowMapping]:
    """Return what is known of these files and their songs, by path."""
    file = (column for column in FILE.columns if column.name != "folded_name")
    song = (column for column in SONG.columns if column.name != "id")
    joined = select(*file, *song).outerjoin(SONG, SONG.c.id == FILE.c.song_id)
    rows = connection.execute(joined.where(FILE.c.path.in_(paths))).mappings()
    return {row["path"]: row for row in rows}


def _fresh_id(connection: Connection, path: bytes, fingerprint: str, taken: set[str]) -> str:
    """Return an id that no song has, and add it to those that are taken."""
    for attempt in count():
        id_ = song_id_for(path, fingerprint, attempt)
        if id_ not in taken and (attempt == 0 or not _exists(connection, id_)):
            taken.add(id_)
            return id_
    raise AssertionError  # pragma: no cover


def _exists(connection: Connection, song_id: str) -> bool:
    return connection.scalar(select(SONG.c.id).where(SONG.c.id == song_id)) is not None


def _file_columns(
    path: bytes, *, size: int, modified_ns: int, version: int, scan: int, problem: str | None = None
) -> dict[str, Any]:
    return {
        **place(path),
        "size": checked_integer(size, "size", least=0),
        "modified_ns": checked_integer(modified_ns, "modified_ns"),
        "problem": problem,
        "analysis_version": checked_integer(version, "version"),
        "seen": checked_integer(scan, "scan", least=0),
        "missing": False,
    }


def _analysed_file(path: bytes, it: Analysis, scan: int) -> dict[str, Any]:
    return _file_columns(
        path, size=it.size, modified_ns=it.modified_ns, version=it.version, scan=scan
    )


def _song_columns(analysis: Analysis) -> dict[str, Any]:
    return {
        **checked_tags(analysis.tags),
        "fingerprint": checked_text(analysis.fingerprint, "fingerprint"),
        "content_size": checked_integer(analysis.size, "size", least=0),
        "duration": checked_number(analysis.duration, "duration", least=0),
        "descriptors": descriptors_to_bytes(analysis.descriptors),
        "descriptor_version": checked_integer(analysis.version, "version"),
        "folded_name": folded(song_name(analysis.tags.artist, analysis.tags.title)),
    }


def song_name(artist: str | None, title: str | None) -> str:
    """Return "artist - title", or what there is of it."""
    return " - ".join(part for part in (artist, title) if part)


def relocate(
    connection: Connection,
    old_path: bytes,
    new_path: bytes,
    *,
    size: int,
    modified_ns: int,
    scan: int,
) -> str:
    """Move the song at `old_path` to `new_path`; return its id.

    The caller has seen that the content is the song's. Where another song was known at the new
    path, it is kept as missing and known by its content, so that two files that have changed
    places get their songs back.
    """
    file = _file_columns(new_path, size=size, modified_ns=modified_ns, version=0, scan=scan)
    claim(connection)
    known = _known(connection, [old_path, new_path])
    moved, displaced = known.get(old_path), known.get(new_path)
    if moved is None or moved["song_id"] is None or old_path == new_path:
        msg = f"a file that moves must have a song and a new path, got {old_path!r}"
        raise InvalidInputError(msg)

    connection.execute(delete(FILE).where(FILE.c.path == new_path))
    file |= {"analysis_version": moved["descriptor_version"], "seen": max(scan, moved["seen"])}
    connection.execute(update(FILE).where(FILE.c.path == old_path).values(file))
    if displaced is not None and displaced["song_id"] is not None:
        kept = {name: value for name, value in displaced.items() if name in FILE.c}
        kept |= {**place(_no_place(new_path, displaced["song_id"])), "missing": True}
        connection.execute(insert(FILE).values(kept))
    changed = [] if is_present(moved) else [moved]
    if displaced is not None and is_present(displaced):
        changed.append(displaced)
    note_changes(
        connection, [file["song_id"] for file in changed], is_seen_by_catalogue=bool(changed)
    )
    return str(moved["song_id"])


def _no_place(path: bytes, song_id: str) -> bytes:
    """Return where a song is kept whose file is gone and whose place is taken.

    Below a file, where no other file can be, so that no later file is taken for this song.
    """
    inside = b"/" + song_id.encode()
    return path[: MAX_PATH_BYTES - len(inside)] + inside
