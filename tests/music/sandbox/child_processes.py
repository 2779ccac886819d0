"""Runs children for these tests, and inspects processes from outside."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandstand.music.sandbox import Answer, Failure, Limits, Pool
from bandstand.music.sandbox.limits import DEFAULT_LIMITS
from bandstand.music.sandbox.pool import Workers
from bandstand.music.sandbox.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bandstand.music.sandbox.outcomes import Outcome

TASKS = "tests.music.sandbox.tasks:"
_PATIENCE = 30.0


class WatchedWorkers(Workers):
    """Workers as they are, with or without their filter, and a list of all that ever started."""

    def __init__(self, task: str, limits: Limits, *, filtered: bool) -> None:
        super().__init__(task, limits)
        self._is_filtered = filtered
        self.groups: list[int] = []

    def start(self) -> Worker:
        worker = Worker(self._task, self._limits, filtered=self._is_filtered)
        self.groups.append(worker.process_id)
        return worker


class WatchedPool(Pool):
    """A pool with watched workers."""

    def __init__(
        self, task: str, *, workers: int, limits: Limits = DEFAULT_LIMITS, filtered: bool
    ) -> None:
        super().__init__(task, workers=workers, limits=limits)
        self._workers: WatchedWorkers = WatchedWorkers(task, limits, filtered=filtered)

    @property
    def groups(self) -> list[int]:
        """Return the process groups of all children that ever started."""
        return self._workers.groups


def pool(
    task: str, *, workers: int = 1, limits: Limits = DEFAULT_LIMITS, filtered: bool = True
) -> WatchedPool:
    """Return a pool for one of the tasks here; without its filter, to see that it matters."""
    name = task if ":" in task else TASKS + task
    return WatchedPool(name, workers=workers, limits=limits, filtered=filtered)


def outcomes(made: Pool, requests: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    """Return what became of the requests, in their order."""
    return [
        outcome for _, outcome in sorted(made.run(enumerate(requests)), key=lambda pair: pair[0])
    ]


def outcome(task: str, request: Mapping[str, Any], **options: Any) -> Outcome:
    """Return what became of one request, in a pool of its own."""
    with pool(task, **options) as made:
        (only,) = outcomes(made, [request])
    return only


def value(result: Outcome) -> dict[str, Any]:
    """Return the value of what must be an answer."""
    assert isinstance(result, Answer), result
    return result.value


def failure(result: Outcome) -> tuple[str, str]:
    """Return kind and reason of what must be a failure."""
    assert isinstance(result, Failure), result
    return result.kind, result.reason


def processes() -> dict[int, tuple[str, int, int]]:
    """Return the state, the parent and the group of every process that can be seen."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        state, parent, group = text.rpartition(")")[2].split()[:3]
        found[int(folder.name)] = (state, int(parent), int(group))
    return found


def living(group: int) -> list[int]:
    """Return the processes of a group that have not ended."""
    return [
        process
        for process, (state, _, its_group) in processes().items()
        if its_group == group and state not in "ZX"
    ]


def zombies() -> set[int]:
    """Return the children of this process that ended and were not waited for."""
    return {
        process
        for process, (state, parent, _) in processes().items()
        if parent == os.getpid() and state == "Z"
    }


@contextmanager
def nothing_left() -> Iterator[None]:
    """Assert that this process has no more open files and dead children after than before.

    More than before, since who runs these tests as the first process of a container inherits
    the dead of others.
    """
    files, dead = open_files(), zombies()
    yield
    assert zombies() <= dead, "nobody waited for some children"
    assert open_files() <= files, "some files were left open"


def open_files() -> int:
    """Return how many files this process has open."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def eventually(is_so: Callable[[], bool]) -> bool:
    """Return whether something becomes true before long."""
    until = time.monotonic() + _PATIENCE
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
