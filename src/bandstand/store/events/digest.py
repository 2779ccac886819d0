"""The chain of digests through an account's log, and its check.

    digest of event n = SHA-256(digest of event n - 1, event n)    32 zero bytes before the first

An event goes in as a list in JSON without spaces, in UTF-8: its columns in the order of `DIGESTED`.
A value that was changed no longer fits the digest beside it, and an event that was taken out or
put in leaves a gap; `log_end` holds the last digest, so that an end cut off shows too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bandstand.store.events.values import Event

FIRST_DIGEST: Final = bytes(32)

MAX_PROBLEMS: Final = 20

# Everything but the digest itself. To change this order would be to break every log.
DIGESTED: Final = (
    "account",
    "seq",
    "key",
    "at",
    "kind",
    "song",
    "stars",
    "played_ms",
    "since_heard_ms",
    "scope",
    "target",
    "until",
    "retracts",
)
_digested: Final[Callable[[Event], tuple[object, ...]]] = attrgetter(*DIGESTED)

# What a hand with a database shell may have put there instead is shown as Python writes it.
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=repr).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnd:
    """Where an account's log ends: the number, time and digest of its last event."""

    seq: int  # 0 for a log without events
    at: int
    digest: bytes


def digest_of(previous: bytes, values: Sequence[object]) -> bytes:
    """Return the digest of an event with these values, one for each of `DIGESTED`."""
    # Lone surrogates never get into a log; a check of a damaged one may still meet them.
    return sha256(previous + _encode(values).encode(errors="surrogatepass")).digest()


def problems_of(events: Iterable[Event], end: LogEnd | None) -> list[str]:
    """Return what is wrong with an account's whole log, in sentences; the first few."""
    return list(islice(_problems(events, end), MAX_PROBLEMS))


def _problems(events: Iterable[Event], end: LogEnd | None) -> Iterator[str]:
    last = LogEnd(seq=0, at=0, digest=FIRST_DIGEST)
    try:
        for event in events:
            yield from _problems_between(last, event)
            last = LogEnd(seq=event.seq, at=event.at, digest=event.digest)
    except (DBAPIError, TypeError):  # bytes that are no text, or text where a number belongs
        yield f"the events after number {last.seq} cannot be read"
        return
    yield from _problems_at_end(last, end)


def _problems_between(last: LogEnd, event: Event) -> Iterator[str]:
    if event.seq != last.seq + 1:
        yield f"event {last.seq + 1} must follow event {last.seq}, got event {event.seq}"
    elif digest_of(last.digest, _digested(event)) != event.digest:
        yield f"event {event.seq} must fit its digest and the one before it, got other content"
    elif event.at < last.at:
        yield f"event {event.seq} must not be before event {last.seq}, got an earlier time"


def _problems_at_end(last: LogEnd, end: LogEnd | None) -> Iterator[str]:
    if end is None:
        yield "the log must have a note of where it ends, got none"
    elif last.seq != end.seq:
        yield f"the log must end with event {end.seq}, got event {last.seq}"
    elif last.digest != end.digest or (last.seq > 0 and last.at != end.at):
        yield f"event {last.seq} must fit the note of where the log ends, got another"
