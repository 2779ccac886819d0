"""How a file is recognised: by its time while it stays, by a fingerprint when it has moved."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK: Final = 65_536
_BLOCKS: Final = 16
_LATEST: Final = 2**63 - 1


def fingerprint(file: BinaryIO) -> str:
    """Return a digest of the file's size and of 16 blocks spread evenly over it.

    At most a mebibyte is read, since libraries lie on slow disks; a file up to that size is
    read whole. Two recordings differ nearly everywhere, so they differ in these blocks;
    the file is left where reading it begins.
    """
    size = os.fstat(file.fileno()).st_size
    digest = hashlib.blake2b(size.to_bytes(8, "little"), digest_size=16)
    for place in _places(size):
        file.seek(place)
        digest.update(file.read(_BLOCK))
    file.seek(0)
    return digest.hexdigest()


def modified_ns(status: os.stat_result) -> int:
    """Return when a file was changed last, in nanoseconds since 1970, as 64 bits can hold it.

    A disk can date a file to the year 2446; what is beyond 2262 counts as one moment.
    """
    return max(-_LATEST, min(status.st_mtime_ns, _LATEST))


def _places(size: int) -> Iterator[int]:
    if size <= _BLOCK * _BLOCKS:
        yield from range(0, size, _BLOCK)
    else:
        yield from ((size - _BLOCK) * block // (_BLOCKS - 1) for block in range(_BLOCKS))
