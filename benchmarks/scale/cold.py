"""A listener whom the radio does not know: from a question to the first song.

    from the log         all events are read, and the engine learns from all of them
    from the snapshot    the snapshot is read, and the events that came after it

Three times are told apart. A belief is `usable` once the log is read and learned: it does not hang
on how many songs there are. The `first_choice` after that reads the features of all songs. `next`
is the whole of `Radio.next` in a radio that has just begun, as the listener waits for it.
The store is SQLite.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from bandstand.radio.catching_up import caught_up, stands
from bandstand.radio.log import ledger_store
from bandstand.radio.seats import Seat
from bandstand.radio.service import Radio
from bandstand.radio.stock import load_stock
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from bandstand_lab.speed.timing import Spread
from benchmarks.invented import NOW, add_listeners, add_songs, stars_by_song

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bandstand.radio.stock import Stock
    from bandstand.store.database.connection import Store

# Events after the snapshot: fewer than make the radio write another one.
_TAIL: Final = 20
_LATER: Final = NOW + 365 * 86_400_000


class _Took(NamedTuple):
    """How long something took, by the clock on the wall and by the processor."""

    wall: float
    processor: float


_Times: TypeAlias = dict[str, _Took]


def measure_cold(
    *,
    sizes: Sequence[int],
    ratings: int,
    rounds: int,
    on_run: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return how long listeners with so many ratings wait, one per round, over so many songs."""
    found = []
    for songs in sizes:
        on_run(f"a listener with {ratings:,} ratings whom a radio with {songs:,} songs meets")
        found.append(_measured(songs, ratings, rounds))
    return {"ratings": ratings, "tail": _TAIL, "sizes": found}


def _measured(songs: int, ratings: int, rounds: int) -> dict[str, Any]:
    with (
        TemporaryDirectory(prefix="bandstand-bench-") as folder,
        open_store(str(Path(folder) / "radio.db")) as store,
    ):
        add_songs(store, songs)
        add_listeners(store, {f"listener {number}": ratings for number in range(rounds + 1)})
        stock = load_stock(store)
        first, *others = _accounts(store)
        # One goes first, so that nobody pays for loading a library.
        _both(store, stock, first)
        found = [_both(store, stock, account) for account in others]
    return {
        "songs": songs,
        "from_log": _spreads([log for log, _ in found]),
        "from_snapshot": _spreads([snapshot for _, snapshot in found]),
    }


def _both(store: Store, stock: Stock, account: str) -> tuple[_Times, _Times]:
    """Return the times from the log alone, and from a snapshot with a tail."""
    from_log = _times(store, stock, account)
    _save_snapshot(store, account)
    _add_tail(store, account)
    return from_log, _times(store, stock, account)


def _times(store: Store, stock: Stock, account: str) -> _Times:
    """Return how long the radio's own way to a belief takes, and to a first song."""
    seat = Seat(account)
    with _watch() as usable:
        # What the radio would save now, it would find the next time: nothing is saved here.
        model = caught_up(seat, stands(store, seat, lambda *_: None), stock)
    with _watch() as first_choice:
        model.choose(now=_LATER)
    radio = Radio(store, clock=lambda: _LATER)
    try:
        with _watch() as whole:
            radio.next(account)
    finally:
        radio.close()
    return {"usable": usable[0], "first_choice": first_choice[0], "next": whole[0]}


@contextmanager
def _watch() -> Iterator[list[_Took]]:
    """Give a list that has the time of what is done within, afterwards."""
    took: list[_Took] = []
    began, began_processor = time.perf_counter(), time.process_time()
    yield took
    wall, processor = time.perf_counter() - began, time.process_time() - began_processor
    took.append(_Took(wall, processor))


def _save_snapshot(store: Store, account: str) -> None:
    """Keep what the log says so far, as the radio does after an answer."""
    with store.writing() as connection:
        ledger_store.save(connection, account, ledger_store.read(connection, account))


def _add_tail(store: Store, account: str) -> None:
    stars = list(stars_by_song(store).items())[:_TAIL]
    with store.writing() as connection:
        for song, count in stars:
            new = events.NewEvent(
                account=account, key=f"tail {song}", kind="rating", song=song, stars=count
            )
            events.append(connection, new, now=_LATER - 3_600_000)


def _accounts(store: Store) -> Iterator[str]:
    with store.reading() as connection:
        yield from [account.id for account in accounts.all_accounts(connection)]


def _spreads(found: Sequence[_Times]) -> dict[str, Any]:
    return {
        name: {
            "wall_seconds": Spread(runs=tuple(each[name].wall for each in found)).as_json(),
            "processor_seconds": Spread(
                runs=tuple(each[name].processor for each in found)
            ).as_json(),
        }
        for name in found[0]
    }
