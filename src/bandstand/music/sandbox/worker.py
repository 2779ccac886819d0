"""The parent's end of one child: starts it, talks to it without ever waiting, ends it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bandstand.music.sandbox.messages import Incoming, encoded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.music.sandbox.limits import Limits

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
                "limits": limits.as_json(),
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
