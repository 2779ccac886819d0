"""Processes that a test starts: each has an end, whatever happens to the test or to itself.

    with started([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"

A process that outstays its limit is killed, so that whoever waits for it, or for a line of what
it prints, goes on and fails by what is missing. At the end of the block it is killed if it still
runs: a test that failed inside does not wait for what nobody stops any more.
"""

from __future__ import annotations

import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# Seconds. No process here takes a tenth of that unless it hangs, even on a slow, busy machine;
# and it is less than a whole test may take (pyproject.toml).
PATIENCE = 300.0


@contextmanager
def started(
    command: Sequence[str | bytes | Path], *, seconds: float = PATIENCE, **options: Any
) -> Iterator[subprocess.Popen[Any]]:
    """Give a process that runs for at most so many seconds, and no longer than the block."""
    with subprocess.Popen(command, **options) as process:
        limit = threading.Timer(seconds, process.kill)
        limit.daemon = True
        limit.start()
        try:
            yield process
        finally:
            limit.cancel()
            limit.join()
            process.kill()
