"""Events: their fields, the plays that they belong to, and the chain of their digests.

kind        needs                     may have     meaning
`rating`    song, stars               played_ms    1 to 5 stars for a song
`skip`      song, played_ms                        a song was left before its end
`listen`    song                      played_ms    a song was heard to its end
`ban`       scope, target                          never again
`snooze`    scope, target, until                   not before then; `for_ms` may stand for `until`
`favourite` scope, target                          marked as a favourite, until that is taken back
`import`    target                                 a history was imported: its digest (`imports`)
`retract`   retracts                               an earlier event is taken back

A listener may rate a song while it plays, correct the rating, and then skip it or hear it out:
three events, one play. What the log keeps of an event's time follows from this alone, never from
a clock, so that it can be derived again. Heard is what was rated, skipped or listened to, and not
taken back.

    digest of event n = SHA-256(digest of event n - 1, event n)    32 zero bytes before the first

An event goes in as a list in JSON without spaces, in UTF-8: its columns in the order of `DIGESTED`.
A value that was changed no longer fits the digest beside it, and an event that was taken out or
put in leaves a gap; `log_end` holds the last digest, so that an end cut off shows too.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from operator import attrgetter
from typing import Any, Final, Literal, Protocol, get_args

from sqlalchemy.exc import DBAPIError

from bandstand.errors import InvalidInputError
from bandstand.store.database.schema import (
    checked_id,
    checked_integer,
    checked_short_text,
    shown,
    unfit,
)

Kind = Literal["rating", "skip", "listen", "ban", "snooze", "retract", "favourite", "import"]

HEARD: Final[frozenset[Kind]] = frozenset({"rating", "skip", "listen"})
ENDS: Final[frozenset[Kind]] = frozenset({"skip", "listen"})

# Most songs are over by then; a longer one says itself how much of it was played.
MAX_PAUSE_MS: Final = 20 * 60 * 1000  # milliseconds


class Heard(Protocol):
    """An event of hearing a song."""

    @property
    def kind(self) -> Kind:
        """What happened."""

    @property
    def song(self) -> str | None:
        """Which song was heard."""

    @property
    def at(self) -> int:
        """When, in milliseconds since 1970."""

    @property
    def since_heard_ms(self) -> int | None:
        """How long before that play the song had been heard."""


def is_same_play(
    before: Heard, new_kind: Kind, new_song: str | None, new_at: int, new_played_ms: int | None
) -> bool:
    """Return whether a new event belongs to the same play as `before`, the last one heard.

    A play has one end. One that was rated and has not ended goes on, also after a pause. Beyond
    that, an event that says how much was played says when the play began: one that began after
    `before` is another.
    """
    if before.song != new_song or (before.kind in ENDS and new_kind in ENDS):
        return False
    is_soon = new_at - before.at <= MAX_PAUSE_MS
    if new_played_ms is None or (is_soon and before.kind not in ENDS):
        return is_soon
    return new_at - new_played_ms < before.at


def since_heard_ms(
    before: Heard | None,
    last_heard_at: int | None,
    *,
    kind: Kind,
    song: str,
    at: int,
    played_ms: int | None,
) -> int | None:
    """Return the time from when a song was heard before to the beginning of this play.

    `before` is the last event heard of any song, `last_heard_at` the time of the last one of this
    song. None stands for a song that was never heard before.
    """
    if before is not None and is_same_play(before, kind, song, at, played_ms):
        return before.since_heard_ms
    if last_heard_at is None:
        return None
    return max(0, at - (played_ms or 0) - last_heard_at)


Scope = Literal["song", "artist", "album", "genre"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
MAX_KEY_CHARS: Final = 200  # characters
MAX_TARGET_CHARS: Final = 500
MAX_AGE_MS: Final = 7 * 24 * 60 * 60 * 1000  # milliseconds
TEN_YEARS_MS: Final = 3653 * 24 * 60 * 60 * 1000  # milliseconds

# The content of an event: everything but its account and key.
CONTENT: Final = (
    "song",
    "stars",
    "played_ms",
    "scope",
    "target",
    "until",
    "for_ms",
    "retracts",
)
_NEEDS: Final[dict[str, frozenset[str]]] = {
    "rating": frozenset({"song", "stars"}),
    "skip": frozenset({"song", "played_ms"}),
    "listen": frozenset({"song"}),
    "ban": frozenset({"scope", "target"}),
    "snooze": frozenset({"scope", "target"}),
    "retract": frozenset({"retracts"}),
    "favourite": frozenset({"scope", "target"}),
    "import": frozenset({"target"}),
}
_MAY_HAVE: Final[dict[str, frozenset[str]]] = {
    **_NEEDS,
    "rating": _NEEDS["rating"] | {"played_ms"},
    "listen": _NEEDS["listen"] | {"played_ms"},
    "snooze": _NEEDS["snooze"] | {"until", "for_ms"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An action of a listener for the log; checked when it is made.

    `key` makes it one event however often it is sent: the sender draws it once. A snooze has an
    end, `until`, or lasts for `for_ms`, which a sender can repeat without looking at the clock.
    `age_ms` is how long ago it happened, where it could not be sent at once; it says when, not
    what, and may be another each time that the same event is sent.
    """

    account: str
    key: str
    kind: Kind
    song: str | None = None
    stars: int | None = None
    played_ms: int | None = None
    scope: Scope | None = None
    target: str | None = None
    until: int | None = None
    for_ms: int | None = None
    retracts: int | None = None
    age_ms: int = 0

    def __post_init__(self) -> None:
        checked_id(self.account, "account")
        checked_short_text(self.key, "key", most=MAX_KEY_CHARS)
        checked_integer(self.age_ms, "age_ms", least=0, most=MAX_AGE_MS)
        if not isinstance(self.kind, str) or self.kind not in _NEEDS:
            msg = f"kind must be one of {', '.join(KINDS)}, got {shown(self.kind)}"
            raise InvalidInputError(msg)
        given = {name for name in CONTENT if getattr(self, name) is not None}
        _check_fields(self.kind, given)
        for name in given:
            _CHECKS[name](getattr(self, name), name)
        if self.scope == "song":
            checked_id(self.target, "target")
        if self.kind == "favourite" and self.scope == "genre":
            msg = "a favourite must be a song, an album or an artist, got a genre"
            raise InvalidInputError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of an account's log."""

    account: str
    seq: int  # 1, 2, 3, … in the account's log
    key: str
    at: int  # UTC, in milliseconds; never before the event before it
    kind: Kind
    song: str | None
    stars: int | None
    played_ms: int | None  # how much of the song had been played
    since_heard_ms: int | None  # from when it was heard before to this play; None for never
    scope: Scope | None
    target: str | None
    until: int | None  # the end of a snooze
    retracts: int | None  # the number of the event that is taken back
    digest: bytes  # SHA-256 over this event and the digest before it


