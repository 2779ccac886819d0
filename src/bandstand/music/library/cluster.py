"""The same analysis on a Dask cluster: workers that see the same files under the same paths.

Files travel in small batches; a batch whose worker dies is given to another by the scheduler,
and since analysing a file changes nothing, doing it twice does no harm. Each worker decodes in
limited children of its own.
"""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

from bandstand._util.parallel import connected
from bandstand.errors import BandstandError
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.library.analysers import Asked, LocalAnalyser, Outcome, judged
from bandstand.music.sandbox import Answer, Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from distributed import Future

_BATCH: Final = 8  # files; a second or two of work
_AHEAD: Final = 3  # batches per thread of the cluster, so that none waits for the next
_TRIES: Final = 3
_LONGEST: Final = 300  # characters of a reason

_of_this_thread = threading.local()


class ClusterAnalyser:
    """The workers of the Dask cluster whose scheduler listens at `address`.

    What happens to the cluster is not a file's fault, so it is raised: the files that were under
    way are read by the next scan.
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
            with self._loss_told():
                room = _AHEAD * max(1, sum(self._client.nthreads().values()))
            while len(batches) < room and (batch := list(islice(waiting, _BATCH))):
                with self._loss_told():
                    future = self._sent(batch)
                    under_way.add(future)
                batches[future.key] = batch

        send_more()
        while batches:
            with self._loss_told():
                future = next(under_way)
                outcomes = _outcomes(batches.pop(future.key), future)
                future.release()
            yield from outcomes
            send_more()

    def wait_for(self, workers: int, *, timeout_seconds: float = 60.0) -> None:
        """Return when the cluster has so many workers: to measure it, for it works with fewer."""
        with self._loss_told():
            self._client.wait_for_workers(workers, timeout=timeout_seconds)

    def isolation(self) -> str | None:
        """Return None: the workers know, and each may be another system."""
        return None

    @contextmanager
    def _loss_told(self) -> Iterator[None]:
        try:
            yield
        except (OSError, CancelledError) as problem:
            msg = f"the Dask cluster at {self._address} must stay until the end, but it was lost"
            raise BandstandError(msg) from problem

    def _sent(self, batch: list[Asked]) -> Future:
        requests = [wanted for _, wanted in batch]
        # Not pure: a file may have changed since an equal request was answered.
        return self._client.submit(analyse_batch, requests, pure=False, retries=_TRIES)

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
    """Return what a worker found; what is the worker's fault is raised, not blamed on files."""
    problem = future.exception()
    if problem is not None:
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())
        msg = f"the workers of the cluster must be able to analyse files, got: {reason[:_LONGEST]}"
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
