"""Cold starts of one radio in this process, on SQLite; wall time.

A cold listener is one whom the radio does not have in memory. *From the log* all events are read
and learned; *from the snapshot* the snapshot is read, and the events after it. The belief is there
once the radio can say what it expects of one song (`Radio.view`); the first choice after that reads
all songs. Each time is that of a radio which has just been opened.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.radio.service import Radio
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from benchmarks.fixtures import songs as fixture
from benchmarks.fixtures.songs import LATER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bandstand.store.database.connection import Store
    from benchmarks.program import OnRun

# Events after the snapshot: fewer than make the radio write another one.
_TAIL: Final = 20
_SOURCES: Final = ("log", "snapshot")


@contextmanager
def _filled(songs: int, listeners: int, ratings: int) -> Iterator[tuple[Store, list[str]]]:
    """Give a store with songs, and its listeners with as many ratings each."""
    with (
        TemporaryDirectory(prefix="bandstand-bench-") as folder,
        open_store(str(Path(folder) / "radio.db")) as store,
    ):
        fixture.add_songs(store, songs)
        names = {f"listener {number}": ratings for number in range(listeners)}
        fixture.add_listeners(store, names)
        with store.reading() as connection:
            found = [account.id for account in accounts.all_accounts(connection)]
        yield store, found


def measure_cold(
    *, sizes: Sequence[int], ratings: int, rounds: int, on_run: OnRun
) -> dict[str, Any]:
    """Return how long listeners wait, one in each round, over each number of songs."""
    rows: list[dict[str, Any]] = []
    for songs in sizes:
        on_run(f"a listener with {ratings:,} ratings and a new radio with {songs:,} songs")
        rows += _cold_rows(songs, ratings, rounds)
    return {
        "rows": rows,
        "figures": {
            f"belief from the {source}": max(
                row["belief_ms"] / 1_000 for row in rows if row["source"] == source
            )
            for source in _SOURCES
        },
    }


def _cold_rows(songs: int, ratings: int, rounds: int) -> list[dict[str, Any]]:
    # One listener goes first, so that no round includes loading a library.
    with _filled(songs, rounds + 1, ratings) as (store, listeners):
        stars = dict(list(fixture.stars_by_song(store).items())[:_TAIL])
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
    from_log = _cold_times(store, account, next(iter(stars)))
    with store.writing() as connection:
        for song, count in stars.items():
            new = events.NewEvent(
                account=account, key=f"tail {song}", kind="rating", song=song, stars=count
            )
            events.append(connection, new, now=LATER - 3_600_000)
    return {"log": from_log, "snapshot": _cold_times(store, account, next(iter(stars)))}


def _cold_times(store: Store, account: str, song: str) -> tuple[float, float]:
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
