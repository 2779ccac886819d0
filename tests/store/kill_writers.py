"""Kills a writing process repeatedly: `python -m tests.store.kill_writers PLACE COUNT SEED`.

Each time a process opens the store and sends events of several accounts until it is killed with
SIGKILL at a drawn moment. Then the store is opened again, every acknowledged event is looked for,
and what was on its way is sent once more, as its sender would. One line of JSON says what came of
it. Processes are forked from one that has imported everything, so that the moment falls into the
writing and not into the start of Python.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from typing import Any

from bandstand.store import accounts
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.writer import GroupWriter
from bandstand.store.events import events
from bandstand.store.songs.songs import present
from tests.store.sample_log import rating
from tests.store.send_events import prepare, send, sent

THREADS = 4
LONGEST = 0.3  # seconds until the kill


def main(place: str, count: int, seed: int) -> None:
    """Kill so many times, and say what came of each."""
    draw = random.Random(seed)  # noqa: S311
    prepare(place, THREADS)
    told: dict[tuple[str, str], int] = {}
    for turn in range(count):
        # Half of them when it has just begun, however long that takes, half when it is at work.
        least = THREADS * (turn % 2)
        new = _killed(place, f"{turn}-", draw.uniform(0.02, LONGEST), least=least)
        told |= new
        print(json.dumps({"told": len(new), **_judged(place, turn, told)}), flush=True)  # noqa: T201


def _killed(place: str, prefix: str, seconds: float, *, least: int) -> dict[tuple[str, str], int]:
    """Return what a process acknowledged before it was killed, some seconds after the least."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        os.dup2(writing, 1)
        with open_store(place) as store:
            send(store, count=10**9, threads=THREADS, prefix=prefix)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = [pipe.readline() for _ in range(least)]
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
        lines += pipe.readlines()
    os.waitpid(process, 0)
    words = [line.split() for line in lines]
    assert all(word[0] == "stored" for word in words), words
    return {(account, key): int(seq) for _, account, key, seq in words}


def _judged(place: str, turn: int, told: dict[tuple[str, str], int]) -> dict[str, Any]:
    """Return what is wrong after a kill: events lost or doubled, logs that are not whole."""
    with open_store(place) as store:
        again = _sent_again(store, turn, told)
        with store.reading() as connection:
            ids = [account.id for account in accounts.all_accounts(connection)]
            problems = [it for account in ids for it in events.check_chain(connection, account)]
            log = [event for account in ids for event in events.after(connection, account)]
    stored = {(event.account, event.key): event.seq for event in log}
    return {
        "lost": sum(stored.get(key) != seq for key, seq in told.items()),
        "doubled": len(log) - len(stored) + again,
        "problems": problems,
    }


def _sent_again(store: Store, turn: int, told: dict[tuple[str, str], int]) -> int:
    """Send what was on its way twice more, and return how many were not one event."""
    with store.reading() as connection:
        ids = [account.id for account in accounts.all_accounts(connection)]
        songs = [song.id for song in present(connection)]
    doubled = 0
    with GroupWriter(store) as writer:
        for account in ids:
            number = sum((account, f"{turn}-{n}") in told for n in range(len(told) + 1))
            new = rating(account, songs[number % len(songs)], f"{turn}-{number}")
            first, second = sent(writer, new), sent(writer, new)
            doubled += second.is_new or first.event != second.event
    return doubled


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
