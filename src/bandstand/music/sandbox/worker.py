"""The parent's end of one child: starts it, exchanges messages without ever waiting, ends it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.music.sandbox import protocol
from bandstand.music.sandbox.protocol import Incoming, MalformedError, TooLargeError, encoded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.music.sandbox.protocol import Limits, Outcome

_BOOT: Final = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from bandstand.music.sandbox.child import main; main(sys.argv[1])"
)
# Isolated from PYTHON* variables, the user's own packages and the current folder; writes no
# bytecode.
_PYTHON_FLAGS: Final = ("-I", "-B")
_KEPT_VARIABLES: Final = (
    *("LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "TMPDIR"),
    # How linear algebra rounds: descriptors are the same to the bit wherever they are computed.
    *("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"),
)
_ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",  # each arena takes 64 MB of address space, which is limited
}
_READ_BYTES: Final = 1 << 16
_MAX_COMPLAINT_LENGTH: Final = 2000
# A process that reads from a dead network drive does not even die at once.
_MAX_KILL_SECONDS: Final = 2.0
_MAX_ORPHAN_SECONDS: Final = 1.0


class Worker:
    """One child: a process in a group of its own, and three pipes.

    `measures` is what the child said to be in force, None until it is ready. `complaint` is the
    end of what it wrote to standard error since it was last asked.
    """

    def __init__(self, task: str, limits: Limits, *, filtered: bool = True) -> None:
        self._limits = limits
        self._thread = threading.current_thread()
        self._incoming = Incoming(max_size=limits.reply_bytes)
        self._outgoing = b""
        self.measures: tuple[str, ...] | None = None
        self.served = 0
        self.is_ended = False
        self.complaint = ""
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            requests, self.requests = _pipe(theirs, ours)
            self.replies, replies = _pipe(ours, theirs)
            self._complaints, complaints = _pipe(ours, theirs)
            # Neither end ever waits: a child that complains a lot must not stop for it.
            os.set_blocking(complaints, False)
            for end in (self.requests, self.replies, self._complaints):
                os.set_blocking(end, False)
            settings = {
                "task": task,
                "limits": asdict(limits),
                "requests": requests,
                "replies": replies,
                "parent": os.getpid(),
                "filtered": filtered,
            }
            self._process = _start(settings, complaints, programs=limits.may_start_programs)
            self._pipes = ours.pop_all()

    @property
    def process_id(self) -> int:
        """Return the child's process id."""
        return self._process.pid

    @property
    def is_orphaned(self) -> bool:
        """Return whether the thread that started the child is gone; the child goes with it."""
        return not self._thread.is_alive()

    @property
    def is_sending(self) -> bool:
        """Return whether a part of a message has arrived."""
        return bool(self._incoming)

    @property
    def has_more_to_send(self) -> bool:
        """Return whether a part of a message could not be sent yet."""
        return bool(self._outgoing)

    def is_fit(self) -> bool:
        """Return whether the idle child lives and is quiet, as it should be."""
        try:
            os.read(self.replies, 1)
        except BlockingIOError:
            return not self.is_sending and not self.is_orphaned
        # It ended, or it wrote without a request.
        return False

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; what the pipe does not take at once is sent by `flush`."""
        self._outgoing += encoded(message)
        self._read_complaints()
        self.complaint = ""
        self.flush()

    def flush(self) -> None:
        """Send as much as the pipe takes."""
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[os.write(self.requests, self._outgoing) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            # The end of the child is seen at the other pipe, and is dealt with there.
            self._outgoing = b""

    def receive(self) -> dict[str, Any] | None:
        """Return the next message, None if it is not complete; EOFError if the child is gone."""
        while (message := self._incoming.take()) is None:
            try:
                data = os.read(self.replies, _READ_BYTES)
            except BlockingIOError:
                return None
            if not data:
                raise EOFError
            self._incoming.add(data)
        self._read_complaints()
        return message

    def end(self, *, wait_seconds: float = 0.0) -> int | None:
        """End the child and all that it started, and return its status; None if it lingers.

        It may first end by itself within `wait_seconds`, so that its status says why.
        """
        if self.is_ended:
            return self.reap(0)
        self.is_ended = True
        if wait_seconds:
            self.reap(wait_seconds)
        # The number of an ended process is not given away while its group has members.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        status = self.reap(_MAX_KILL_SECONDS)
        if self._limits.may_start_programs:
            self._reap_orphans()
        self._read_complaints()
        self._pipes.close()
        return status

    def interrupt(self) -> None:
        """Kill the child, from any thread; a pending receive sees that it has ended."""
        if not self.is_ended:
            self._process.kill()

    def reap(self, wait_seconds: float) -> int | None:
        """Return the status of the child once it has ended, None if it takes longer."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(wait_seconds)
        return None

    def _reap_orphans(self) -> None:
        """Wait for what the child left behind, where this process inherits it.

        That is so for the first process of a container; no other process would wait for it.
        """
        until = time.monotonic() + _MAX_ORPHAN_SECONDS
        with contextlib.suppress(ChildProcessError):
            while time.monotonic() < until:
                if os.waitpid(-self._process.pid, os.WNOHANG) == (0, 0):
                    time.sleep(0.005)

    def _read_complaints(self) -> None:
        """Empty the pipe of standard error, and keep the end of what it held."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._complaints, _READ_BYTES):
                text = data[-_MAX_COMPLAINT_LENGTH:].decode("utf-8", "replace")
                self.complaint = (self.complaint + text)[-_MAX_COMPLAINT_LENGTH:]


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """Return the two ends of a new pipe, and have each closed by its owner's stack."""
    ends = os.pipe()
    for stack, end in zip((reader, writer), ends, strict=True):
        stack.callback(os.close, end)
    return ends


