"""Events, and the fields of each kind.

kind        needs                     may have     meaning
`rating`    song, stars               played_ms    1 to 5 stars for a song
`skip`      song, played_ms                        a song was left before its end
`listen`    song                      played_ms    a song was heard to its end
`ban`       scope, target                          never again
`snooze`    scope, target, until                   not before then; `for_ms` may stand for `until`
`retract`   retracts                               an earlier event is taken back
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from bandstand.errors import InvalidInputError
from bandstand.store.database.values import checked_id, checked_integer, checked_short_text, shown
from bandstand.store.events.plays import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

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
        msg = f"{name} must be one of {', '.join(SCOPES)}, got {shown(value)}"
        raise InvalidInputError(msg)


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
