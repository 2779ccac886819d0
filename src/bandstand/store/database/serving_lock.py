"""One server to a SQLite file.

The lock is on a file in the store's data folder and belongs to the process: it ends with it,
however that ends. What the file says of an earlier process is of no consequence. A PostgreSQL
database takes as many servers as come.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bandstand.errors import StoreError, StoreLockedError
from bandstand.store.database.location import SqliteLocation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.store.database.location import Location

_NAME: Final = "serving.lock"
_LONGEST_NUMBER: Final = 20


@contextmanager
def serving_lock(location: Location) -> Iterator[None]:
    """Be the one that serves a store inside the block.

    Raises StoreLockedError, with the number of the process that does, where there is one.
    """
    if not isinstance(location, SqliteLocation):
        yield
        return
    lock = _opened(location)
    try:
        _take(lock, location)
        yield
    finally:
        os.close(lock)


def is_served_elsewhere(location: SqliteLocation) -> bool:
    """Return whether another process serves a store now.

    Then that one moves the write-ahead log into the file, and nobody else should.
    """
    return _server(location) not in {None, _this_process()}


def is_served_here(location: SqliteLocation) -> bool:
    """Return whether this process serves a store now."""
    return _server(location) == _this_process()


def _server(location: SqliteLocation) -> str | None:
    """Return who serves a store now, in words; None if nobody does."""
    try:
        lock = os.open(lock_file(location), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # nobody ever has
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(lock)
    except OSError:
        return None
    finally:
        os.close(lock)
    return None


def lock_file(location: SqliteLocation) -> Path:
    """Return the file that is locked: the same for all names that a store's file has by links."""
    real = SqliteLocation(path=Path(os.path.realpath(location.path)))
    return real.data_folder / _NAME


def _opened(location: SqliteLocation) -> int:
    place = lock_file(location)
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Never removed: who waits for a name that is gone waits for nobody.
        return os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        msg = f"the store {location} cannot be locked: {place}: {problem.strerror}"
        raise StoreError(msg) from problem


def _take(lock: int, location: SqliteLocation) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        msg = (
            f"the store {location} must not be in use, "
            f"but {_holder(lock)} serves it; stop that one first"
        )
        raise StoreLockedError(msg) from None
    except OSError as problem:
        msg = f"the store {location} cannot be locked: {problem.strerror}"
        raise StoreError(msg) from problem
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _this_process() -> str:
    return f"process {os.getpid()}"


def _holder(lock: int) -> str:
    number = os.pread(lock, _LONGEST_NUMBER, 0).strip()
    return f"process {int(number)}" if number.isdigit() else "another process"
