"""A process irrevocably gives up the rights that it does not need for answering requests.

Times are set again for each request: the kernel counts the processor time of a process from its
start, and a child lives for many requests.
"""

import contextlib
import ctypes
import math
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from bandstand.music.sandbox import seccomp
from bandstand.music.sandbox.protocol import Limits


def confine(limits: Limits, *, parent: int, filtered: bool = True) -> list[str]:
    """Return the measures that are in force from now on; `filtered` is for tests alone."""
    _enter_removed_folder()
    # Rights first: among them may be that of exceeding the limits.
    measures = ["rights"] if drop_capabilities() and hide_memory() else []
    measures += apply_limits(limits)
    if refuse_new_privileges():
        measures.append("new rights")
    if filtered and _filter_calls(limits, parent):
        measures.append("calls")
    return measures


def _filter_calls(limits: Limits, parent: int) -> bool:
    machine = seccomp.this_machine()
    if machine is None:
        return False
    steps = seccomp.program(
        machine,
        may_write=limits.written_bytes > 0,
        may_start_programs=limits.may_start_programs,
        own=os.getpid(),
        parent=parent,
    )
    with contextlib.suppress(OSError):
        seccomp.install(steps, machine)
        return True
    return False


def _enter_removed_folder() -> None:
    """Change to a folder that has been removed: it is empty, and stays so."""
    # Where no folder can be made, the root folder stays the current one.
    with contextlib.suppress(OSError):
        folder = tempfile.mkdtemp(prefix="bandstand-")
        os.chdir(folder)
        Path(folder).rmdir()


# ── Privileges: Linux only; each function returns whether the system did it ─────────────

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_CAPABILITY_VERSION: Final = 0x2008_0522
# CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: root in a container reads other people's music.
_KEPT_CAPABILITIES: Final = 1 << 1 | 1 << 2


def die_with_parent(parent: int) -> bool:
    """Have this process killed when the thread that started it ends; end now if it is too late.

    The kernel watches the thread, not the process: see `Worker.is_orphaned`.
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


# ── Limits that every Unix has ──────────────────────────────────────────────────────────

# The parent stops a request in time, but only while its caller waits for results. This much
# later the child stops itself.
OWN_ALARM_SECONDS: Final = 2.0
_MAX_DOUBLINGS: Final = 22
# For the other children of a large machine, and what else this user does meanwhile.
_SPARE_PROCESSES: Final = 1024


def apply_limits(limits: Limits) -> list[str]:
    """Return which of the lasting limits are in force now."""
    wanted = {
        "memory": (resource.RLIMIT_AS, limits.memory_bytes),
        "written files": (resource.RLIMIT_FSIZE, limits.written_bytes),
        "open files": (resource.RLIMIT_NOFILE, limits.open_files),
        "core files": (resource.RLIMIT_CORE, 0),
    }
    in_force = [name for name, (which, most) in wanted.items() if _set(which, most)]
    return [*in_force, "processes"] if limit_processes() else in_force


def start_clocks(limits: Limits) -> None:
    """Give this process its time for one request, from now on."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    until = math.ceil(time.process_time() + limits.cpu_seconds)
    # Only the soft limit: a hard one could not be moved on for the next request.
    resource.setrlimit(resource.RLIMIT_CPU, (_at_most(until, most), most))
    signal.setitimer(signal.ITIMER_REAL, limits.wall_seconds + OWN_ALARM_SECONDS)


def stop_clocks() -> None:
    """Stop the alarm; waiting uses no processor time."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def limit_processes() -> bool:
    """Return whether there is a limit now on processes and threads, with room for some more.

    The system counts all of this user's, even those in other containers that cannot be seen
    from here, so their number is found by trying. The limit does not bind root.
    """
    if not sys.platform.startswith("linux"):
        return False
    before = resource.getrlimit(resource.RLIMIT_NPROC)
    for most in (2**power for power in range(_MAX_DOUBLINGS)):
        _set(resource.RLIMIT_NPROC, most, hard=False)
        if _can_start_a_thread():
            break
    # A limit of 1 is this process alone; a process that can start a thread under it is not bound.
    resource.setrlimit(resource.RLIMIT_NPROC, before)
    return most > 1 and _set(resource.RLIMIT_NPROC, 2 * most + _SPARE_PROCESSES)


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


def _at_most(value: int, maximum: int) -> int:
    return value if maximum == resource.RLIM_INFINITY else min(value, maximum)
