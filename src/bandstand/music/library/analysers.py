"""Many files analysed: in limited children of this process, or by the workers of a cluster.

An analyser takes (path, request) pairs lazily and gives (path, Analysis or reason) pairs as they
come. It never raises for a file: whatever happens to one becomes its reason.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from bandstand._util.parallel import usable_cores
from bandstand.errors import InvalidInputError
from bandstand.music.library.analyse import TASK, checked
from bandstand.music.library.reasons import NO_FFMPEG, has_ffmpeg
from bandstand.music.sandbox import Answer, Failure, Limits, Pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bandstand.tracks import Analysis

# A file and what to ask for it; a file and what was found in it, or why nothing was.
Asked = tuple[bytes, dict[str, Any]]
Outcome = tuple[bytes, "Analysis | str"]

_POSTPONED: Final = 256  # files that may wait for children that can start programs


class Analyser(Protocol):
    """Something that analyses many files."""

    def run(self, jobs: Iterable[Asked]) -> Iterator[Outcome]:
        """Yield each file's analysis, or the reason why there is none, as they come."""
        ...


class LocalAnalyser:
    """Child processes of this machine, as many as it has cores.

    Most files are decoded by children that cannot start programs. The few that need one
    (tracker modules) wait until there are many of them, or nothing else, for children that can.
    """

    def __init__(self, *, workers: int | None = None, niceness: int = 0) -> None:
        self._workers = workers or usable_cores()
        self._niceness = niceness
        self._open = ExitStack()
        self._pools: dict[bool, Pool] = {}
        self._was_needed = False

    def run(self, jobs: Iterable[Asked]) -> Iterator[Outcome]:
        """Yield each file's analysis, or the reason why there is none, as they come."""
        for path, reply in self.replies(jobs):
            yield path, judged(reply)

    def replies(self, jobs: Iterable[Asked]) -> Iterator[tuple[bytes, Answer | Failure]]:
        """Yield what the children answered, not yet examined."""
        postponed: list[Asked] = []

        def strictly() -> Iterator[tuple[Asked, dict[str, Any]]]:
            for path, wanted in jobs:
                self._was_needed = True
                yield (path, wanted), wanted

        for asked, reply in self._pool(programs=False).run(strictly()):
            if isinstance(reply, Answer) and reply.value.get("needs") == "program":
                postponed.append(asked)
            else:
                yield asked[0], reply
            if len(postponed) >= _POSTPONED:
                yield from self._with_programs(postponed)
                postponed = []
        yield from self._with_programs(postponed)

    def _with_programs(self, jobs: list[Asked]) -> Iterator[tuple[bytes, Answer | Failure]]:
        if not jobs:
            return
        if not has_ffmpeg():
            yield from ((path, Failure(reason=NO_FFMPEG, kind="refused")) for path, _ in jobs)
            return
        asked = ((path, wanted | {"programs": True}) for path, wanted in jobs)
        yield from self._pool(programs=True).run(asked)

    def isolation(self) -> str | None:
        """Return in words what confines the children; None if none was needed so far."""
        return self._pool(programs=False).isolation() if self._was_needed else None

    def interrupt(self) -> None:
        """Kill the children, from any thread, so that a run ends soon: see `Pool.interrupt`."""
        for pool in tuple(self._pools.values()):
            pool.interrupt()

    def _pool(self, *, programs: bool) -> Pool:
        if programs not in self._pools:
            limits = Limits(may_start_programs=programs, niceness=self._niceness)
            pool = Pool(TASK, workers=self._workers, limits=limits)
            self._pools[programs] = self._open.enter_context(pool)
        return self._pools[programs]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._pools.clear()
        self._open.close()


def judged(reply: Answer | Failure) -> Analysis | str:
    """Return a child's answer as an analysis, or the reason why there is none."""
    if isinstance(reply, Failure):
        return reply.reason
    try:
        return checked(reply.value)
    except InvalidInputError as problem:
        return str(problem)
