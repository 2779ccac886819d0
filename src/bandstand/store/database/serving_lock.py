"""A lock that allows one server for each SQLite file.

The lock is on a file in the store's data folder and ends with the process, however that ends. The
process id in the file is only for messages. A PostgreSQL database can have any number of servers.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bandstand.errors import StoreError, StoreLockedError
from bandstand.store.database.location import Location, SqliteLocation

_FILE_NAME: Final = "serving.lock"
_MAX_PID_BYTES: Final = 20


@contextmanager
def serving_lock(location: Location) -> Iterator[None]:
    """Hold the lock of a store inside the block.

    Raises StoreLockedError, with the id of the process that holds it.
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

    Then only that process moves the write-ahead log into the file.
    """
    return _server(location) not in {None, _this_process()}


def is_served_here(location: SqliteLocation) -> bool:
    """Return whether this process serves a store now."""
    return _server(location) == _this_process()


def _server(location: SqliteLocation) -> str | None:
    """Return the process that serves a store now, in words; None if there is none."""
    try:
        lock = os.open(lock_file(location), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # it was never served
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
    return real.data_folder / _FILE_NAME


def _opened(location: SqliteLocation) -> int:
    place = lock_file(location)
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Never removed: a second process would lock a new file of the same name.
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
    number = os.pread(lock, _MAX_PID_BYTES, 0).strip()
    return f"process {int(number)}" if number.isdigit() else "another process"
