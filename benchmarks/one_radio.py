"""One radio in this process, on SQLite: cold starts, and songs that come and go; wall time.

A cold listener is one whom the radio does not have in memory. *From the log* all events are read
and learned; *from the snapshot* the snapshot is read, and the events after it. The belief is there
once the radio can say what it expects of one song (`Radio.view`); the first choice after that reads
all songs. Each time is that of a radio which has just been opened.

A change is what a scan does at its end, here in another thread while listeners take turns: missing
files are marked, new songs are written, the features of all songs are brought up to date, and the
radio is refreshed. The folder that goes is the one from which a waiting listener would get a song,
so that a radio which has not noticed offers it again.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.music.catalogue.refresh import refreshed
from bandstand.radio.service import Radio
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from bandstand.store.songs import files
from bandstand.store.songs.save_analysis import record_analyses
from benchmarks.fixtures import songs as fixture
from benchmarks.fixtures.songs import FOLDER_SONGS, LATER, NOW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bandstand.store.database.connection import Store
    from benchmarks.program import OnRun

# Events after the snapshot: fewer than make the radio write another one.
_TAIL: Final = 20
_SOURCES: Final = ("log", "snapshot")
_SONG_MS: Final = 4 * 60_000
_STARS: Final = 3
_TURNS: Final = 24  # before the first change, and after each


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


@dataclass(slots=True)
class _Listeners:
    """Listeners who take turns at a radio; `seconds` are those of their answers by period."""

    radio: Radio
    accounts: Sequence[str]
    turns: count[int] = field(default_factory=count)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def take_turn(self, period: str) -> str:
        """Answer the next listener, who rates the song; return the song."""
        number = next(self.turns)
        account = self.accounts[number % len(self.accounts)]
        began = time.perf_counter()
        song = self.radio.next(account).song.id
        self.seconds.setdefault(period, []).append(time.perf_counter() - began)
        rating = events.NewEvent(
            account=account, key=f"turn {number}", kind="rating", song=song, stars=_STARS
        )
        self.radio.submit(rating).result()
        return song


def measure_changing(
    *, songs: int, ratings: int, on_run: OnRun, listeners: int = 4, changes: int = 5
) -> dict[str, Any]:
    """Return how long answers took while songs came and went, and how many were of songs gone."""
    on_run(f"songs that come and go, {songs:,} of them")
    with _filled(songs, listeners + 1, ratings) as (store, (waiting, *others)):
        ticks = count(LATER, _SONG_MS)
        radio = Radio(store, clock=lambda: next(ticks))
        # No new song may be in a folder that was there.
        begin = songs + -songs % FOLDER_SONGS
        firsts = range(begin, begin + changes * FOLDER_SONGS, FOLDER_SONGS)
        try:
            return _changed(store, _Listeners(radio, others), waiting, firsts)
        finally:
            radio.close()


def _changed(store: Store, listeners: _Listeners, waiting: str, firsts: range) -> dict[str, Any]:
    """Change the library again and again, with turns before, during and after."""
    radio, wrong, unknown, is_tested = listeners.radio, 0, 0, True
    gone: set[str] = set()
    for _ in range(_TURNS):  # the first answers make beliefs and shortlists
        listeners.take_turn("first")
    for _ in range(_TURNS):
        listeners.take_turn("before any change")
    with ThreadPoolExecutor(1) as pool:
        for number, first in enumerate(firsts, start=1):
            offered = radio.next(waiting).song
            folder = offered.path.rpartition(b"/")[0]
            changing = pool.submit(_change, store, radio, folder, first, number)
            while not changing.done():
                listeners.take_turn("during a change")
            removed, added = changing.result()
            gone |= removed
            # A song that would not have been offered proves nothing.
            is_tested &= offered.id in removed
            after = [radio.next(waiting).song.id]
            after += [listeners.take_turn("after a change") for _ in range(_TURNS)]
            wrong += sum(song in gone for song in after)
            unknown += len(added - radio.expected(waiting).keys())
    return {
        "rows": [_row(period, times) for period, times in listeners.seconds.items()],
        "figures": {
            "answers with a song that is gone": wrong if is_tested else None,
            "new songs that are not known": unknown,
        },
    }


def _change(
    store: Store, radio: Radio, folder: bytes, first: int, scan: int
) -> tuple[set[str], set[str]]:
    """Remove a folder and add another as a scan does; return the songs, once the radio knows."""
    new = [fixture.invented_song(first + place) for place in range(FOLDER_SONGS)]
    with store.writing() as connection:
        gone = _songs_in(connection, folder)
        files.mark_missing(connection, folder, scan)
        record_analyses(connection, new, scan=scan, now=NOW)
        added = _songs_in(connection, new[0][0].rpartition(b"/")[0])
    refreshed(store, now=NOW)
    radio.refresh()
    return gone, added


def _songs_in(connection: Any, folder: bytes) -> set[str]:
    found = files.in_folder(connection, folder).values()
    return {file.song_id for file in found if file.song_id is not None}


def _row(period: str, seconds: Sequence[float]) -> dict[str, Any]:
    return {
        "period": period,
        "answers": len(seconds),
        "median_ms": 1_000 * float(np.median(seconds)),
        "slowest_ms": 1_000 * max(seconds),
    }
