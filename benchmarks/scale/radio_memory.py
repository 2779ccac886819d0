"""What a radio holds that has opened a whole library: names, artists and genres included.

The store is filled by this process, and opened by another one, which answers a listener and
then says what it holds:

    python -m benchmarks.scale.radio_memory '{"store": "radio.db"}'
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import BandstandError
from bandstand.radio.service import Radio
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from benchmarks.invented import NOW, add_listeners, add_songs
from benchmarks.program import run_as_program
from benchmarks.scale.resident import resident

if TYPE_CHECKING:
    from collections.abc import Mapping

_LATER: Final = NOW + 365 * 86_400_000
_SONGS: Final = 3  # that the listener asks for


def measure_radio(*, songs: int, ratings: int) -> dict[str, Any]:
    """Return what a radio with so many songs holds at most, and how long it takes to open."""
    with TemporaryDirectory(prefix="bandstand-bench-") as folder:
        place = Path(folder) / "radio.db"
        began = time.perf_counter()
        with open_store(str(place)) as store:
            add_songs(store, songs)
            add_listeners(store, {"listener": ratings})
        filled = time.perf_counter() - began
        # The first opening reads the library; from then on it is found as it was read.
        first, again = (_opened(str(place)) for _ in range(2))
    return {**again, "filling_seconds": filled, "first_opening": first}


def _opened(store: str) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603  (our own interpreter and module)
        [sys.executable, "-m", __name__, json.dumps({"store": store})],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        msg = f"the process that opens the library must end with code 0, got {done.returncode}"
        raise BandstandError(msg)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def held(order: Mapping[str, Any]) -> dict[str, Any]:
    """Return what this process holds at most after it has opened a store and answered."""
    program = resident()
    with open_store(order["store"]) as store:
        began = time.perf_counter()
        radio = Radio(store, clock=lambda: _LATER)
        opened = time.perf_counter() - began
        try:
            with store.reading() as connection:
                (account,) = accounts.all_accounts(connection)
            for _ in range(_SONGS):
                radio.next(account.id)
            catalogue = radio.shelf.catalogue
            return {
                "songs": len(radio.shelf),
                "peak": resident("VmHWM:"),
                "program": program,
                "matrix": 0 if catalogue is None else int(catalogue.features.nbytes),
                "opening_seconds": opened,
            }
        finally:
            radio.close()


def main(order: str) -> None:
    """Write what this process holds, as JSON."""
    sys.stdout.write(json.dumps(held(json.loads(order))))


if __name__ == "__main__":
    run_as_program(main)