def _start(
    settings: Mapping[str, Any], complaints: int, *, programs: bool
) -> subprocess.Popen[bytes]:
    utf8 = ("-X", "utf8=1") if sys.flags.utf8_mode else ()
    # The same packages as here, also where they were found by other ways than installation.
    path = [str(Path(entry).absolute()) for entry in sys.path]
    return subprocess.Popen(
        [sys.executable, *_PYTHON_FLAGS, *utf8, "-c", _BOOT, json.dumps(settings), *path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=complaints,
        pass_fds=(settings["requests"], settings["replies"]),
        cwd="/",
        env=_environment(programs=programs),
        start_new_session=True,
    )


def _environment(*, programs: bool) -> dict[str, str]:
    """Return the few variables that a child sees."""
    names = (*_KEPT_VARIABLES, "PATH") if programs else _KEPT_VARIABLES
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return kept | _ONE_THREAD


# ── One request: sent to a child, turned into an outcome ───────────────────────────────


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
            return protocol.too_large(self._limits)
        except MalformedError as problem:
            self.worker.end()
            return protocol.malformed(str(problem))
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
        return protocol.out_of_time(self._limits)

    def _reported(self, message: dict[str, Any]) -> Outcome:
        outcome = protocol.reported(message, number=self.worker.served, limits=self._limits)
        if isinstance(outcome, protocol.Failure) and (
            self._limits.may_start_programs or outcome.kind in {"out of memory", "malformed"}
        ):
            # What was started may still run, and memory that was short may still be.
            self.worker.end()
        return outcome

    def _ended(self) -> Outcome:
        status = self.worker.end(wait_seconds=_MAX_END_SECONDS)
        failure = protocol.ended(status, self.worker.complaint, self._limits)
        if self.worker.measures is None:
            last_words = self.worker.complaint.strip().rpartition("\n")[2]
            raise LostChildError(protocol.plain(last_words or failure.reason))
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
            msg = f"the task must be importable and fit into the limits: {protocol.plain(reason)}"
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
