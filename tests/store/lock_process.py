"""Another process that holds a store: `python -m tests.store.lock_process PLACE SECONDS`.

It says "held" when it has the lock, and gives it back after that many seconds.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from tests.children import started
from tests.cli.running import environment

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def held_elsewhere(place: str, seconds: float) -> Iterator[None]:
    """Let another process hold the store at `place` for some seconds, from before the block."""
    command = [sys.executable, "-m", "tests.store.lock_process", place, str(seconds)]
    with started(
        command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield


def hold(place: str, seconds: float) -> None:
    """Hold the write lock of a store."""
    if place.startswith("postgresql:"):
        import psycopg  # noqa: PLC0415

        with psycopg.connect(place) as connection:
            connection.execute("LOCK TABLE store, song, file, scan IN ACCESS EXCLUSIVE MODE")
            _wait(seconds)
        return
    with closing(sqlite3.connect(place, isolation_level=None)) as connection_:
        connection_.execute("BEGIN EXCLUSIVE")
        _wait(seconds)
        connection_.execute("COMMIT")


def _wait(seconds: float) -> None:
    print("held", flush=True)  # noqa: T201
    time.sleep(seconds)


if __name__ == "__main__":
    hold(sys.argv[1], float(sys.argv[2]))
