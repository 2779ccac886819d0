"""A scan of a library by one worker of a Dask cluster, and by two.

Everything is real: music in compressed files, workers that are processes of their own, and the
whole scan, from the walk through the folders to the songs in the store. Both clusters
stand by all the time and take turns, so that other work of the machine meets both.
"""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import BandstandError
from bandstand.music.library.analysers import ClusterAnalyser
from bandstand.music.library.scan import scan
from bandstand.music.library.walk import library_roots
from bandstand.store.database.connection import open_store
from bandstand_demo import demo_library

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.program import OnRun

_WORKERS: Final = (1, 2)
_WARM_UP_FILES: Final = 8  # for each worker, which then has imported what it needs
_FOLDER_FILES: Final = 20


def measure_scan(*, files: int, pieces: int, rounds: int, on_run: OnRun) -> dict[str, Any]:
    """Return files a second of one worker and of two.

    `pieces` are composed, and copied until there are `files`, no two of which are equal.
    """
    with ExitStack() as running, TemporaryDirectory() as folder:
        on_run(f"composing {pieces} pieces for {files} files")
        library, warm_up = Path(folder, "library"), Path(folder, "warm-up")
        originals = demo_library(Path(folder, "pieces"), at_least=pieces)
        fill(library, originals, files)
        analysers = {}
        for workers in _WORKERS:
            address = running.enter_context(private_cluster(workers=workers))
            analysers[workers] = running.enter_context(ClusterAnalyser(address))
            analysers[workers].wait_for(workers)
            fill(warm_up / str(workers), originals, _WARM_UP_FILES * workers)
            _timed(warm_up / str(workers), analysers[workers], _WARM_UP_FILES * workers)
        seconds: dict[int, list[float]] = {workers: [] for workers in _WORKERS}
        for number in range(rounds):
            on_run(f"scan of {files} files, round {number + 1} of {rounds}")
            for workers in _WORKERS:
                seconds[workers].append(_timed(library, analysers[workers], files))
    return result(seconds, files=files)


def result(seconds: dict[int, list[float]], *, files: int) -> dict[str, Any]:
    """Return the speed of each cluster, and the median ratio of rounds side by side."""
    ratios = [one / two for one, two in zip(*(seconds[each] for each in _WORKERS), strict=True)]
    return {
        "rows": [
            {
                "workers": workers,
                "files": files,
                "rounds": len(seconds[workers]),
                "files_a_second": files / statistics.median(seconds[workers]),
            }
            for workers in _WORKERS
        ],
        "figures": {"one worker / two": statistics.median(ratios)},
        "ratios": ratios,
    }


def fill(folder: Path, originals: list[Path], count: int) -> None:
    """Put `count` files into a folder, each with a length and a content of its own."""
    for number in range(count):
        place = folder / f"{number // _FOLDER_FILES:04}"
        place.mkdir(parents=True, exist_ok=True)
        copy, original = divmod(number, len(originals))
        path = originals[original]
        # Bytes after the last page of an Ogg file are not heard.
        (place / f"{number:06}{path.suffix}").write_bytes(path.read_bytes() + bytes(copy))


def _timed(library: Path, analyser: ClusterAnalyser, files: int) -> float:
    """Return the seconds of a scan into a new store, which must find all files."""
    with TemporaryDirectory() as folder, open_store(str(Path(folder, "radio.db"))) as store:
        began = time.perf_counter()
        counts = scan(store, library_roots([library]), analyser, now=lambda: 0)
        seconds = time.perf_counter() - began
    if counts.added != files:
        msg = f"a scan must find all {files} files, got {counts}"
        raise BandstandError(msg)
    return seconds


@contextmanager
def private_cluster(*, workers: int) -> Iterator[str]:
    """Run a Dask cluster on this machine, and give the address of its scheduler."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster.scheduler_address
