"""The memory that this process uses, and its return to the system."""

import ctypes
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

# Of glibc's mallopt.
_MMAP_THRESHOLD: Final = -3
_ARENAS: Final = -8
_LARGE: Final = 1 << 20  # bytes


def memory_bytes() -> int:
    """Return the memory that this process holds now, or the most it held if that is all known.

    >>> memory_bytes() > 1_000_000
    True
    """
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1_024 * most
    return pages * os.sysconf("SC_PAGE_SIZE")


def return_large_blocks() -> None:
    """Let what is large go back to the system when it is freed, where the C library is glibc.

    A listener's belief is megabytes of arrays, made again with every answer in several threads.
    glibc would keep what is freed in a pool for each thread, and hold twice what is in use.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(_ARENAS, 2)
        library.mallopt(_MMAP_THRESHOLD, _LARGE)
