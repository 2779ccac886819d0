"""Memory of an engine process, of a radio, and of one listener.

    python -m benchmarks.memory < order.json > held.json

What is measured runs in processes of its own, which import no more than they need. A peak counts
everything: the interpreter, its libraries, and the pages of the mapped matrix that are in memory,
although processes share those.
"""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.core.engines.engine import array_bytes
from bandstand_lab.speed.training import STARS
from benchmarks.program import answer_order, child
from benchmarks.steps import Session, drawn_features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand.radio.service import Radio
    from benchmarks.program import OnRun

_STEPS: Final = 10  # of the engine
_SONGS: Final = 3  # that the radio's listener asks for
_MEGABYTE: Final = 1_000_000
_PROGRAM_BYTES: Final = 150 * _MEGABYTE  # allowed beside the matrix
_STATUS: Final = Path("/proc/self/status")


def measure_memory(
    *, songs: int, columns: int, ratings: Sequence[int], seed: int, on_run: OnRun
) -> dict[str, Any]:
    """Return what an engine process, a radio, and listeners with each of `ratings` hold."""
    on_run(f"memory of an engine with {songs:,} songs")
    engine = _engine(songs, columns, ratings, seed)
    on_run(f"memory of a radio with {songs:,} songs, which are written first")
    radio = _radio(songs, ratings)
    rows = [_row("engine", engine), _row("radio", radio)]
    sizes = zip(ratings, engine["belief_mb"], radio["state_mb"], strict=True)
    return {
        "rows": rows,
        "figures": {
            **{f"{row['process']} beyond 150 MB": row["matrices"] for row in rows},
            "a listener with most ratings": max(radio["state_mb"]),
        },
        "more_rows": {
            "a listener": [
                {"ratings": count, "belief_mb": belief, "state_mb": state}
                for count, belief, state in sizes
            ]
        },
    }


def _row(process: str, held: Mapping[str, Any]) -> dict[str, Any]:
    peak, matrix = held["peak"], held["matrix"]
    return {
        "process": process,
        "songs": held["songs"],
        "peak_mb": None if peak is None else peak / _MEGABYTE,
        "matrix_mb": matrix / _MEGABYTE,
        "matrices": None if peak is None else (peak - _PROGRAM_BYTES) / matrix,
    }


def _engine(songs: int, columns: int, ratings: Sequence[int], seed: int) -> dict[str, Any]:
    """Return what a process holds that maps the songs from a file and chooses among them."""
    with TemporaryDirectory(prefix="bandstand-bench-") as folder:
        place = Path(folder) / "songs.npy"
        table = np.lib.format.open_memmap(
            place, mode="w+", dtype=np.float32, shape=(songs, columns)
        )
        drawn_features(STARS, songs, columns, np.random.default_rng([seed, songs]), out=table)
        del table
        return child("memory", {"matrix": str(place), "ratings": list(ratings), "seed": seed})


def _radio(songs: int, ratings: Sequence[int]) -> dict[str, Any]:
    """Return what a process holds that opens a store and answers a listener."""
    from bandstand.store.database.connection import open_store
    from benchmarks.fixtures.songs import add_listeners, add_songs

    with TemporaryDirectory(prefix="bandstand-bench-") as folder:
        place = str(Path(folder) / "radio.db")
        with open_store(place) as store:
            add_songs(store, songs)
            # The first makes what all listeners share; the others are measured.
            counts = [max(ratings), *ratings]
            add_listeners(store, {f"listener {row}": count for row, count in enumerate(counts)})
        child("memory", {"store": place})  # the first opening reads the library and keeps it
        return child("memory", {"store": place})


def held_by_engine(order: Mapping[str, Any]) -> dict[str, Any]:
    """Return what this process holds after some steps of a listener."""
    features = np.load(order["matrix"], mmap_mode="r")
    *others, most = sorted(order["ratings"])
    session = Session(STARS, features, ratings=most, seed=order["seed"])
    choice = session.choose()
    for _ in range(_STEPS):
        session.learn(session.rate(choice))
        choice = session.choose()
        session.recommender.work_behind_answer()
    peak, beliefs = peak_bytes(), {most: array_bytes(session.recommender.model.belief)}
    for count in others:
        newcomer = Session(STARS, features, ratings=count, seed=order["seed"])
        beliefs[count] = array_bytes(newcomer.recommender.model.belief)
    return {
        "songs": len(features),
        "peak": peak,
        "matrix": int(features.nbytes),
        "belief_mb": [beliefs[count] / _MEGABYTE for count in order["ratings"]],
    }


def held_by_radio(order: Mapping[str, Any]) -> dict[str, Any]:
    """Return what this process holds after it has opened a store and answered."""
    from bandstand.music.catalogue.refresh import current
    from bandstand.radio.service import Radio
    from bandstand.store import accounts
    from bandstand.store.database.connection import open_store
    from benchmarks.fixtures.songs import LATER

    with open_store(order["store"]) as store:
        radio = Radio(store, clock=lambda: LATER)
        try:
            with store.reading() as connection:
                first, *others = (one.id for one in accounts.all_accounts(connection))
            for _ in range(_SONGS):
                radio.next(first)
            radio.wait_until_rebuilt()  # or else its work would count for the next listener
            catalogue = current(store)
            return {
                "songs": 0 if catalogue is None else len(catalogue.features),
                "peak": peak_bytes(),
                "matrix": 0 if catalogue is None else int(catalogue.features.nbytes),
                "state_mb": [_state_bytes(radio, account) / _MEGABYTE for account in others],
            }
        finally:
            radio.close()


def _state_bytes(radio: Radio, account: str) -> int:
    """Return what Python allocates, and keeps, to answer one more listener."""
    gc.collect()
    tracemalloc.start()
    try:
        radio.next(account)
        radio.wait_until_rebuilt()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def peak_bytes() -> int | None:
    """Return the most that this process has held; None where the system does not say."""
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1_024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), None)


if __name__ == "__main__":
    answer_order(lambda order: (held_by_engine if "matrix" in order else held_by_radio)(order))
