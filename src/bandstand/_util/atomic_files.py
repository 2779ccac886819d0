"""Files that are replaced as a whole: after a crash there is the old one or the new one."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, Final

_MAX_NAME_LENGTH: Final = 64  # of the file's own name, within the unfinished one's


@contextmanager
def replacing(path: Path, *, suffix: str = "") -> Iterator[BinaryIO]:
    """Yield a file that takes the place of `path` if the block ends without an exception.

    Until then it lies beside `path`, under a hidden random name that ends in `suffix`. The
    permissions are those of the file that was there, or the usual ones.
    """
    name = f".{path.name[:_MAX_NAME_LENGTH]}-{secrets.token_hex(8)}{suffix}"
    unfinished = path.with_name(name)
    try:
        with unfinished.open("xb") as file:
            with suppress(FileNotFoundError):
                unfinished.chmod(stat.S_IMODE(path.stat().st_mode))
            yield file
            sync(file)
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def sync(file: IO[bytes]) -> None:
    """Wait until everything that was written to `file` is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
