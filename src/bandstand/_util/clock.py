"""The clock: UTC milliseconds since 1970, always given by the caller.

Nothing below the commands and the server reads a clock by itself, so that results that depend
on a time can be repeated and tested.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeAlias

Clock: TypeAlias = Callable[[], int]

MILLISECONDS_PER_MINUTE: Final = 60_000


def system_clock() -> int:
    """Return the time by this machine's clock, which may be wrong and may go back."""
    return time.time_ns() // 1_000_000


def minutes_between(earlier: int, later: int) -> float:
    """Return the minutes from one time to another; 0 if the clock went back between them.

    >>> minutes_between(1_000, 91_000), minutes_between(91_000, 1_000)
    (1.5, 0.0)
    """
    return max(0, later - earlier) / MILLISECONDS_PER_MINUTE
