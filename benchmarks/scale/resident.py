"""What this process holds in memory, as the system counts it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/self/status")


def resident(name: str = "VmRSS:") -> int | None:
    """Return the bytes that this process holds, or held at most (`VmHWM:`).

    None where the system does not tell.
    """
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1_024 * int(line.split()[1]) for line in lines if line.startswith(name)), None)