def _check_fields(kind: Kind, given: set[str]) -> None:
    missing = _NEEDS[kind] - given
    if missing:
        msg = f"an event of the kind {kind} must have {_listed(missing)}, got none"
        raise InvalidInputError(msg)
    if not given <= _MAY_HAVE[kind]:
        unfit = _listed(given - _MAY_HAVE[kind])
        msg = f"an event of the kind {kind} must have no {unfit}, got some"
        raise InvalidInputError(msg)
    if kind == "snooze" and ("until" in given) == ("for_ms" in given):
        got = "both" if "until" in given else "neither"
        msg = f"a snooze must have either until or for_ms, got {got}"
        raise InvalidInputError(msg)


def _listed(names: set[str] | frozenset[str]) -> str:
    return " and ".join(name for name in CONTENT if name in names)


def _check_scope(value: Any, name: str) -> None:
    if not isinstance(value, str) or value not in SCOPES:
        raise unfit(name, f"be one of {', '.join(SCOPES)}", value)


_CHECKS: Final[dict[str, Callable[[Any, str], object]]] = {
    "song": checked_id,
    "stars": lambda value, name: checked_integer(value, name, least=1, most=5),
    "played_ms": lambda value, name: checked_integer(value, name, least=0, most=TEN_YEARS_MS),
    "scope": _check_scope,
    "target": lambda value, name: checked_short_text(value, name, most=MAX_TARGET_CHARS),
    "until": checked_integer,
    "for_ms": lambda value, name: checked_integer(value, name, least=1, most=TEN_YEARS_MS),
    "retracts": lambda value, name: checked_integer(value, name, least=1),
}


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
