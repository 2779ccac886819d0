"""A SQLite store as a file: made for its owner only, and told from other programs' files."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from bandstand.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

# "BAND" in the file's header, by which `file` and we know whose database it is.
APPLICATION_ID: Final = 0x42414E44

_SMALLEST_DATABASE: Final = 512  # bytes, one page


def ensure_file(path: Path) -> None:
    """Make an empty file for a store where there is none, and the folders that lead to it.

    An existing file is left alone, and not even opened: to close it again would take away the
    locks that SQLite holds on it elsewhere in this process.
    """
    try:
        _make_folder(path.parent)
        _make_file(path)
        status = path.stat()
    except OSError as problem:
        msg = f"the store {path} cannot be opened: {problem.strerror}"
        raise StoreError(msg) from problem
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "something else"
        msg = f"the store {path} must be a file, got {kind}"
        raise StoreError(msg)
    # SQLite takes a file of one byte for an empty one.
    if 0 < status.st_size < _SMALLEST_DATABASE:
        msg = f"the store {path} must be a Bandstand store, got a file that is no SQLite database"
        raise StoreError(msg)


def is_foreign(connection: Connection) -> bool:
    """Return whether another program made this database."""
    number = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
    if number != 0:
        return bool(number != APPLICATION_ID)
    count = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
    return bool(count > 0)


def mark_as_ours(connection: Connection) -> None:
    """Put our mark into the header, as a part of the transaction."""
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it for their owner only, where they are missing."""
    if not folder.exists():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _make_file(path: Path) -> None:
    try:
        # SQLite gives the files that it puts beside this one the same permissions.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    # So that a power cut does not take the name of the file away again.
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
