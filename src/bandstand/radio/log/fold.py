"""What a listener's log says: the fold of all its events, as a value.

    event log ─ fold ─ Ledger: plays with their evidence, when each song was last heard, rules

Events of one play count once: its last rating is its evidence, or else its end. What was taken
back counts as if it had never been. Only what the log says goes in, never the clock nor anything
that may change later, so the same log gives the same ledger, to the last bit, whenever and
wherever it is folded, and in whatever pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.radio.log.digest import digest
from bandstand.radio.log.evidence import evidence
from bandstand.radio.log.play_table import Play, PlayTable, Source
from bandstand.store.events.values import HEARD, is_same_play

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bandstand.radio.log.play_table import Codes
    from bandstand.store.events.events import Event
    from bandstand.types import Vector

    Integers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

WholeLog: TypeAlias = "Callable[[], Iterable[Event]]"
RECENT: Final = 100  # songs


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Something that is not to be played: never again, or not before a time."""

    scope: str  # "song", "artist", "album" or "genre"
    target: str
    until: int | None  # UTC, in milliseconds; None: for good
    seq: int  # the event that made it, and that can be taken back

    def holds(self, now: int) -> bool:
        """Return whether the rule still holds."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """All plays, column by column: arrays (N,) that belong to whoever asked for them."""

    ids: tuple[str, ...]  # the songs, each once, in the order of their first play
    song: Codes  # which of `ids`
    rating: Vector  # in stars; 0 where the weight is 0
    weight: Vector
    since_heard_ms: Integers  # -1 for a song that had never been heard before
    at: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ledger:
    """What is known of a listener after event number `seq`, at `at`; `digest` compares two.

    `fold` makes one from a whole log, `continued` or `after` from an earlier one.
    """

    seq: int
    at: int  # the time of the last event; a clock that says less was set back
    plays: PlayTable  # Sequence[Play], in order; the last one may still be rated
    rules: tuple[Rule, ...]  # in the order they were made, also those that have run out
    recent: tuple[str, ...]  # the last RECENT songs, each once, the latest at the end
    last_kind: Source | None  # what the last event about a song was: it may end the last play

    @classmethod
    def empty(cls) -> Ledger:
        """Return the ledger of somebody who has done nothing yet."""
        return cls(seq=0, at=0, plays=PlayTable.empty(), rules=(), recent=(), last_kind=None)

    def after(self, event: Event, whole: WholeLog) -> Ledger:
        """Return the ledger after one more event; see `continued`."""
        return continued(self, (event,), whole)

    @property
    def last_heard(self) -> Mapping[str, int]:
        """When each song was heard for the last time: UTC, in milliseconds."""
        return self.plays.last_heard

    def rules_at(self, now: int) -> tuple[Rule, ...]:
        """Return the rules that hold at a time, which is never before the last event."""
        return tuple(rule for rule in self.rules if rule.holds(max(now, self.at)))

    def columns(self) -> Columns:
        """Return all plays as arrays."""
        rows = self.plays.rows()
        named = {name: np.ascontiguousarray(rows[name]) for name in rows.dtype.names or ()}
        return Columns(
            ids=self.plays.songs,
            song=named["song"],
            rating=named["rating"],
            weight=named["weight"],
            since_heard_ms=named["since_heard_ms"],
            at=named["at"],
        )

    def digest(self) -> str:
        """Return a hexadecimal SHA-256 over everything in it, sequence numbers included."""
        return digest(self)

    def learnt_digest(self) -> str:
        """Return a hexadecimal SHA-256 over what was learnt, whatever numbers the events had."""
        return digest(self, numbered=False)


def fold(events: Iterable[Event]) -> Ledger:
    """Return what a whole log says."""
    return _joined(Ledger.empty(), _in_sequence(0, events))


def continued(ledger: Ledger, tail: Iterable[Event], whole: WholeLog) -> Ledger:
    """Return the ledger after the events of `tail`; those that it already holds are passed over.

    What is in a ledger cannot be taken out of it again. So if the tail takes back something that
    came before it, the log is folded anew, and `whole` is asked for it: from its first event, at
    least to the end of the tail.
    """
    news = _in_sequence(ledger.seq, tail)
    if not reaches_back(news, ledger):
        return _joined(ledger, news)
    folded = fold(whole())
    if folded.seq < news[-1].seq:
        msg = f"the whole log must reach to event {news[-1].seq}, got one to {folded.seq}"
        raise InvalidInputError(msg)
    return folded


def reaches_back(tail: Iterable[Event], ledger: Ledger) -> bool:
    """Return whether any event after a ledger's last takes back something that it holds."""
    return any(
        event.retracts is not None and event.retracts <= ledger.seq < event.seq for event in tail
    )


