"""The same function of many values, on this machine's processors.

Tasks know nothing of each other, so results do not depend on how many run at once. The processes
are joblib's; a function travels by its name, so it must be one of a module.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from bandstand._util.parallel import usable_cores
from bandstand.errors import BandstandError, InvalidInputError

T = TypeVar("T")
R = TypeVar("R")


def run_tasks(
    function: Callable[[T], R], tasks: Sequence[T], *, workers: int | None = None
) -> Iterator[tuple[int, R]]:
    """Yield the number of each task and its result, as they are done: in any order.

    `workers` is the number of processes, as many as there are processors unless given. What a task
    raises is raised here, and those that have not begun never do.

    >>> sorted(run_tasks(abs, [-3, 2], workers=1))
    [(0, 3), (1, 2)]
    """
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


def _numbered(function: Callable[[Any], R], number: int, task: Any) -> tuple[int, R]:
    return number, function(task)
