"""Many requests, a few children: a child that is free gets the next request.

Pool      what callers use
Workers   the children: started when needed, replaced when they have ended or served enough
Run       the requests of one `Pool.run` that are under way
"""

from __future__ import annotations

import selectors
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, Generic, Self

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.music.sandbox.protocol import DEFAULT_LIMITS, in_words
from bandstand.music.sandbox.worker import K, LostChildError, Request, Worker, await_greeting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bandstand.music.sandbox.protocol import Limits, Outcome


# Decoders leak memory; a new child costs about as much time as two files.
MAX_REQUESTS_PER_CHILD: Final = 200
_MAX_LOST_IN_A_ROW: Final = 3


class Workers:
    """Workers of one kind, started when they are needed."""

    def __init__(self, task: str, limits: Limits) -> None:
        self._task = task
        self._limits = limits
        self._members: set[Worker] = set()
        self._idle: list[Worker] = []
        self._lingering: list[Worker] = []
        self._is_closed = False

    def take(self) -> Worker:
        """Return a worker that is free: an idle one, or a new one."""
        self.check_open()
        while self._idle:
            worker = self._idle.pop()
            if worker.is_fit():
                return worker
            self.dismiss(worker)
        worker = self.start()
        self._members.add(worker)
        return worker

    def check_open(self) -> None:
        """Raise an error after `close`."""
        if self._is_closed:
            msg = "a pool must stay open while its jobs are run, but this one is closed"
            raise InvalidInputError(msg)

    def start(self) -> Worker:
        """Return a new worker."""
        try:
            return Worker(self._task, self._limits)
        except OSError as problem:
            msg = f"a child process must be started, but the system refused: {problem}"
            raise BandstandError(msg) from problem

    def measures(self) -> tuple[str, ...]:
        """Return the measures that are in force in a child."""
        worker = self.take()
        try:
            measures = await_greeting(worker)
        except BaseException:
            self.dismiss(worker)
            raise
        self.give_back(worker)
        return measures

    def give_back(self, worker: Worker) -> None:
        """Keep a worker for the next request, unless it has ended or has served long enough."""
        if worker.is_ended or worker.served >= MAX_REQUESTS_PER_CHILD:
            self.dismiss(worker)
        else:
            self._idle.append(worker)

    def dismiss(self, worker: Worker) -> None:
        """End a worker and do not use it again."""
        self._members.discard(worker)
        self._lingering = [other for other in self._lingering if other.reap(0) is None]
        if worker.end() is None:
            self._lingering.append(worker)

    def interrupt(self) -> None:
        """Kill all workers, from any thread; they are replaced when there is work for them."""
        for worker in tuple(self._members):
            worker.interrupt()

    def close(self) -> None:
        """End all workers, busy or not."""
        self._is_closed = True
        self._idle.clear()
        while self._members:
            self.dismiss(next(iter(self._members)))


