"""Another process that rates: `python -m tests.store.rating_process PLACE ACCOUNT SONG`.

It prints the number of each event once it is acknowledged, until it is killed.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from bandstand.store.database.connection import open_store
from tests.children import PATIENCE, started
from tests.cli.running import environment
from tests.store.sample_store import rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def rated_elsewhere(place: str, account: str, song: str) -> Iterator[Callable[[], int]]:
    """Let another process rate, and give a function that says how much it was told was kept."""
    last = 0
    command = [sys.executable, "-m", "tests.store.rating_process", place, account, song]
    with started(
        command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment(), text=True
    ) as process:
        assert process.stdout is not None
        lines = process.stdout
        first = threading.Event()

        def follow() -> None:
            nonlocal last
            for line in lines:
                last = int(line)
                first.set()

        follower = threading.Thread(target=follow)
        follower.start()
        try:
            assert first.wait(PATIENCE)
            yield lambda: last
        finally:
            process.kill()
            follower.join()


def main(place: str, account: str, song: str) -> None:
    """Rate for ever."""
    with open_store(place) as store:
        for number in count():
            with store.writing() as connection:
                seq = rate(connection, account, song, f"elsewhere {number}")
            print(seq, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
