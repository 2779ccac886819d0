"""Many files analysed: in limited children of this process, or by the workers of a Dask cluster.

An analyser takes (path, request) pairs lazily and yields (path, Analysis or reason) pairs as they
come. It never raises for a file: every failure becomes the file's reason.

The workers of a cluster see the same files under the same paths. Files travel in small batches; a
batch whose worker dies is given to another by the scheduler, and since analysing a file changes
nothing, doing it twice does no harm. Each worker decodes in limited children of its own.
"""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from bandstand._util.parallel import connected, usable_cores
from bandstand.errors import BandstandError, InvalidInputError
from bandstand.music.audio.containers import READING_FAILED
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.library.analyse import TASK, checked
from bandstand.music.library.content import NOT_OPENED, PASSING
from bandstand.music.sandbox import Answer, Failure, Limits, Pool
from bandstand.music.sandbox.protocol import ENDED_FROM_OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from distributed import Future

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


# ── On this machine ─────────────────────────────────────────────────────────────────────

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


# ── On a Dask cluster ───────────────────────────────────────────────────────────────────

_BATCH_FILES: Final = 8  # files; a second or two of work
_BATCHES_PER_THREAD: Final = 3  # batches per thread of the cluster, so that none waits for the next
_MAX_RETRIES: Final = 3
_MAX_REASON_LENGTH: Final = 300  # characters of a reason

_of_this_thread = threading.local()


class ClusterAnalyser:
    """The workers of the Dask cluster whose scheduler listens at `address`.

    An error of the cluster is not a file's fault, so it is raised: the files that were under way
    are read by the next scan.
    """

    def __init__(self, address: str, *, timeout_seconds: float = 10.0) -> None:
        self._address = address
        self._client = connected(address, timeout_seconds)

    def run(self, jobs: Iterable[Asked]) -> Iterator[Outcome]:
        """Yield each file's analysis, or the reason why there is none, as they come."""
        from distributed import as_completed  # noqa: PLC0415  # only where a cluster is used

        waiting = iter(jobs)
        batches: dict[str, list[Asked]] = {}
        under_way = as_completed(loop=self._client.loop)

        def send_more() -> None:
            with self._loss_reported():
                room = _BATCHES_PER_THREAD * max(1, sum(self._client.nthreads().values()))
            while len(batches) < room and (batch := list(islice(waiting, _BATCH_FILES))):
                with self._loss_reported():
                    future = self._sent(batch)
                    under_way.add(future)
                batches[future.key] = batch

        send_more()
        while batches:
            with self._loss_reported():
                future = next(under_way)
                outcomes = _outcomes(batches.pop(future.key), future)
                future.release()
            yield from outcomes
            send_more()

    def isolation(self) -> str | None:
        """Return None: only the workers know, and each may be another system."""
        return None

    @contextmanager
    def _loss_reported(self) -> Iterator[None]:
        try:
            yield
        except (OSError, CancelledError) as problem:
            msg = f"the Dask cluster at {self._address} must stay until the end, but it was lost"
            raise BandstandError(msg) from problem

    def _sent(self, batch: list[Asked]) -> Future:
        requests = [wanted for _, wanted in batch]
        # Not pure: a file may have changed since an equal request was answered.
        return self._client.submit(analyse_batch, requests, pure=False, retries=_MAX_RETRIES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._client.close()


def analyse_batch(requests: list[dict[str, Any]]) -> tuple[int, list[dict[str, Any]]]:
    """Return the version of the descriptors, and what was found in some files, in their order.

    Runs on a worker of the cluster.
    """
    analyser: LocalAnalyser | None = getattr(_of_this_thread, "analyser", None)
    if analyser is None:
        # Kept with its children for the next batch; the children end when their parent does.
        analyser = _of_this_thread.analyser = LocalAnalyser(workers=1)
    numbered = ((str(number).encode(), wanted) for number, wanted in enumerate(requests))
    replies = {int(number): reply for number, reply in analyser.replies(numbered)}
    return VERSION, [_as_plain(replies[number]) for number in range(len(requests))]


def _as_plain(reply: Answer | Failure) -> dict[str, Any]:
    if isinstance(reply, Answer):
        return {"value": reply.value}
    return {"reason": reply.reason, "kind": reply.kind}


def _outcomes(batch: list[Asked], future: Future) -> list[Outcome]:
    """Return what a worker found; an error of the worker itself is raised."""
    problem = future.exception()
    if problem is not None:
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:_MAX_REASON_LENGTH]
        msg = f"the workers of the cluster must be able to analyse files, got: {reason}"
        raise BandstandError(msg) from problem
    version, replies = future.result()
    if version != VERSION:
        msg = (
            f"the workers of the cluster must have descriptors of version {VERSION}, "
            f"got version {version}; install the same Bandstand everywhere"
        )
        raise BandstandError(msg)
    return [
        (path, judged(Answer(**reply) if "value" in reply else Failure(**reply)))
        for (path, _), reply in zip(batch, replies, strict=True)
    ]
