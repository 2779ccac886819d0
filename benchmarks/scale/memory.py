"""What a process holds that serves one listener from a whole catalogue: at most, and of what.

It is a process of its own, whose songs are in a file that it maps as a server does:

    python -m benchmarks.scale.memory '{"file": "songs.npy", "ratings": 500, …}'

The peak counts everything: the interpreter, its libraries, and the pages of the file that are in
memory, although the system shares those with other processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.errors import BandstandError
from bandstand_lab.speed.world import STARS
from benchmarks.program import run_as_program
from benchmarks.scale.resident import resident
from benchmarks.scale.sitting import Library, Sitting, drawn_features

if TYPE_CHECKING:
    from collections.abc import Mapping

_STEPS: Final = 10


def measure_memory(*, songs: int, columns: int, ratings: int, seed: int) -> dict[str, Any]:
    """Return what a process held at most that mapped so many songs and chose among them."""
    with TemporaryDirectory(prefix="bandstand-bench-") as folder:
        place = Path(folder) / "songs.npy"
        shape = (songs, columns)
        table = np.lib.format.open_memmap(place, mode="w+", dtype=np.float32, shape=shape)
        drawn_features(STARS, songs, columns, np.random.default_rng([seed, songs]), out=table)
        del table
        order = {"file": str(place), "ratings": ratings, "seed": seed}
        done = subprocess.run(  # noqa: S603  (our own interpreter and module)
            [sys.executable, "-m", __name__, json.dumps(order)],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        msg = f"the process that holds the songs must end with code 0, got {done.returncode}"
        raise BandstandError(msg)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def held(order: Mapping[str, Any]) -> dict[str, Any]:
    """Return what this process holds at most while it chooses, and what that is made of."""
    begin = resident()
    features = np.load(order["file"], mmap_mode="r")
    library = Library.of(features)
    sitting = Sitting(STARS, library, ratings=order["ratings"], seed=order["seed"])
    choice = sitting.choose()
    for _ in range(_STEPS):
        sitting.absorb(sitting.answer(choice))
        choice = sitting.choose()
        sitting.prepare()
    peak = resident("VmHWM:")
    parts = {
        "program": begin,
        "matrix": int(features.nbytes),
        "shared_by_listeners": library.nbytes,
        "belief": sitting.bytes_of_belief(),
        "shortlist": int(sitting.memory.nbytes),
    }
    return {
        "songs": len(features),
        "columns": features.shape[1],
        "peak": peak,
        "parts": {**parts, "passing": None if peak is None else peak - sum_of(parts)},
    }


def sum_of(parts: Mapping[str, int | None]) -> int:
    """Return the sum of what is known.

    >>> sum_of({"a": 1, "b": None, "c": 2})
    3
    """
    return sum(part for part in parts.values() if part is not None)


def main(order: str) -> None:
    """Write what this process holds, as JSON."""
    sys.stdout.write(json.dumps(held(json.loads(order))))


if __name__ == "__main__":
    run_as_program(main)
