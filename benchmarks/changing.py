"""Songs that come and go while listeners are answered.

    listeners   turn ─ turn ─ turn ─ turn ─ turn ─ turn ─ …
    library             └ some songs gone, others there ┘ known      in another thread

A change is what a scan does at its end: missing files are marked, new songs are written, the
features of all songs are brought up to date, and the radio is told. The folder that goes is the one
from which a waiting listener would get a song, so that a radio which has not noticed offers it
again. The store is SQLite; an answer is the whole of `Radio.next`, on the wall.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bandstand.library.catalogue import refreshed
from bandstand.radio.service import Radio
from bandstand.store import accounts, events, files
from bandstand.store.connection import open_store
from bandstand.store.recording import record_analyses
from benchmarks.fixtures.songs import (
    FOLDER_SONGS,
    LATER,
    NOW,
    add_listeners,
    add_songs,
    invented_song,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.store.connection import Store
    from benchmarks.program import OnRun

_SONG_MS: Final = 4 * 60_000
_STARS: Final = 3
_TURNS: Final = 24  # before the first change, and after each


class _Change(NamedTuple):
    """Songs that have come and gone."""

    gone: frozenset[str]
    new: frozenset[str]
    seconds: float  # until the radio knew


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
    with (
        TemporaryDirectory(prefix="bandstand-bench-") as folder,
        open_store(str(Path(folder) / "radio.db")) as store,
    ):
        add_songs(store, songs)
        add_listeners(store, {f"listener {number}": ratings for number in range(listeners + 1)})
        with store.reading() as connection:
            waiting, *others = (account.id for account in accounts.all_accounts(connection))
        ticks = count(LATER, _SONG_MS)
        radio = Radio(store, clock=lambda: next(ticks))
        try:
            turns = _Listeners(radio, others)
            # No new song may be in a folder that was there.
            first_new = songs + -songs % FOLDER_SONGS
            new = [
                range(first, first + FOLDER_SONGS)
                for first in range(first_new, first_new + changes * FOLDER_SONGS, FOLDER_SONGS)
            ]
            return _changed(store, turns, waiting, new)
        finally:
            radio.close()


def _changed(
    store: Store, listeners: _Listeners, waiting: str, new: Sequence[range]
) -> dict[str, Any]:
    """Change the library again and again, with turns before, during and after."""
    radio, wrong, unknown, is_tested = listeners.radio, 0, 0, True
    gone: set[str] = set()
    change_seconds = []
    for _ in range(_TURNS):  # the first answers make beliefs and shortlists
        listeners.take_turn("first")
    for _ in range(_TURNS):
        listeners.take_turn("before any change")
    with ThreadPoolExecutor(1) as pool:
        for number, songs in enumerate(new, start=1):
            offered = radio.next(waiting).song
            folder = offered.path.rpartition(b"/")[0]
            changing = pool.submit(_change, store, radio, folder, songs, number)
            while not changing.done():
                listeners.take_turn("during a change")
            change = changing.result()
            gone |= change.gone
            change_seconds.append(change.seconds)
            # A song that would not have been offered proves nothing.
            is_tested &= offered.id in change.gone
            after = [radio.next(waiting).song.id]
            after += [listeners.take_turn("after a change") for _ in range(_TURNS)]
            wrong += sum(song in gone for song in after)
            unknown += len(change.new - radio.expected(waiting).keys())
    return {
        "rows": [_row(period, times) for period, times in listeners.seconds.items()],
        "figures": {
            "answers with a song that is gone": wrong if is_tested else None,
            "new songs that are not known": unknown,
        },
        "change_seconds": change_seconds,
    }


def _change(store: Store, radio: Radio, folder: bytes, songs: range, scan: int) -> _Change:
    """Remove a folder and add another as a scan does; return once the radio knows of it."""
    new, began = [invented_song(number) for number in songs], time.perf_counter()
    with store.writing() as connection:
        gone = _songs_in(connection, folder)
        files.mark_missing(connection, folder, scan)
        record_analyses(connection, new, scan=scan, now=NOW)
        added = _songs_in(connection, new[0][0].rpartition(b"/")[0])
    refreshed(store, now=NOW)
    radio.refresh()
    return _Change(gone=gone, new=added, seconds=time.perf_counter() - began)


def _songs_in(connection: Any, folder: bytes) -> frozenset[str]:
    found = files.in_folder(connection, folder).values()
    return frozenset(file.song_id for file in found if file.song_id is not None)


def _row(period: str, seconds: Sequence[float]) -> dict[str, Any]:
    return {
        "period": period,
        "answers": len(seconds),
        "median_ms": 1_000 * float(np.median(seconds)),
        "slowest_ms": 1_000 * max(seconds),
    }