def _in_sequence(seq: int, events: Iterable[Event]) -> list[Event]:
    """Return the events after number `seq`, without a gap."""
    news = [event for event in events if event.seq > seq]
    for expected, event in enumerate(news, seq + 1):
        if event.seq != expected:
            msg = f"events must come without a gap, expected number {expected}, got {event.seq}"
            raise InvalidInputError(msg)
    return news


def _joined(ledger: Ledger, news: Sequence[Event]) -> Ledger:
    """Return the ledger after some events none of which takes back what it holds."""
    taken_back = {event.retracts for event in news if event.retracts is not None}
    folding = _Folding(ledger)
    for event in news:
        if event.seq not in taken_back:
            folding.take(event)
    return folding.ledger(news[-1]) if news else ledger


class _Folding:
    """A ledger in the making."""

    def __init__(self, ledger: Ledger) -> None:
        self._plays = ledger.plays
        self._rules = ledger.rules
        self._new_rules: list[Rule] = []
        self._recent = dict.fromkeys(ledger.recent)  # a dict remembers its order
        self._last_kind = ledger.last_kind

    def ledger(self, last: Event) -> Ledger:
        """Return what came of it, with `last` as the last event of all."""
        return Ledger(
            seq=last.seq,
            at=last.at,
            plays=self._plays,
            rules=(*self._rules, *self._new_rules) if self._new_rules else self._rules,
            recent=tuple(self._recent),
            last_kind=self._last_kind,
        )

    def take(self, event: Event) -> None:
        """Let one event count that is not taken back."""
        if event.kind in HEARD:
            self._hear(event)
        elif event.scope is not None and event.target is not None:
            self._new_rules.append(
                Rule(scope=event.scope, target=event.target, until=event.until, seq=event.seq)
            )

    def _hear(self, event: Event) -> None:
        last = self._plays.last
        if last is None or not self._belongs_to(last, event):
            play = _begun(event, last)
            self._plays = self._plays.plus(play)
            self._remember(play.song)
        elif event.stars is None:
            self._plays = self._plays.with_last(replace(last, at=event.at))
        else:
            self._plays = self._plays.with_last(_rated(last, event))
        self._last_kind = cast("Source", event.kind)

    def _belongs_to(self, last: Play, event: Event) -> bool:
        """Return whether an event is about the last play."""
        before = _Before(
            kind=cast("Source", self._last_kind),
            song=last.song,
            at=last.at,
            since_heard_ms=last.since_heard_ms,
        )
        return is_same_play(before, event.kind, event.song, event.at, event.played_ms)

    def _remember(self, song: str) -> None:
        self._recent.pop(song, None)
        self._recent[song] = None
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """The last event that was heard, as far as it matters to what comes next."""

    kind: Source
    song: str
    at: int
    since_heard_ms: int | None


def _begun(event: Event, last: Play | None) -> Play:
    """Return the play that begins with an event, after the last one."""
    idle = None if last is None else event.at - (event.played_ms or 0) - last.at
    told = evidence(event, idle_ms=idle)
    return Play(
        song=cast("str", event.song),
        kind=cast("Source", event.kind),
        rating=told.rating,
        weight=told.weight,
        since_heard_ms=event.since_heard_ms,
        at=event.at,
        first_seq=event.seq,
    )


def _rated(play: Play, event: Event) -> Play:
    """Return a play whose evidence is now the rating in `event`."""
    told = evidence(event, idle_ms=None)
    return replace(play, kind="rating", rating=told.rating, weight=told.weight, at=event.at)
