"""Many files analysed, in limited children of this process.

An analyser takes (path, request) pairs lazily and yields (path, Analysis or reason) pairs as they
come. It never raises for a file: every failure becomes the file's reason.
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any, Final, Protocol, Self

from bandstand._util.parallel import usable_cores
from bandstand.errors import InvalidInputError
from bandstand.music.audio.containers import READING_FAILED
from bandstand.music.library.analyse import TASK, checked
from bandstand.music.library.content import NOT_OPENED, PASSING
from bandstand.music.sandbox import Answer, Failure, Limits, Pool
from bandstand.music.sandbox.protocol import ENDED_FROM_OUTSIDE
from bandstand.types import Analysis

# ── Failures that may pass ──────────────────────────────────────────────────────────────

NO_FFMPEG: Final = "tracker modules need an ffmpeg with libopenmpt on the PATH, found no ffmpeg"


def may_have_passed(reason: str) -> bool:
    """Return whether a file that failed for this reason is worth another try.

    >>> may_have_passed("it was changed while it was being read")
    True
    >>> may_have_passed("expected audio, got an empty file")
    False
    """
    if reason == NO_FFMPEG:
        return has_ffmpeg()
    of_the_moment = reason in PASSING or reason == ENDED_FROM_OUTSIDE
    return of_the_moment or reason.startswith((NOT_OPENED, READING_FAILED))


def has_ffmpeg() -> bool:
    """Return whether there is an ffmpeg on the PATH."""
    return shutil.which("ffmpeg") is not None


# ── Analysers ───────────────────────────────────────────────────────────────────────────

# A file and what to ask for it; a file and what was found in it, or why nothing was.
Asked = tuple[bytes, dict[str, Any]]
Outcome = tuple[bytes, "Analysis | str"]

_MAX_POSTPONED: Final = 256  # files that may wait for children that can start programs


class Analyser(Protocol):
    """Analyses many files."""

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
        for path, reply in self._replies(jobs):
            yield path, judged(reply)

    def _replies(self, jobs: Iterable[Asked]) -> Iterator[tuple[bytes, Answer | Failure]]:
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
            if len(postponed) >= _MAX_POSTPONED:
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
