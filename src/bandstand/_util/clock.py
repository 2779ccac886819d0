"""The clock: UTC milliseconds since 1970, always given by the caller.

Nothing below the commands and the server reads a clock by itself, so that results that depend
on a time can be repeated and tested.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TypeAlias

Clock: TypeAlias = Callable[[], int]

MILLISECONDS_PER_MINUTE: Final = 60_000


def system_clock() -> int:
    """Return the time by this machine's clock, which may be wrong and may go back."""
    return time.time_ns() // 1_000_000


def utc_day(moment: int) -> str:
    """Return the day of a time.

    >>> utc_day(1_700_000_000_000)
    '2023-11-14'
    """
    return f"{datetime.fromtimestamp(moment / 1_000, tz=UTC):%Y-%m-%d}"
