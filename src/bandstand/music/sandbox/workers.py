"""The children of one pool: who is free, who has to be replaced, who is not dead yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.music.sandbox.request import await_greeting
from bandstand.music.sandbox.worker import Worker

if TYPE_CHECKING:
    from bandstand.music.sandbox.limits import Limits

# Decoders leak; a new child costs about as much time as two files.
REQUESTS_PER_CHILD: Final = 200


class Crew:
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
        """Refuse to go on after `close`."""
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
        if worker.is_ended or worker.served >= REQUESTS_PER_CHILD:
            self.dismiss(worker)
        else:
            self._idle.append(worker)

    def dismiss(self, worker: Worker) -> None:
        """End a worker for good."""
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
