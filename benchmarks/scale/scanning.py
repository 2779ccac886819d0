"""How much faster two workers of a Dask cluster scan a library than one.

Everything is real: pieces of music in compressed files, a scheduler and workers that are processes
of their own, and the whole scan, from the walk through the folders to the songs in the store.
Both clusters stand by all the time and take turns, so that what else the machine does meets both.
"""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from bandstand._util.parallel import usable_cores
from bandstand.errors import BandstandError
from bandstand.music.library.analysers import ClusterAnalyser
from bandstand.music.library.scan import scan
from bandstand.music.library.walk import library_roots
from bandstand.store.database.connection import open_store
from bandstand_demo import demo_library
from benchmarks.scale.private_cluster import private_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL: Final[dict[str, Any]] = {"files": 10, "pieces": 2, "rounds": 1}
ASKED: Final = 1.7  # times as fast with two workers
_WORKERS: Final = (1, 2)
_WARM: Final = 8  # files for each worker, after which it has imported what it needs
_IN_FOLDER: Final = 20


def measure(
    *,
    on_run: Callable[[str], None] = lambda _: None,
    files: int = 240,
    pieces: int = 24,
    rounds: int = 3,
) -> dict[str, Any]:
    """Return files per second of one worker and of two, and what became of the ratio.

    `pieces` are composed, and copied until there are so many `files`, no two of which are equal.
    """
    with ExitStack() as open_, TemporaryDirectory() as folder:
        on_run(f"composing {pieces} pieces for {files} files")
        library, warm = Path(folder, "library"), Path(folder, "warm")
        originals = demo_library(Path(folder, "pieces"), at_least=pieces)
        _fill(library, originals, files)
        analysers = {}
        for workers in _WORKERS:
            address = open_.enter_context(private_cluster(workers=workers))
            analysers[workers] = open_.enter_context(ClusterAnalyser(address))
            analysers[workers].wait_for(workers)
            _fill(warm / str(workers), originals, _WARM * workers)
            _timed(warm / str(workers), analysers[workers], _WARM * workers)
        seconds: dict[int, list[float]] = {workers: [] for workers in _WORKERS}
        for number in range(rounds):
            for workers in _WORKERS:
                on_run(f"round {number + 1} of {rounds}: {files} files, {workers} worker(s)")
                seconds[workers].append(_timed(library, analysers[workers], files))
    return _found(seconds, files=files, pieces=len(originals))


def _found(seconds: dict[int, list[float]], *, files: int, pieces: int) -> dict[str, Any]:
    alone, both = (seconds[workers] for workers in _WORKERS)
    ratios = [one / two for one, two in zip(alone, both, strict=True)]
    ratio = statistics.median(ratios)
    return {
        "files": files,
        "pieces": pieces,
        "cores": usable_cores(),
        "rounds": len(ratios),
        "files_per_second": {
            str(workers): round(files / statistics.median(seconds[workers]), 2)
            for workers in _WORKERS
        },
        "seconds": {
            str(workers): [round(it, 3) for it in seconds[workers]] for workers in _WORKERS
        },
        "times_as_fast": [round(it, 3) for it in ratios],
        "times_as_fast_median": round(ratio, 3),
        # Whatever else the machine did can only have made a round longer.
        "times_as_fast_undisturbed": round(min(alone) / min(both), 3),
        "asked": ASKED,
        "held": ratio >= ASKED,
    }


def _fill(folder: Path, originals: list[Path], count: int) -> None:
    """Put so many files into a folder, each with a length and a content of its own."""
    for number in range(count):
        place = folder / f"{number // _IN_FOLDER:04}"
        place.mkdir(parents=True, exist_ok=True)
        copy, original = divmod(number, len(originals))
        path = originals[original]
        # What follows the last page of an Ogg file is not heard.
        (place / f"{number:06}{path.suffix}").write_bytes(path.read_bytes() + bytes(copy))


def _timed(library: Path, analyser: ClusterAnalyser, files: int) -> float:
    """Return how long a scan into a new store takes, having looked that it found everything."""
    with TemporaryDirectory() as folder, open_store(str(Path(folder, "radio.db"))) as store:
        began = time.perf_counter()
        counts = scan(store, library_roots([library]), analyser, now=lambda: 0)
        seconds = time.perf_counter() - began
    if counts.added != files:
        msg = f"a scan must find all {files} files, got {counts}"
        raise BandstandError(msg)
    return seconds
