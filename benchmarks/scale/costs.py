"""What a song, a listener and a rating take, in bytes: on the disk and in memory, at three sizes.

Everything is written by the program's own code into stores that are thrown away, and counted as
the files that are then there. Memory is what Python has allocated for the listener: the log as it
was read, what was learned from it, and the shortlist of a first choice.
"""

from __future__ import annotations

import gc
import tracemalloc
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from bandstand.algorithms.registry import DEFAULT
from bandstand.model.slopes import straight_line
from bandstand.radio.choice.choosing import Model
from bandstand.radio.choice.shelf import load_shelf
from bandstand.radio.log import ledger_store
from bandstand.radio.log.ledger_bytes import to_bytes
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from benchmarks.invented import NOW, add_listeners, add_songs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bandstand.radio.choice.shelf import Shelf
    from bandstand.store.accounts import Account
    from bandstand.store.database.connection import Store

_FEW: Final = 500  # songs, where ratings are counted
_MANY: Final = 100  # listeners at once, so that whole pages are filled
_LATER: Final = NOW + 365 * 86_400_000


def measure_costs(
    *, songs: Sequence[int], ratings: Sequence[int], on_run: Callable[[str], None]
) -> dict[str, Any]:
    """Return the bytes of stores with so many songs, and of listeners with so many ratings."""
    on_run("writing songs")
    by_songs = [_song_bytes(count) for count in songs]
    on_run("writing listeners and ratings")
    by_ratings = [_rating_bytes(count) for count in ratings]
    account = _account_bytes()
    return {
        "songs": by_songs,
        "ratings": by_ratings,
        "each": {
            "song_in_store": _each(by_songs, "songs", "store"),
            "song_in_matrix": _each(by_songs, "songs", "matrix"),
            "rating_in_log": _each(by_ratings, "ratings", "log"),
            "rating_in_snapshot": _each(by_ratings, "ratings", "snapshot"),
            "rating_in_memory": _each(by_ratings, "ratings", "history"),
            "listener_in_store": account,
        },
    }


def _song_bytes(songs: int) -> dict[str, Any]:
    with TemporaryDirectory(prefix="bandstand-bench-") as folder:
        place = Path(folder) / "radio.db"
        with open_store(str(place)) as store:
            add_songs(store, songs)
        store_bytes = place.stat().st_size
        return {"songs": songs, "store": store_bytes, "matrix": _files(folder) - store_bytes}


def _rating_bytes(ratings: int) -> dict[str, Any]:
    """Return what a listener's ratings take: in the log, in the snapshot, and while listening.

    `history` is what is in memory beside the belief and the shortlist, neither of which need
    grow with the ratings.
    """
    with TemporaryDirectory(prefix="bandstand-bench-") as folder:
        place = Path(folder) / "radio.db"
        with open_store(str(place)) as store:
            add_songs(store, _FEW)
        before = place.stat().st_size
        with open_store(str(place)) as store:
            add_listeners(store, {"listener": ratings})
            with store.reading() as connection:
                (account,) = accounts.all_accounts(connection)
                ledger = ledger_store.read(connection, account.id)
            held = _held(store, load_shelf(store), account)
        return {
            "ratings": ratings,
            "log": place.stat().st_size - before,
            "snapshot": len(to_bytes(ledger)),
            **held,
        }


def _held(store: Store, shelf: Shelf, account: Account) -> dict[str, int]:
    """Return what is allocated for a listener who is here, and what that is made of."""
    _listening(store, shelf, account)  # what the shelf makes for all listeners is there by now
    with _traced() as allocated:
        model = _listening(store, shelf, account)
        gc.collect()
        whole = allocated()
    learner = model.learner
    belief, shortlist = (
        int(getattr(each, "nbytes", 0))
        for each in ((None, None) if learner is None else (learner.belief, learner.memory))
    )
    return {
        "held": whole,
        "belief": belief,
        "shortlist": shortlist,
        "history": whole - belief - shortlist,
    }


def _listening(store: Store, shelf: Shelf, account: Account) -> Model:
    """Return the model of a listener who has just got a first song."""
    with store.reading() as connection:
        ledger = ledger_store.read(connection, account.id)
    model = Model.begin(shelf, ledger, algorithm=DEFAULT, seed=account.seed)
    model.choose(now=_LATER)
    return model


@contextmanager
def _traced() -> Iterator[Callable[[], int]]:
    """Give what tells how many bytes were allocated since, and are still there."""
    was_on = tracemalloc.is_tracing()
    if not was_on:
        tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        yield lambda: tracemalloc.get_traced_memory()[0] - before
    finally:
        if not was_on:
            tracemalloc.stop()


def _account_bytes() -> float:
    """Return what an account with a session takes that has rated nothing."""
    with TemporaryDirectory(prefix="bandstand-bench-") as folder:
        place = Path(folder) / "radio.db"
        sizes = []
        for turn in range(2):
            with open_store(str(place)) as store:
                add_listeners(store, {f"listener {turn} {number}": 0 for number in range(_MANY)})
            sizes.append(place.stat().st_size)
        return (sizes[1] - sizes[0]) / _MANY


def _files(folder: str) -> int:
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


def _each(rows: Sequence[dict[str, Any]], count: str, size: str) -> float | None:
    """Return by how much `size` grows with one more: the slope of a straight line."""
    line = straight_line([row[count] for row in rows], [row[size] for row in rows])
    return None if line is None else line.slope
