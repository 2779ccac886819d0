"""The same function of many values, on this machine's processors or on a Dask cluster.

Tasks know nothing of each other, so results do not depend on how many run at once, nor where.
Processes of this machine are joblib's; a function travels by its name, so it must be one of a
module.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.parallel.cluster import connected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")
R = TypeVar("R")


def usable_cores() -> int:
    """Return how many processors this process may use: a container may have fewer than all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_tasks(
    function: Callable[[T], R],
    tasks: Sequence[T],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
) -> Iterator[tuple[int, R]]:
    """Yield the number of each task and its result, as they are done: in any order.

    `workers` is the number of processes here, as many as there are processors unless given;
    `scheduler` is the address of a Dask cluster that works instead. What a task raises is raised
    here, and those that have not begun never do.

    >>> sorted(run_tasks(abs, [-3, 2], workers=1))
    [(0, 3), (1, 2)]
    """
    if scheduler is not None:
        return _on_cluster(function, tasks, scheduler)
    count = usable_cores() if workers is None else workers
    if count < 1:
        msg = f"there must be at least one worker, got {count}"
        raise InvalidInputError(msg)
    if min(count, len(tasks)) <= 1:
        return ((number, function(task)) for number, task in enumerate(tasks))
    return _in_processes(function, tasks, min(count, len(tasks)))


def _in_processes(
    function: Callable[[T], R], tasks: Sequence[T], workers: int
) -> Iterator[tuple[int, R]]:
    # Imported here: it takes a while, and one process does without.
    from joblib import Parallel, delayed  # noqa: PLC0415
    from joblib.externals.loky.process_executor import TerminatedWorkerError  # noqa: PLC0415

    # One task at a time: results arrive as they are made, and long ones share the workers evenly.
    pool = Parallel(
        n_jobs=workers, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs"
    )
    results = pool(delayed(_numbered)(function, number, task) for number, task in enumerate(tasks))
    try:
        for result in results:  # noqa: UP028  (so that leaving early ends below, without a warning)
            yield result
    except TerminatedWorkerError as problem:
        msg = "the working processes must live until they are done, but one was ended from outside"
        raise BandstandError(msg) from problem
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.close()


def _on_cluster(
    function: Callable[[T], R], tasks: Sequence[T], address: str
) -> Iterator[tuple[int, R]]:
    from distributed import as_completed  # noqa: PLC0415  # only where a cluster is used

    with connected(address) as client:
        futures = [
            client.submit(_numbered, function, number, task, pure=False)
            for number, task in enumerate(tasks)
        ]
        for future in as_completed(futures, loop=client.loop):
            yield future.result()
            future.release()


def _numbered(function: Callable[[Any], R], number: int, task: Any) -> tuple[int, R]:
    return number, function(task)
