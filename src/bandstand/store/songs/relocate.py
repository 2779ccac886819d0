"""Moves the song of a file to the file's new path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import RowMapping, delete, insert, select, update

from bandstand.errors import InvalidInputError
from bandstand.store.database.schema import FILE, SONG
from bandstand.store.database.values import MAX_PATH_BYTES, checked_integer
from bandstand.store.songs.changes import claim, note_changes
from bandstand.store.songs.files import is_present, place

if TYPE_CHECKING:
    from sqlalchemy import Connection


def move(
    connection: Connection,
    old_path: bytes,
    new_path: bytes,
    *,
    size: int,
    modified_ns: int,
    scan: int,
) -> str:
    """Return the id of the song that was at `old_path` and is at `new_path` now.

    The caller has seen that the content is the song's. Where another song was known at the new
    path, it is kept as missing and known by its content, so that two files that have changed
    places get their songs back.
    """
    after = place(new_path)
    checked_integer(size, "size", least=0)
    checked_integer(modified_ns, "modified_ns")
    checked_integer(scan, "scan", least=0)
    claim(connection)
    moved, displaced = _known(connection, old_path), _known(connection, new_path)
    if moved is None or moved["song_id"] is None or old_path == new_path:
        msg = f"a file that moves must have a song and a new path, got {old_path!r}"
        raise InvalidInputError(msg)

    connection.execute(delete(FILE).where(FILE.c.path == new_path))
    state = {
        "size": size,
        "modified_ns": modified_ns,
        "problem": None,
        "analysis_version": moved["descriptor_version"],
        "seen": max(scan, moved["seen"]),
        "missing": False,
    }
    connection.execute(update(FILE).where(FILE.c.path == old_path).values({**after, **state}))
    if displaced is not None and displaced["song_id"] is not None:
        kept = {column.name: displaced[column.name] for column in FILE.columns}
        nowhere = place(_no_place(new_path, displaced["song_id"]))
        connection.execute(insert(FILE).values({**kept, **nowhere, "missing": True}))
    changed = [] if is_present(moved) else [moved]
    if displaced is not None and is_present(displaced):
        changed.append(displaced)
    note_changes(
        connection, [file["song_id"] for file in changed], is_seen_by_catalogue=bool(changed)
    )
    return str(moved["song_id"])


def _no_place(path: bytes, song_id: str) -> bytes:
    """Return where a song is kept whose file is gone and whose place is taken.

    Below a file, where no other file can be: whatever comes to a real place later, were it the
    one that was left, must not be taken for this song.
    """
    inside = b"/" + song_id.encode()
    return path[: MAX_PATH_BYTES - len(inside)] + inside


def _known(connection: Connection, path: bytes) -> RowMapping | None:
    joined = select(FILE, SONG.c.descriptor_version).outerjoin(SONG, SONG.c.id == FILE.c.song_id)
    return connection.execute(joined.where(FILE.c.path == path)).mappings().one_or_none()
