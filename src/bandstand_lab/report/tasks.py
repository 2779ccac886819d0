"""The same function of many values, on this machine's processors or on a Dask cluster.

Tasks know nothing of each other, so results do not depend on how many run at once, nor where.
Processes of this machine are joblib's; a function travels by its name, so it must be one of a
module.
"""

from __future__ import annotations

import warnings
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bandstand._util.parallel import connected, usable_cores
from bandstand.errors import BandstandError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Per thread of a cluster, so that none waits for the next, and what tasks bring is not all there
# at once.
_TASKS_PER_THREAD: Final = 3

T = TypeVar("T")
R = TypeVar("R")


def check_one_place(workers: int | None, scheduler: str | None) -> None:
    """Refuse options of a command that ask for processes here and for a cluster."""
    if workers is not None and scheduler is not None:
        msg = (
            "--workers is for this machine, and a cluster has the workers that it has; "
            f"got --workers {workers} with --scheduler {scheduler}"
        )
        raise InvalidInputError(msg)


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
    wanted = True

    def calls() -> Iterator[Any]:
        for number, task in enumerate(tasks):
            if not wanted:
                return
            yield delayed(_numbered)(function, number, task)

    results = pool(calls())
    try:
        for result in results:  # noqa: UP028  (leaving early has to come here)
            yield result
    except TerminatedWorkerError as problem:
        msg = "the working processes must live until they are done, but one was ended from outside"
        raise BandstandError(msg) from problem
    except GeneratorExit:
        # The few that are under way end first: the pool's own thread stumbles over what is
        # taken from it meanwhile.
        wanted = False
        for _ in results:
            pass
        raise
    except KeyboardInterrupt:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib warns of the tasks that are cut short
            results.close()
        raise


def _on_cluster(
    function: Callable[[T], R], tasks: Sequence[T], address: str
) -> Iterator[tuple[int, R]]:
    from distributed import as_completed  # noqa: PLC0415  # only where a cluster is used

    waiting = iter(enumerate(tasks))
    count = 0  # under way
    with connected(address) as client:
        under_way = as_completed(loop=client.loop)
        while True:
            with _loss_reported(address):
                room = _TASKS_PER_THREAD * max(1, sum(client.nthreads().values())) - count
                for number, task in islice(waiting, max(0, room)):
                    under_way.add(client.submit(_numbered, function, number, task, pure=False))
                    count += 1
                if not count:
                    return
                future = next(under_way)
                problem = future.exception()
                result: Any = None if problem is not None else future.result()
                future.release()
            if problem is not None:
                raise _task_error(problem, address)
            count -= 1
            yield result


@contextmanager
def _loss_reported(address: str) -> Iterator[None]:
    try:
        yield
    except (OSError, CancelledError) as problem:
        msg = f"the Dask cluster at {address} must stay until the end, but it was lost"
        raise BandstandError(msg) from problem


def _task_error(problem: BaseException, address: str) -> BaseException:
    """Return what to raise for a task that failed: its own error, unless its workers ended."""
    from distributed import KilledWorker  # noqa: PLC0415  # only where a cluster is used

    if not isinstance(problem, KilledWorker):
        return problem
    return BandstandError(
        f"the workers of the Dask cluster at {address} must live until they are done, "
        "but those that had one of the tasks ended"
    )


def _numbered(function: Callable[[Any], R], number: int, task: Any) -> tuple[int, R]:
    return number, function(task)
