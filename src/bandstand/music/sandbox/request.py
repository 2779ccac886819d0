"""One request: sent to a child, waited for, turned into an outcome."""

from __future__ import annotations

import selectors
import signal
import time
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.music.sandbox import outcomes
from bandstand.music.sandbox.messages import MalformedError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.music.sandbox.limits import Limits
    from bandstand.music.sandbox.outcomes import Outcome
    from bandstand.music.sandbox.worker import Worker

K = TypeVar("K")

# From a slow drive, with nothing in the cache, libraries take long to load.
_MAX_START_SECONDS: Final = 60.0
# A reply that has begun to arrive in time may arrive completely.
_MAX_SEND_SECONDS: Final = 2.0
_MAX_END_SECONDS: Final = 1.0


class LostChildError(Exception):
    """A child ended through no fault of the request, which goes to another child."""


class Request(Generic[K]):
    """One request, the worker that has it, and its deadline."""

    def __init__(
        self, key: K, content: Mapping[str, Any], *, worker: Worker, limits: Limits
    ) -> None:
        self.key = key
        self.content = content
        self.worker = worker
        self._limits = limits
        self._is_extended = False
        worker.served += 1
        try:
            worker.send({"number": worker.served, "request": content})
        except MalformedError as problem:
            msg = f"a request must be plain data that JSON can carry, got: {problem}"
            raise InvalidInputError(msg) from problem
        self.deadline = time.monotonic() + (
            _MAX_START_SECONDS if worker.measures is None else limits.wall_seconds
        )

    def advance(self) -> Outcome | None:
        """Return the outcome of the request, None while it is under way."""
        try:
            self.worker.flush()
            while (message := self.worker.receive()) is not None:
                if self.worker.measures is not None:
                    return self._reported(message)
                greet(self.worker, message)
                self.deadline = time.monotonic() + self._limits.wall_seconds
        except EOFError:
            return self._ended()
        except TooLargeError:
            self.worker.end()
            return outcomes.too_large(self._limits)
        except MalformedError as problem:
            self.worker.end()
            return outcomes.malformed(str(problem))
        return None

    def overdue(self) -> Outcome | None:
        """End the worker and return a failure if the deadline has passed."""
        now = time.monotonic()
        if now < self.deadline:
            return None
        if self.worker.is_sending and not self._is_extended:
            self._is_extended = True
            self.deadline = now + _MAX_SEND_SECONDS
            return None
        self.worker.end()
        if self.worker.measures is None:
            msg = f"it was not ready after {_MAX_START_SECONDS:g} s"
            raise LostChildError(msg)
        return outcomes.out_of_time(self._limits)

    def _reported(self, message: dict[str, Any]) -> Outcome:
        outcome = outcomes.reported(message, number=self.worker.served, limits=self._limits)
        if isinstance(outcome, outcomes.Failure) and (
            self._limits.may_start_programs or outcome.kind in {"out of memory", "malformed"}
        ):
            # What was started may still run, and memory that was short may still be.
            self.worker.end()
        return outcome

    def _ended(self) -> Outcome:
        status = self.worker.end(wait_seconds=_MAX_END_SECONDS)
        failure = outcomes.ended(status, self.worker.complaint, self._limits)
        if self.worker.measures is None:
            last_words = self.worker.complaint.strip().rpartition("\n")[2]
            raise LostChildError(outcomes.plain(last_words or failure.reason))
        if status == -signal.SIGKILL and self.worker.is_orphaned:
            msg = "the thread that started it ended"
            raise LostChildError(msg)
        return failure


def greet(worker: Worker, message: Mapping[str, Any]) -> None:
    """Take in the first message of a child: that it is ready, or why it cannot be."""
    match message:
        case {"ready": list(measures)}:
            worker.measures = tuple(map(str, measures))
        case {"unusable": str(reason)}:
            worker.end()
            msg = f"the task must be importable and fit into the limits: {outcomes.plain(reason)}"
            raise BandstandError(msg)
        case _:
            msg = "its first message was not that it is ready"
            raise MalformedError(msg)


def await_greeting(worker: Worker) -> tuple[str, ...]:
    """Return the measures that a child found in force, waiting for them if it must."""
    until = time.monotonic() + _MAX_START_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(worker.replies, selectors.EVENT_READ)
        while worker.measures is None:
            if not selector.select(max(0.0, until - time.monotonic())):
                msg = f"a child process must start within {_MAX_START_SECONDS:g} s, and did not"
                raise BandstandError(msg)
            try:
                message = worker.receive()
                if message is not None:
                    greet(worker, message)
            except (EOFError, MalformedError, TooLargeError) as problem:
                msg = "a child process must say that it is ready, and this one did not"
                raise BandstandError(msg) from problem
    return worker.measures
