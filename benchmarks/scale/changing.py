"""Songs that come and go while listeners are answered.

    listeners   turn ─ turn ─ turn ─ turn ─ turn ─ turn ─ …      one thread of a radio
    library             └ some songs gone, others there ┘ known   another

A change is what a scan does at its end: files that are gone are marked, new songs are written, the
features of all songs are brought up to date, and the radio takes notice. Gone are the songs of the
folder from which a listener who waits would be given one, so that a radio which has not noticed
offers it again. The store is SQLite; an answer is the whole of `Radio.next`.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bandstand.music.catalogue.refresh import refreshed
from bandstand.radio.service import Radio
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from bandstand.store.songs import files
from bandstand.store.songs.save_analysis import record_analyses
from bandstand_lab.speed.timing import Spread
from benchmarks.invented import NOW, add_listeners, add_songs, invented_song
from benchmarks.latencies import latencies_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from bandstand.store.database.connection import Store

_LATER: Final = NOW + 365 * 86_400_000
_SONG: Final = 4 * 60_000  # milliseconds
_STARS: Final = 3
_NEW: Final = 10  # songs that come with each change: a folder of them
_TURNS: Final = 24  # before the first change, and between two
_LOOK_AFTER: Final = 0.005


class Turn(NamedTuple):
    """An answer to a listener."""

    began: float
    ended: float
    song: str


class Change(NamedTuple):
    """A change of the library, from its beginning until the radio knew of it."""

    began: float
    known: float
    gone: frozenset[str]
    new: int
    new_on_shelf: int
    offered_before: str  # to the listener who waits, …
    offered_after: str  # … and once the change was known


@dataclass(slots=True)
class _Evening:
    """A radio, listeners who take turns, and what was answered."""

    store: Store
    radio: Radio
    listeners: Sequence[str]
    turns: list[Turn] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def take_turns(self) -> None:
        """Answer one listener after the other, each of whom rates the song, until it is over."""
        for number in count():
            if self.is_over.is_set():
                return
            account = self.listeners[number % len(self.listeners)]
            began = time.perf_counter()
            song = self.radio.next(account).song.id
            self.turns.append(Turn(began, time.perf_counter(), song))
            rating = events.NewEvent(
                account=account, key=f"turn {number}", kind="rating", song=song, stars=_STARS
            )
            self.radio.submit(rating).result()

    def wait(self, more: int, turns: Future[None]) -> None:
        """Wait until so many more turns were taken."""
        wanted = len(self.turns) + more
        while len(self.turns) < wanted and not turns.done():
            time.sleep(_LOOK_AFTER)

    def change(self, scan: int, first_new: int, waiting: str) -> Change:
        """Let songs go and others come, as a scan does; return once the radio knows of it."""
        before = self.radio.next(waiting).song
        folder = before.path.rpartition(b"/")[0]
        new = [invented_song(first_new + place) for place in range(_NEW)]
        began = time.perf_counter()
        with self.store.writing() as connection:
            gone = files.in_folder(connection, folder).values()
            files.mark_missing(connection, folder, scan)
            record_analyses(connection, new, scan=scan, now=NOW)
        refreshed(self.store, now=NOW)
        self.radio.refresh()
        known = time.perf_counter()
        return Change(
            began=began,
            known=known,
            gone=frozenset(file.song_id for file in gone if file.song_id is not None),
            new=len(new),
            new_on_shelf=self._on_shelf([path for path, _ in new]),
            offered_before=before.id,
            offered_after=self.radio.next(waiting).song.id,
        )

    def _on_shelf(self, paths: Sequence[bytes]) -> int:
        with self.store.reading() as connection:
            found = [files.in_folder(connection, path.rpartition(b"/")[0])[path] for path in paths]
        rows = self.radio.shelf.row_of.of(
            [file.song_id for file in found if file.song_id is not None]
        )
        return int((rows >= 0).sum())


def measure_changing(
    *,
    songs: int,
    ratings: int,
    listeners: int = 4,
    changes: int = 5,
    on_run: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return how long answers took while songs came and went, and whether any was of one gone."""
    on_run(f"songs that come and go, {songs:,} of them")
    with (
        TemporaryDirectory(prefix="bandstand-bench-") as folder,
        open_store(str(Path(folder) / "radio.db")) as store,
    ):
        add_songs(store, songs)
        add_listeners(store, {f"listener {number}": ratings for number in range(listeners + 1)})
        with store.reading() as connection:
            waiting, *others = (account.id for account in accounts.all_accounts(connection))
        ticks = count(_LATER, _SONG)
        radio = Radio(store, clock=lambda: next(ticks))
        try:
            evening = _Evening(store, radio, others)
            found = _changed(evening, waiting, first_new=songs, changes=changes)
        finally:
            radio.close()
    return {"songs": songs, "ratings": ratings, **found_json(evening.turns, found)}


def _changed(evening: _Evening, waiting: str, *, first_new: int, changes: int) -> list[Change]:
    found = []
    # A folder has ten songs, and no new one may be in one that was there.
    first_new += -first_new % _NEW
    with ThreadPoolExecutor(1) as pool:
        turns = pool.submit(evening.take_turns)
        try:
            for number in range(changes):
                evening.wait(_TURNS, turns)
                found.append(evening.change(number + 1, first_new + _NEW * number, waiting))
            evening.wait(_TURNS, turns)
        finally:
            evening.is_over.set()
        turns.result()
    return found


def found_json(turns: Sequence[Turn], changes: Sequence[Change]) -> dict[str, Any]:
    """Return the times of answers, and how many were of songs that were known to be gone."""
    quiet = [turn for turn in turns if turn.ended < changes[0].began]
    during = [
        turn
        for turn in turns
        if any(turn.began < change.known and change.began < turn.ended for change in changes)
    ]
    after = [(turn, change) for turn in turns for change in changes if turn.began > change.known]
    return {
        "changes": len(changes),
        "change_seconds": Spread(
            runs=tuple(change.known - change.began for change in changes)
        ).as_json(),
        "gone": sum(len(change.gone) for change in changes),
        "new": sum(change.new for change in changes),
        "new_on_shelf": sum(change.new_on_shelf for change in changes),
        # The first answers make beliefs and shortlists.
        "quiet": _times(quiet[len(quiet) // 2 :]),
        "while_changing": _times(during),
        "all": _times(turns),
        "answers_after": len({turn for turn, _ in after}) + len(changes),
        "offered_before": sum(change.offered_before in change.gone for change in changes),
        "offered_though_gone": sum(turn.song in change.gone for turn, change in after)
        + sum(change.offered_after in change.gone for change in changes),
    }


def _times(turns: Sequence[Turn]) -> dict[str, Any] | None:
    return latencies_of(turn.ended - turn.began for turn in turns).as_json() if turns else None
