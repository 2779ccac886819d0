"""Many requests, a few children: whoever is free gets the next request."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Self

from bandstand.errors import InvalidInputError
from bandstand.music.sandbox.limits import DEFAULT_LIMITS, in_words
from bandstand.music.sandbox.run import Shift
from bandstand.music.sandbox.workers import Crew

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bandstand.music.sandbox.limits import Limits
    from bandstand.music.sandbox.outcomes import Outcome
    from bandstand.music.sandbox.request import K


class Pool:
    """Children that answer requests with one task, a function of a dict that returns a dict.

    The task is named as `module:function` and imported by each child. Children start when there
    is work, stay for the next, and are replaced when they end. Nothing here waits in a thread or
    touches signals, so that a pool works in any thread and in any process.

        with Pool("bandstand.music.library.analyse:analyse", workers=4) as pool:
            for path, outcome in pool.run((path, {"path": path}) for path in paths):
                ...
    """

    def __init__(self, task: str, *, workers: int, limits: Limits = DEFAULT_LIMITS) -> None:
        module, _, function = task.partition(":")
        if not (function.isidentifier() and all(map(str.isidentifier, module.split(".")))):
            msg = f"a task must be named as module:function, got {task!r}"
            raise InvalidInputError(msg)
        if workers < 1:
            msg = f"workers must be at least 1, got {workers}"
            raise InvalidInputError(msg)
        self._workers = workers
        self._limits = limits
        self._crew = Crew(task, limits)
        self._is_running = False
        self._is_closed = False

    def run(self, jobs: Iterable[tuple[K, Mapping[str, Any]]]) -> Iterator[tuple[K, Outcome]]:
        """Yield the key and the outcome of each job, as they end.

        Jobs are taken one by one, when a child is free for them. A child that ends costs the one
        job that it worked on. Whoever stops early ends the children that are still at work.
        """
        if self._is_running or self._is_closed:
            state = "closed" if self._is_closed else "at work"
            msg = f"a pool must be open and free to run jobs, but this one is {state}"
            raise InvalidInputError(msg)
        self._is_running = True
        shift = Shift(jobs, crew=self._crew, limits=self._limits, workers=self._workers)
        try:
            with closing(shift):
                yield from shift.outcomes()
        finally:
            self._is_running = False

    def isolation(self) -> str:
        """Return in words what confines the children on this system, as one of them found."""
        return in_words(self._limits, self._crew.measures())

    def interrupt(self) -> None:
        """Kill the children, from any thread: jobs that were at work end as failures.

        For whoever wants a run to end soon, and has its `jobs` raise when they are asked next.
        """
        self._crew.interrupt()

    def close(self) -> None:
        """End all children, busy or not; a run that is under way ends with an error."""
        self._is_closed = True
        self._crew.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()
