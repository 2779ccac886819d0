"""A listener whom the radio does not have in memory: from a question to the first song.

    from the log         all events are read, and the engine learns from all of them
    from the snapshot    the snapshot is read, and the events that came after it

The belief is there once the radio can say what it expects of one song (`Radio.view`). The first
choice after that reads all songs. Each time is that of a radio which has just been opened, on the
wall. The store is SQLite.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.radio.service import Radio
from bandstand.store import accounts, events
from bandstand.store.connection import open_store
from benchmarks.fixtures.songs import LATER, add_listeners, add_songs, stars_by_song

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.store.connection import Store
    from benchmarks.program import OnRun

# Events after the snapshot: fewer than make the radio write another one.
_TAIL: Final = 20
_SOURCES: Final = ("log", "snapshot")


def measure_cold(
    *, sizes: Sequence[int], ratings: int, rounds: int, on_run: OnRun
) -> dict[str, Any]:
    """Return how long listeners wait, one in each round, over each number of songs."""
    rows: list[dict[str, Any]] = []
    for songs in sizes:
        on_run(f"a listener with {ratings:,} ratings and a new radio with {songs:,} songs")
        rows += _rows(songs, ratings, rounds)
    return {
        "rows": rows,
        "figures": {
            f"belief from the {source}": max(
                row["belief_ms"] / 1_000 for row in rows if row["source"] == source
            )
            for source in _SOURCES
        },
    }


def _rows(songs: int, ratings: int, rounds: int) -> list[dict[str, Any]]:
    with (
        TemporaryDirectory(prefix="bandstand-bench-") as folder,
        open_store(str(Path(folder) / "radio.db")) as store,
    ):
        add_songs(store, songs)
        # One goes first, so that no round includes loading a library.
        add_listeners(store, {f"listener {number}": ratings for number in range(rounds + 1)})
        with store.reading() as connection:
            listeners = [account.id for account in accounts.all_accounts(connection)]
        stars = dict(list(stars_by_song(store).items())[:_TAIL])
        times = [_both(store, account, stars) for account in listeners][1:]
    return [
        {
            "source": source,
            "songs": songs,
            "ratings": ratings,
            "belief_ms": 1_000 * float(np.median([both[source][0] for both in times])),
            "first_choice_ms": 1_000 * float(np.median([both[source][1] for both in times])),
        }
        for source in _SOURCES
    ]


def _both(store: Store, account: str, stars: dict[str, int]) -> dict[str, tuple[float, float]]:
    """Return the times from the log, after which the radio keeps a snapshot; and from that."""
    from_log = _times(store, account, next(iter(stars)))
    with store.writing() as connection:
        for song, count in stars.items():
            new = events.NewEvent(
                account=account, key=f"tail {song}", kind="rating", song=song, stars=count
            )
            events.append(connection, new, now=LATER - 3_600_000)
    return {"log": from_log, "snapshot": _times(store, account, next(iter(stars)))}


def _times(store: Store, account: str, song: str) -> tuple[float, float]:
    """Return the seconds until there is a belief, and those of the choice after it."""
    radio = Radio(store, clock=lambda: LATER)
    try:
        began = time.perf_counter()
        radio.view(account, song)
        believed = time.perf_counter()
        radio.next(account)
        return believed - began, time.perf_counter() - believed
    finally:
        radio.close()
