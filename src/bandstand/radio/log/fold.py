"""The fold of a listener's event log, as a value.

    event log ─ fold ─ Ledger: plays with their evidence, when each song was last heard, rules

Events of one play count once: its last rating is its evidence, or else its end. A retracted event
counts as if it had never been. Only what the log says goes in, never the clock nor anything that
may change later, so the same log gives the same ledger, to the last bit, whenever and wherever it
is folded, and in whatever pieces.

A ledger has one form in bytes, the same on every machine, and a digest over them:

    header    one line of JSON: version, seq, at, rules, how many songs and plays, the last kind
    songs     the ids of the songs, one per line
    plays     one row each (play_table.ROW)

Without the numbers of the events they say what was learned, however many events it took.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from bandstand.errors import InvalidInputError
from bandstand.radio.log.evidence import (
    NEW_SITTING,
    Sitting,
    evidence,
    opens_session,
    sitting_after,
)
from bandstand.radio.log.play_table import Play, PlayTable, Source
from bandstand.store.events.values import HEARD, is_same_play

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bandstand.radio.log.evidence import Evidence
    from bandstand.store.events.events import Event

WholeLog: TypeAlias = "Callable[[], Iterable[Event]]"
MAX_RECENT: Final = 100  # songs
# Of the meaning of the bytes, evidence included: a snapshot of another version is not used.
VERSION: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Something that is not to be played: never again, or not before a time."""

    scope: str  # "song", "artist", "album" or "genre"
    target: str
    until: int | None  # UTC, in milliseconds; None: without end
    seq: int  # the event that made it, and that can be retracted

    def holds(self, now: int) -> bool:
        """Return whether the rule still holds."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ledger:
    """The state of a listener's log after event number `seq`, at `at`; `digest` compares two.

    `fold` makes one from a whole log, `extend` from an earlier one.
    """

    seq: int
    at: int  # the time of the last event; a clock that says less was set back
    plays: PlayTable  # Sequence[Play], in order; the last one may still be rated
    rules: tuple[Rule, ...]  # in the order they were made, also those that have run out
    recent: tuple[str, ...]  # the last MAX_RECENT songs, each once, the latest at the end
    last_kind: Source | None  # of the last event about a song: it may end the last play
    sitting: Sitting  # of the last plays

    @classmethod
    def empty(cls) -> Ledger:
        """Return the ledger of a listener without events."""
        return cls(
            seq=0,
            at=0,
            plays=PlayTable.empty(),
            rules=(),
            recent=(),
            last_kind=None,
            sitting=NEW_SITTING,
        )

    def rules_at(self, now: int) -> tuple[Rule, ...]:
        """Return the rules that hold at a time, which is never before the last event."""
        return tuple(rule for rule in self.rules if rule.holds(max(now, self.at)))

    def to_bytes(self, *, numbered: bool = True) -> bytes:
        """Return the ledger as bytes, with or without the numbers of the events."""
        rows, songs = self.plays.rows(), self.plays.songs
        if not numbered:
            rows["first_seq"] = 0
        header = {
            "version": VERSION,
            "seq": self.seq if numbered else None,
            "at": self.at if numbered else None,
            "rules": [_rule_json(rule, numbered=numbered) for rule in self.rules],
            "songs": len(songs),
            "plays": len(rows),
            "last_kind": self.last_kind,
            "sitting": self.sitting,
        }
        line = json.dumps(header, ensure_ascii=True, separators=(",", ":"))
        names = "".join(f"{song}\n" for song in songs)
        return f"{line}\n{names}".encode() + rows.tobytes()

    def digest(self, *, numbered: bool = True) -> str:
        """Return a hexadecimal SHA-256 over everything in it.

        Without the numbers of the events, it is the same for everything that was learned.
        """
        return hashlib.sha256(self.to_bytes(numbered=numbered)).hexdigest()


def _rule_json(rule: Rule, *, numbered: bool) -> list[Any]:
    return [rule.scope, rule.target, rule.until, rule.seq if numbered else None]


def fold(events: Iterable[Event]) -> Ledger:
    """Return the ledger of a whole log."""
    return _joined(Ledger.empty(), _in_sequence(0, events))


def extend(ledger: Ledger, tail: Iterable[Event], whole: WholeLog) -> Ledger:
    """Return the ledger after the events of `tail`; events that it already holds are skipped.

    A ledger cannot give up a play. So if the tail retracts an event before it, `whole` is asked
    for the log from its first event, at least to the end of the tail, which is folded again.
    """
    news = _in_sequence(ledger.seq, tail)
    if not retracts_into(news, ledger):
        return _joined(ledger, news)
    folded = fold(whole())
    if folded.seq < news[-1].seq:
        msg = f"the whole log must reach to event {news[-1].seq}, got one to {folded.seq}"
        raise InvalidInputError(msg)
    return folded


def retracts_into(tail: Iterable[Event], ledger: Ledger) -> bool:
    """Return whether any event after a ledger's last retracts one that it holds."""
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
    """Return the ledger after events none of which retracts one that it holds."""
    if not news:
        return ledger
    retracted = {event.retracts for event in news if event.retracts is not None}
    folding = _Folding(ledger)
    for event in news:
        if event.seq not in retracted:
            folding.take(event)
    return folding.ledger(news[-1])


