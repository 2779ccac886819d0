"""A process that brings stores up, to be killed: `python -m tests.store.kill_upgrades SEED PATH…`.

The first store is brought up in peace, which shows how long that takes; each of the others by a
process of its own that is killed (kill -9) at a drawn moment of that time. They are forked from
one that has imported everything, so that the moment falls into the work.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time

from bandstand.store.database.connection import open_store


def main(seed: str, first: str, *others: str) -> None:
    """Bring the first store up, and kill who brings up the others."""
    draw = random.Random(int(seed))  # noqa: S311
    began = time.monotonic()
    open_store(first).close()
    seconds = time.monotonic() - began
    for path in others:
        process = os.fork()
        if process == 0:
            open_store(path).close()
            os._exit(0)
        time.sleep(draw.uniform(0, seconds))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
