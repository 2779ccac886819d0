"""The processors of this machine."""

import os


def usable_cores() -> int:
    """Return how many processors this process may use: a container may have fewer than all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