class _Folding:
    """A ledger in the making."""

    def __init__(self, ledger: Ledger) -> None:
        self._plays = ledger.plays
        self._rules = ledger.rules
        self._new_rules: list[Rule] = []
        self._recent = dict.fromkeys(ledger.recent)  # a dict remembers its order
        self._last_kind = ledger.last_kind
        self._sitting = ledger.sitting

    def ledger(self, last: Event) -> Ledger:
        """Return the ledger, with `last` as the last event of all."""
        return Ledger(
            seq=last.seq,
            at=last.at,
            plays=self._plays,
            rules=(*self._rules, *self._new_rules) if self._new_rules else self._rules,
            recent=tuple(self._recent),
            last_kind=self._last_kind,
            sitting=self._sitting,
        )

    def take(self, event: Event) -> None:
        """Add one event that is not retracted."""
        if event.kind in HEARD:
            self._hear(event)
        elif event.scope is not None and event.target is not None:
            self._new_rules.append(
                Rule(scope=event.scope, target=event.target, until=event.until, seq=event.seq)
            )

    def _hear(self, event: Event) -> None:
        last = self._plays.last
        if last is None or not self._belongs_to(last, event):
            idle = None if last is None else event.at - (event.played_ms or 0) - last.at
            before = NEW_SITTING if opens_session(idle) else self._sitting
            play = _begun(event, evidence(event, idle_ms=idle, sitting=before))
            self._plays = self._plays.plus(play)
            self._sitting = sitting_after(event, before)
            self._remember(play.song)
        elif event.stars is None:
            self._plays = self._plays.with_last(replace(last, at=event.at))
        else:
            self._plays = self._plays.with_last(_rated(last, event))
            self._sitting = NEW_SITTING
        self._last_kind = cast("Source", event.kind)

    def _belongs_to(self, last: Play, event: Event) -> bool:
        """Return whether an event is about the last play."""
        before = _LastEvent(
            kind=cast("Source", self._last_kind),
            song=last.song,
            at=last.at,
            since_heard_ms=last.since_heard_ms,
        )
        return is_same_play(before, event.kind, event.song, event.at, event.played_ms)

    def _remember(self, song: str) -> None:
        self._recent.pop(song, None)
        self._recent[song] = None
        if len(self._recent) > MAX_RECENT:
            del self._recent[next(iter(self._recent))]


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastEvent:
    """The last event that was heard, as far as it matters to the next one."""

    kind: Source
    song: str
    at: int
    since_heard_ms: int | None


def _begun(event: Event, found: Evidence) -> Play:
    """Return the play that begins with an event."""
    return Play(
        song=cast("str", event.song),
        kind=cast("Source", event.kind),
        rating=found.rating,
        weight=found.weight,
        since_heard_ms=event.since_heard_ms,
        at=event.at,
        first_seq=event.seq,
    )


def _rated(play: Play, event: Event) -> Play:
    """Return a play whose evidence is now the rating in `event`."""
    found = evidence(event, idle_ms=None)
    return replace(play, kind="rating", rating=found.rating, weight=found.weight, at=event.at)
