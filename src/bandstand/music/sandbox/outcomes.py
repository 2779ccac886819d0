"""Outcomes of a request: an answer, or a failure with its reason in plain words."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from bandstand._util.words import megabytes
from bandstand.music.sandbox.limits import seconds

if TYPE_CHECKING:
    from bandstand.music.sandbox.limits import Limits

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
