"""The agreement between a parent and its child: limits, messages, outcomes.

A message is a length in four bytes, then that many bytes of JSON. JSON and never pickle, since a
child may have been taken over by what it read. All text is ASCII with escapes, so that file names
that are no valid Unicode travel too.
"""

import json
import math
import signal
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, cast, get_args

from bandstand._util.words import megabytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one child; times are for one request, the rest for the child.

    `written_bytes` is the largest file that may be written; 0 means that no file may be opened
    for writing at all. With `may_start_programs` the child may start other programs, and they
    are bound by the same limits, each by itself. They should take standard input and output from
    the child's own or from pipes: opening even /dev/null for writing is opening for writing.
    """

    memory_bytes: int = 1 << 30  # of address space, with the libraries that are loaded
    cpu_seconds: float = 60
    wall_seconds: float = 120
    written_bytes: int = 0
    open_files: int = 64
    reply_bytes: int = 1 << 20
    may_start_programs: bool = False
    niceness: int = 0  # how far the child yields to other processes: 0 not at all, 19 most


DEFAULT_LIMITS: Final = Limits()


def seconds(time: float) -> str:
    """Return a length of time in words.

    >>> seconds(120), seconds(0.5)
    ('120 s', '0.5 s')
    """
    return f"{time:g} s"


def in_words(limits: Limits, measures: Collection[str]) -> str:
    """Return in words which measures are in force, and which this system does not have."""
    words = _words(limits)
    there = [text for name, text in words.items() if name in measures]
    missing = [text for name, text in words.items() if name not in measures]
    text = ", ".join(["a process of its own", *there])
    return f"{text}; not on this system: {', '.join(missing)}" if missing else text


def _words(limits: Limits) -> dict[str, str]:
    calls = ["no network"]
    calls += [] if limits.written_bytes else ["no writing"]
    calls += [] if limits.may_start_programs else ["no other programs"]
    return {
        "memory": f"at most {megabytes(limits.memory_bytes)} of memory",
        "times": f"{seconds(limits.cpu_seconds)} of processor time, "
        f"{seconds(limits.wall_seconds)} in all",
        "open files": f"{limits.open_files} open files",
        "calls": ", ".join(calls),
        "rights": "no rights but to read",
        "new rights": "no new rights",
    }


# ── Messages ───────────────────────────────────────────────────────────────────────────


_LENGTH: Final = struct.Struct(">I")


class MalformedError(Exception):
    """A message has another form than agreed."""


class TooLargeError(Exception):
    """A message is larger than agreed."""


def encoded(message: Mapping[str, Any]) -> bytes:
    r"""Return a message as it travels; MalformedError for what JSON cannot carry.

    >>> encoded({"name": "\udcff"})
    b'\x00\x00\x00\x11{"name":"\\udcff"}'
    """
    try:
        text = json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError) as problem:
        raise MalformedError(str(problem)) from problem
    return _LENGTH.pack(len(text)) + text


def decoded(text: bytes) -> dict[str, Any]:
    """Return the message in a text; MalformedError where it is none."""
    try:
        message = json.loads(
            text.decode("ascii"), parse_constant=_refuse_constant, parse_float=_finite
        )
    except (ValueError, RecursionError) as problem:
        raise MalformedError(str(problem)) from problem
    if not isinstance(message, dict):
        msg = f"a message must be an object, got {type(message).__name__}"
        raise MalformedError(msg)
    return message


class Incoming:
    r"""The bytes that arrived, until they are a whole message.

    >>> incoming = Incoming(max_size=100)
    >>> incoming.add(b"\0\0\0\2{")
    >>> incoming.take() is None
    True
    >>> incoming.add(b"}")
    >>> incoming.take()
    {}
    """

    def __init__(self, *, max_size: int) -> None:
        self._max_size = max_size
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Take in what arrived."""
        self._data += data

    def take(self) -> dict[str, Any] | None:
        """Return the first message and forget it; None while it is not complete."""
        if len(self._data) < _LENGTH.size:
            return None
        (size,) = _LENGTH.unpack_from(self._data)
        if size > self._max_size:
            raise TooLargeError
        end = _LENGTH.size + size
        if len(self._data) < end:
            return None
        text = bytes(self._data[_LENGTH.size : end])
        del self._data[:end]
        return decoded(text)

    def __bool__(self) -> bool:
        return bool(self._data)


