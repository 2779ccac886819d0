"""The limits that every Unix has, set by the child upon itself.

Times are set anew for each request: the kernel counts the processor time of a process from its
start, and a child lives for many requests.
"""

from __future__ import annotations

import contextlib
import math
import resource
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bandstand.music.sandbox.limits import Limits

# The parent stops a request in time, but only while somebody waits for its results. This much
# later the child stops itself.
OWN_ALARM_SECONDS: Final = 2.0
_MOST_DOUBLINGS: Final = 22
# For the other children of a large machine, and what else this user does meanwhile.
_MORE_PROCESSES: Final = 1024


def apply(limits: Limits) -> list[str]:
    """Return which of the lasting limits are in force now."""
    wanted = {
        "memory": (resource.RLIMIT_AS, limits.memory_bytes),
        "written files": (resource.RLIMIT_FSIZE, limits.written_bytes),
        "open files": (resource.RLIMIT_NOFILE, limits.open_files),
        "core files": (resource.RLIMIT_CORE, 0),
    }
    in_force = [name for name, (which, most) in wanted.items() if _set(which, most)]
    return [*in_force, "processes"] if limit_processes() else in_force


def start_the_clocks(limits: Limits) -> None:
    """Give this process its time for one request, from now on."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    until = math.ceil(time.process_time() + limits.cpu_seconds)
    # Only the soft limit: a hard one could not be moved on for the next request.
    resource.setrlimit(resource.RLIMIT_CPU, (_at_most(until, most), most))
    signal.setitimer(signal.ITIMER_REAL, limits.wall_seconds + OWN_ALARM_SECONDS)


def stop_the_clocks() -> None:
    """Let this process wait; waiting uses no processor time."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def limit_processes() -> bool:
    """Return whether there is a limit now on processes and threads, with room for some more.

    The system counts all of this user's, even those in other containers that cannot be seen
    from here, so how many there are is found out by trying. The limit does not bind root.
    """
    if not sys.platform.startswith("linux"):
        return False
    before = resource.getrlimit(resource.RLIMIT_NPROC)
    for most in (2**power for power in range(_MOST_DOUBLINGS)):
        _set(resource.RLIMIT_NPROC, most, hard=False)
        if _can_start_a_thread():
            break
    # A limit of 1 is this process alone; who can start a thread under it is not bound.
    resource.setrlimit(resource.RLIMIT_NPROC, before)
    return most > 1 and _set(resource.RLIMIT_NPROC, 2 * most + _MORE_PROCESSES)


def _can_start_a_thread() -> bool:
    thread = threading.Thread(target=int)
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


def _set(which: int, value: int, *, hard: bool = True) -> bool:
    """Return whether the limit is in force now; a stricter one that was there stays."""
    _, most = resource.getrlimit(which)
    value = _at_most(value, most)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(which, (value, value if hard else most))
        return True
    return False


def _at_most(value: int, most: int) -> int:
    return value if most == resource.RLIM_INFINITY else min(value, most)
