"""What a child gives up by itself: rights, and outliving its parent. Linux only.

Every function returns whether the system did it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_CAPABILITY_VERSION: Final = 0x2008_0522
# CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: root in a container reads other people's music.
_KEPT_CAPABILITIES: Final = 1 << 1 | 1 << 2


def die_with_parent(parent: int) -> bool:
    """Have this process killed when the thread that started it ends; end now if it is too late.

    The kernel watches the thread, not the process; `crew` and `errand` know that.
    """
    done = _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    return done


def refuse_new_privileges() -> bool:
    """Have every program that is started run without rights of its own (setuid)."""
    return _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> bool:
    """Have no image of the memory kept after a crash, and let no other process read it.

    A limit of 0 on such files does not keep the system from piping them to a collector.
    """
    return _prctl(_PR_SET_DUMPABLE, 0)


def drop_capabilities() -> bool:
    """Give up what root may do beyond reading files, such as raising its own limits."""
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    # Effective, permitted and inheritable, for the first 32 capabilities and for the others.
    held = (ctypes.c_uint32 * 6)()
    if library.capget(header, held) != 0:
        return False
    kept = held[1] & _KEPT_CAPABILITIES
    wanted = (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0)
    return bool(library.capset(header, wanted) == 0)


def _prctl(option: int, value: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    return bool(library.prctl(option, value, 0, 0, 0) == 0)