def _refuse_constant(name: str) -> NoReturn:
    msg = f"numbers must be finite, got {name}"
    raise ValueError(msg)


def _finite(text: str) -> float:
    """Return a number; JSON's own 1e999 is as infinite as the constants that are refused."""
    number = float(text)
    if not math.isfinite(number):
        _refuse_constant(text)
    return number


# ── Outcomes: an answer, or a failure with its reason in plain words ───────────────────


Kind = Literal[
    "refused",  # the task said why: a BandstandError
    "failed",  # the task raised something else
    "crashed",  # the child ended
    "timed out",
    "out of memory",
    "too large",  # the answer
    "malformed",  # the answer
]
MAX_REASON_LENGTH: Final = 500
ENDED_FROM_OUTSIDE: Final = (
    "the decoder was ended from outside, perhaps since the machine's memory was short"
)

# Native code prints one of these before it gives up for want of memory.
_MEMORY_COMPLAINTS: Final = (
    "bad_alloc",
    "cannot allocate memory",
    "memory allocation",
    "memoryerror",
    "out of memory",
    "failed to allocate",
    "malloc failed",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The value that the task returned. It comes from a child, so the caller must examine it."""

    value: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why there is no answer: `reason` is for people, `kind` for programs."""

    reason: str
    kind: Kind


Outcome = Answer | Failure


def reported(reply: dict[str, Any], *, number: int, limits: Limits) -> Outcome:
    """Return what a child's reply to request `number` says."""
    match reply:
        case {"number": int(echoed), "value": dict(value), **rest} if echoed == number and not rest:
            return Answer(value=value)
        case {"number": int(echoed), "failure": "out of memory"} if echoed == number:
            return out_of_memory(limits)
        case {"number": int(echoed), "failure": "too large"} if echoed == number:
            return too_large(limits)
        case {"number": int(echoed), "failure": str(kind), "reason": str(reason)} if (
            echoed == number and kind in get_args(Kind)
        ):
            return Failure(reason=plain(reason), kind=cast("Kind", kind))
        case _:
            return malformed("it is not the reply that was expected")


def ended(status: int | None, complaint: str, limits: Limits) -> Failure:
    """Return what the end of a child means; `status` is as `subprocess` gives it."""
    if status == -signal.SIGXCPU:
        time = seconds(limits.cpu_seconds)
        return Failure(reason=f"used more than {time} of processor time", kind="timed out")
    if status == -signal.SIGALRM:
        return out_of_time(limits)
    if any(words in complaint.lower() for words in _MEMORY_COMPLAINTS):
        return out_of_memory(limits)
    if status == -signal.SIGKILL:
        return Failure(reason=ENDED_FROM_OUTSIDE, kind="crashed")
    if status is not None and status < 0:
        return Failure(reason=f"the decoder crashed ({_signal_name(-status)})", kind="crashed")
    return Failure(reason=f"the decoder ended without an answer (status {status})", kind="crashed")


def out_of_time(limits: Limits) -> Failure:
    """Return the failure of a request that took too long."""
    reason = f"took longer than {seconds(limits.wall_seconds)} and was stopped"
    return Failure(reason=reason, kind="timed out")


def out_of_memory(limits: Limits) -> Failure:
    """Return the failure of a request that needed too much memory."""
    reason = f"needed more than {megabytes(limits.memory_bytes)} of memory"
    return Failure(reason=reason, kind="out of memory")


def too_large(limits: Limits) -> Failure:
    """Return the failure of a request whose answer was too large."""
    reason = f"the answer was larger than {megabytes(limits.reply_bytes)}"
    return Failure(reason=reason, kind="too large")


def malformed(problem: str) -> Failure:
    """Return the failure of a request whose answer was none."""
    return Failure(reason=plain(f"the answer could not be understood: {problem}"), kind="malformed")


def plain(text: str) -> str:
    r"""Return text that a terminal shows as it is: one line, bounded, nothing invisible.

    >>> plain("a\x1b[2Jb\nc")
    'a�[2Jb�c'
    """
    shown = "".join(letter if letter.isprintable() else "�" for letter in text[:MAX_REASON_LENGTH])
    return shown or "no reason was given"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
