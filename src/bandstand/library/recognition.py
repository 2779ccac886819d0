"""Recognise the song in a file that is not where it was.

Identity follows the content: whoever renames, moves or swaps files has the same songs afterwards.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bandstand.errors import BandstandError
from bandstand.library.content import fingerprint, modified_ns
from bandstand.library.opening import open_beneath
from bandstand.store.songs import files

if TYPE_CHECKING:
    from collections.abc import Container

    from sqlalchemy import Connection

    from bandstand.library.walk import FoundFile
    from bandstand.store.songs.files import FileRecord


def former_place(
    connection: Connection, root: bytes, file: FoundFile, *, taken: Container[bytes]
) -> FileRecord | None:
    """Return where the song was that a file holds, if it is not there any more; None if it is.

    `taken` are places whose songs have been recognised in other files already. Of several songs
    with equal content it is the one whose file had the same name, or else the first by path, so
    that it is always the same one.
    """
    if not files.has_size(connection, file.size):
        return None  # most new files: nothing of this size is known, and nothing need be read
    mark = _content(root, file.path)
    known = [] if mark is None else files.of_content(connection, mark)
    if any(record.path == file.path for record in known):
        return None  # it has only been touched
    left = [record for record in known if record.path not in taken and not _holds_its_song(record)]
    name = _name(file.path)
    return min(left, key=lambda record: (_name(record.path) != name, record.path), default=None)


def is_as_recorded(file: FoundFile, record: FileRecord) -> bool:
    """Return whether a file still has the size and the time at which it was read."""
    return (file.size, file.modified_ns) == (record.size, record.modified_ns)


def _holds_its_song(record: FileRecord) -> bool:
    """Return whether the file at a song's place still holds the song, whatever its time says."""
    # Behind a link it is another place: the library was moved, and the link left for others.
    if os.path.realpath(record.path) != record.path:
        return False
    try:
        status = os.lstat(record.path)
    except OSError:
        return False
    state = (status.st_size, modified_ns(status))
    # The state of a file that could not be read is not that of the song it used to hold.
    if record.problem is None and state == (record.size, record.modified_ns):
        return True
    folder = os.path.dirname(record.path)  # noqa: PTH120 - bytes
    return _content(folder, record.path) == record.fingerprint


def _content(root: bytes, path: bytes) -> str | None:
    """Return the fingerprint of a file; None if it cannot be read, for which others say why."""
    try:
        with open_beneath(root, path) as opened:
            return fingerprint(opened)
    except (OSError, BandstandError):
        return None


def _name(path: bytes) -> bytes:
    return os.path.basename(path)  # noqa: PTH119 - bytes