class Run(Generic[K]):
    """Jobs taken one by one, each given to a free worker; all in the caller's thread."""

    def __init__(
        self,
        jobs: Iterable[tuple[K, Mapping[str, Any]]],
        *,
        workers: Workers,
        limits: Limits,
        count: int,
    ) -> None:
        self._jobs = iter(jobs)
        self._workers = workers
        self._limits = limits
        self._count = count
        self._requests: set[Request[K]] = set()
        self._selector = selectors.DefaultSelector()
        self._lost_in_a_row = 0

    def outcomes(self) -> Iterator[tuple[K, Outcome]]:
        """Yield the key and the outcome of each job, as they end."""
        self._fill()
        while self._requests:
            self._workers.check_open()
            done = self._wait()
            # First the next jobs, so that the children work while the caller looks at these.
            self._fill()
            yield from done

    def close(self) -> None:
        """End the workers that are still busy."""
        for request in list(self._requests):
            self._forget(request)
            self._workers.dismiss(request.worker)
        self._selector.close()

    def _fill(self) -> None:
        while len(self._requests) < self._count:
            job = next(self._jobs, None)
            if job is None:
                return
            self._begin(*job)

    def _begin(self, key: K, content: Mapping[str, Any]) -> None:
        worker = self._workers.take()
        try:
            request = Request(key, content, worker=worker, limits=self._limits)
        except BaseException:
            self._workers.dismiss(worker)
            raise
        self._requests.add(request)
        self._selector.register(worker.replies, selectors.EVENT_READ, request)
        if worker.has_more_to_send:
            self._selector.register(worker.requests, selectors.EVENT_WRITE, request)

    def _wait(self) -> list[tuple[K, Outcome]]:
        """Return what ended by the next event; what has arrived is read before clocks are."""
        first = min(request.deadline for request in self._requests)
        events = self._selector.select(max(0.0, first - time.monotonic()))
        moved = {key.data for key, _ in events}
        done = [self._finished_by(request, request.advance) for request in moved]
        late = [self._finished_by(request, request.overdue) for request in self._requests - moved]
        return [pair for pair in done + late if pair is not None]

    def _finished_by(
        self, request: Request[K], check: Callable[[], Outcome | None]
    ) -> tuple[K, Outcome] | None:
        """Return a request's key and outcome if it has one now."""
        try:
            outcome = check()
        except LostChildError as problem:
            self._retry(request, problem)
            return None
        if outcome is None:
            self._stop_watching_requests(request)
            return None
        self._lost_in_a_row = 0
        self._forget(request)
        self._workers.give_back(request.worker)
        return request.key, outcome

    def _retry(self, request: Request[K], problem: LostChildError) -> None:
        self._forget(request)
        self._workers.dismiss(request.worker)
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= _MAX_LOST_IN_A_ROW:
            msg = (
                "a child process must start and stay until it is asked, but "
                f"{_MAX_LOST_IN_A_ROW} in a row were lost: {problem}"
            )
            raise BandstandError(msg)
        self._begin(request.key, request.content)

    def _stop_watching_requests(self, request: Request[K]) -> None:
        """Do not wait for room in a pipe when there is nothing left to send."""
        worker = request.worker
        if not worker.has_more_to_send and worker.requests in self._selector.get_map():
            self._selector.unregister(worker.requests)

    def _forget(self, request: Request[K]) -> None:
        self._requests.remove(request)
        for end in (request.worker.replies, request.worker.requests):
            if end in self._selector.get_map():
                self._selector.unregister(end)


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
        if workers < 1:
            msg = f"workers must be at least 1, got {workers}"
            raise InvalidInputError(msg)
        self._count = workers
        self._limits = limits
        self._workers = Workers(task, limits)
        self._is_running = False
        self._is_closed = False

    def run(self, jobs: Iterable[tuple[K, Mapping[str, Any]]]) -> Iterator[tuple[K, Outcome]]:
        """Yield the key and the outcome of each job, as they end.

        Jobs are taken one by one, when a child is free for them. A child that ends costs the one
        job that it worked on. Closing the iterator ends the children that are still at work.
        """
        if self._is_running or self._is_closed:
            state = "closed" if self._is_closed else "at work"
            msg = f"a pool must be open and free to run jobs, but this one is {state}"
            raise InvalidInputError(msg)
        self._is_running = True
        run = Run(jobs, workers=self._workers, limits=self._limits, count=self._count)
        try:
            with closing(run):
                yield from run.outcomes()
        finally:
            self._is_running = False

    def isolation(self) -> str:
        """Return in words what confines the children on this system, as one of them found."""
        return in_words(self._limits, self._workers.measures())

    def interrupt(self) -> None:
        """Kill the children, from any thread: jobs that were at work end as failures.

        To end a run soon, have its `jobs` raise at the next one as well.
        """
        self._workers.interrupt()

    def close(self) -> None:
        """End all children, busy or not; a run that is under way ends with an error."""
        self._is_closed = True
        self._workers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()
