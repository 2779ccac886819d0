"""The child: takes a request, lets the task answer it, sends the reply, again and again.

The task is imported first and with all freedom, since libraries open, map and probe much when
they are loaded. Then the process confines itself, and only then looks at its first request.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from bandstand.errors import BandstandError
from bandstand.music.sandbox import confinement
from bandstand.music.sandbox.protocol import (
    MAX_REASON_LENGTH,
    Incoming,
    Limits,
    MalformedError,
    encoded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Task = Callable[[dict[str, Any]], dict[str, Any]]

_READ_BYTES: Final = 1 << 16
# No request is larger than the length in front of it can say.
_MAX_REQUEST_BYTES: Final = (1 << 32) - 1
# A child that cannot get this much when it starts could answer nothing.
_MIN_FREE_BYTES: Final = 1 << 24
# Causes of causes may go round in circles.
_MAX_CAUSES: Final = 10


def main(settings_json: str) -> NoReturn:
    """Serve until the parent closes the pipe; `settings_json` comes from `worker`."""
    settings = json.loads(settings_json)
    confinement.die_with_parent(settings["parent"])
    _reset_signals()
    # Standard output leads nowhere. Standard error is for native code that gives up.
    sys.stderr = sys.stdout
    limits = Limits(**settings["limits"])
    _lower_priority(limits.niceness)  # before the imports, which are the most work of all
    with contextlib.suppress(BrokenPipeError):
        task, measures = _prepared(settings, limits)
        _send(settings["replies"], encoded({"ready": measures}))
        for number, request in _requests(settings["requests"]):
            _send(settings["replies"], _reply(task, number, request, limits))
    os._exit(0)


def _reset_signals() -> None:
    """Undo what was inherited: a parent may ignore or block the signals that end a child."""
    for number in (signal.SIGXCPU, signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _lower_priority(niceness: int) -> None:
    """Yield to other processes, also where the system weighs sessions: each child is one."""
    if niceness:
        os.nice(niceness)
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(niceness), encoding="ascii")


def _prepared(settings: dict[str, Any], limits: Limits) -> tuple[Task, list[str]]:
    """Return the task and the measures in force; if that fails, report why and exit."""
    try:
        module, _, name = settings["task"].partition(":")
        task = getattr(importlib.import_module(module), name)
        measures = confinement.confine(
            limits, parent=settings["parent"], filtered=settings["filtered"]
        )
        bytearray(_MIN_FREE_BYTES)
    except BaseException as problem:  # noqa: BLE001 - an import may raise anything
        _send(settings["replies"], encoded({"unusable": _described(problem)}))
        os._exit(1)
    return task, [*measures, "times"]


def _requests(source: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the numbers and the requests as they come, until the parent closes the pipe."""
    incoming = Incoming(max_size=_MAX_REQUEST_BYTES)
    while data := os.read(source, _READ_BYTES):
        incoming.add(data)
        while (message := incoming.take()) is not None:
            yield message["number"], message["request"]


def _reply(task: Task, number: int, request: dict[str, Any], limits: Limits) -> bytes:
    """Return the reply to one request, as it travels."""
    confinement.start_clocks(limits)
    try:
        reply = encoded({"number": number, "value": task(request)})
        if len(reply) > limits.reply_bytes:
            reply = _failed(number, "too large")
    except MalformedError as problem:
        reply = _failed(number, "malformed", f"the answer is not plain data: {problem}")
    except BaseException as problem:  # noqa: BLE001 - whatever it is, it is this request's own
        reply = _failed(number, _kind(problem), _described(problem))
    finally:
        confinement.stop_clocks()
    return reply


def _failed(number: int, kind: str, reason: str = "") -> bytes:
    return encoded({"number": number, "failure": kind, "reason": reason[:MAX_REASON_LENGTH]})


def _kind(problem: BaseException) -> str:
    if any(map(_is_memory_error, _causes(problem))):
        return "out of memory"
    return "refused" if isinstance(problem, BandstandError) else "failed"


def _causes(problem: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = problem
    for _ in range(_MAX_CAUSES):
        if cause is not None:
            yield cause
            cause = cause.__cause__ or cause.__context__


def _is_memory_error(problem: BaseException) -> bool:
    return isinstance(problem, MemoryError) or (
        isinstance(problem, OSError) and problem.errno == errno.ENOMEM
    )


def _described(problem: BaseException) -> str:
    if isinstance(problem, BandstandError):
        return str(problem)
    return f"the decoder failed ({type(problem).__name__}: {problem})"


def _send(target: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]
