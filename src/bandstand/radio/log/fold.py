"""The fold of a listener's event log, as a value.

    event log ─ fold ─ Ledger: plays with their evidence, when each song was last heard, rules

Events of one play count once: its last rating is its evidence, or else that the song was marked as
a favourite meanwhile, or else its end. A favourite marked at another time is no evidence: it does
not say how the song was after which pause. A retracted event counts as if it had never been.

Only what the log says goes in, never the clock nor anything that may change later, so the same log
gives the same ledger, to the last bit, whenever and wherever it is folded, and in whatever pieces.

What was imported enters at its own times (`past`). So for an event that says that something was,
the log is folded again from its first event. The pause before a play of the log is counted from an
imported one of the song where that is nearer.

A ledger has one form in bytes, the same on every machine, and a digest over them:

    header    one line of JSON: version, seq, at, rules, how many songs and plays, the last kind
    songs     the ids of the songs, one per line
    plays     one row each (`ROW`)

Without the numbers of the events they say what was learned, however many events it took.

The plays are an immutable table that grows at little cost. A table sees only its own first rows.
Tables that grew from one another share those rows, and rows once written never change, so sharing
is invisible; n more rows cost O(n) in all, not O(n²). The last play is kept outside of them: it
may still be rated.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast, overload

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.radio.log.evidence import (
    FAVOURITE,
    NEW_SITTING,
    Evidence,
    Sitting,
    evidence,
    opens_session,
    sitting_after,
)
from bandstand.radio.log.past import Counted, HeardInLog, Past, past_of
from bandstand.store.events.events import Event
from bandstand.store.events.imports import Segment
from bandstand.store.events.values import HEARD, is_same_play
from bandstand.types import AnyArray

# ── Plays ────────────────────────────────────────────────────────────────────────────────

Rows: TypeAlias = np.ndarray[tuple[int], np.dtype[np.void]]
Codes: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int32]]
Source: TypeAlias = Literal["rating", "skip", "listen"]

SOURCES: Final[tuple[Source, ...]] = ("rating", "skip", "listen")
NEVER: Final = -1  # in the column `since_heard_ms`
IMPORTED: Final = 0  # in the column `first_seq`: no event of the log
# Little end first: a row has the same bytes on every machine.
ROW: Final = np.dtype(
    [
        ("song", "<i4"),  # which of `songs`
        ("kind", "<i4"),  # which of SOURCES
        ("rating", "<f8"),  # 0 where the weight is 0
        ("weight", "<f8"),
        ("since_heard_ms", "<i8"),
        ("at", "<i8"),
        ("first_seq", "<i8"),
    ]
)
_ROOM: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One play of a song, with its evidence."""

    song: str
    kind: Source  # of the evidence: a rating, or else how it ended
    rating: float | None  # in stars; None if the play says nothing
    weight: float  # how much the rating counts; 0 if there is none
    since_heard_ms: int | None  # from when it was heard before to this play; None: never before
    at: int  # of the last event that belongs to it: UTC, in milliseconds
    first_seq: int  # the first event that belongs to it


class _Shared:
    """The rows, the songs in them, and where each song is: written once, read by many tables."""

    __slots__ = ("code_of", "has_past", "latest", "lock", "previous", "rows", "songs", "used")

    def __init__(self, rows: Rows, songs: Sequence[str], room: int) -> None:
        self.rows: Rows = np.zeros(max(room, len(rows)), dtype=ROW)
        self.rows[: len(rows)] = rows
        self.previous: Codes = np.zeros(len(self.rows), dtype=np.int32)  # the song's row before
        self.previous[: len(rows)] = previous_rows(rows["song"])
        self.used = len(rows)
        self.has_past = bool((rows["first_seq"] == IMPORTED).any())
        self.songs = list(songs)  # in the order of their first play
        self.code_of = {song: code for code, song in enumerate(songs)}
        latest = np.full(len(songs), NEVER)
        latest[rows["song"]] = np.arange(len(rows))  # of several, the last one stays
        self.latest: list[int] = latest.tolist()
        self.lock = threading.Lock()

    def append(self, play: Play) -> int:
        """Append a play and return its song code."""
        code = self.code_of.setdefault(play.song, len(self.songs))
        if code == len(self.songs):
            self.songs.append(play.song)
            self.latest.append(NEVER)
        self.previous[self.used] = self.latest[code]
        self.rows[self.used] = _row(play, code)
        self.has_past |= play.first_seq == IMPORTED
        self.latest[code] = self.used
        self.used += 1
        return code

    def last_row(self, song: str, length: int) -> int:
        """Return where a song is for the last time among the first `length` rows, or NEVER."""
        code = self.code_of.get(song)
        row = NEVER if code is None else self.latest[code]
        while row >= length:  # in a table that has grown further than the caller's
            row = int(self.previous[row])
        return row


class PlayTable(Sequence[Play]):
    """Plays in order.

    >>> play = Play(
    ...     song="a", kind="rating", rating=4.0, weight=1.0, since_heard_ms=None, at=10, first_seq=1
    ... )
    >>> table = PlayTable.empty().plus(play)
    >>> len(table), table[0].rating, table.songs, table.heard_at("a")
    (1, 4.0, ('a',), 10)
    """

    __slots__ = ("_before", "_distinct", "_last", "_shared")

    def __init__(self, shared: _Shared, before: int, distinct: int, last: Play | None) -> None:
        self._shared = shared
        self._before = before  # how many rows there are before the last play
        self._distinct = distinct  # how many songs are in those
        self._last = last

    @classmethod
    def empty(cls) -> PlayTable:
        """Return a table without plays."""
        return cls(_Shared(np.zeros(0, dtype=ROW), (), _ROOM), 0, 0, None)

    @classmethod
    def from_rows(cls, rows: Rows, songs: Sequence[str]) -> PlayTable:
        """Return the table that has these `rows` and `songs`."""
        if not len(rows):
            return cls.empty()
        distinct = int(rows["song"][:-1].max(initial=-1)) + 1
        last = _play(rows[-1].item(), songs)
        shared = _Shared(rows[:-1], songs[:distinct], _ROOM)
        return cls(shared, len(rows) - 1, distinct, last)

    def plus(self, play: Play) -> PlayTable:
        """Return this table with one more play at its end."""
        if self._last is None:
            return self.with_last(play)
        shared = self._shared
        with shared.lock:
            if shared.used == self._before < len(shared.rows):
                code = shared.append(self._last)
                return self._grown(shared, code, play)
        # Another table has gone on from here, or the room is used up.
        copied = _Shared(
            shared.rows[: self._before],
            shared.songs[: self._distinct],
            max(_ROOM, 2 * self._before),
        )
        return self._grown(copied, copied.append(self._last), play)

    def with_last(self, play: Play) -> PlayTable:
        """Return this table with another last play in the place of the one it has."""
        return PlayTable(self._shared, self._before, self._distinct, play)

    def _grown(self, shared: _Shared, code: int, play: Play) -> PlayTable:
        return PlayTable(shared, self._before + 1, max(self._distinct, code + 1), play)

    def __len__(self) -> int:
        return self._before + (self._last is not None)

    @overload
    def __getitem__(self, index: int) -> Play: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Play, ...]: ...
    def __getitem__(self, index: int | slice) -> Play | tuple[Play, ...]:
        """Return a play, or some, by their place."""
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        place = range(len(self))[index]
        if place == self._before and self._last is not None:
            return self._last
        return _play(self._shared.rows[place].item(), self._shared.songs)

    @property
    def last(self) -> Play | None:
        """The last play; None if there is none yet."""
        return self._last

    @property
    def songs(self) -> tuple[str, ...]:
        """The songs, each once, in the order of their first play."""
        before = self._shared.songs[: self._distinct]
        is_new = self._last is not None and self._code_of(self._last.song) == self._distinct
        return (*before, self._last.song) if self._last is not None and is_new else tuple(before)

    def rows(self, start: int = 0) -> Rows:
        """Return all plays from number `start` on as a new array; `named` has their songs."""
        rows: Rows = np.empty(max(len(self) - start, 0), dtype=ROW)
        before = max(self._before - start, 0)
        rows[:before] = self._shared.rows[start : start + before]
        if self._last is not None and len(rows):
            rows[-1] = _row(self._last, self._code_of(self._last.song))
        return rows

    def named(self, codes: Iterable[int]) -> list[str]:
        """Return the songs that have these codes in `rows`."""
        # The last play's song has its code in the shared list only once another play follows.
        last = "" if self._last is None else self._last.song
        shared = self._shared.songs
        return [shared[code] if code < self._distinct else last for code in codes]

    def continues(self, earlier: PlayTable) -> bool:
        """Return whether this is known to begin with `earlier`, whose last play may have changed.

        It is known where both grew from one another and share their rows.
        """
        return self._shared is earlier._shared and self._before >= earlier._before

    def heard_at(self, song: str) -> int | None:
        """Return when a song was heard for the last time; None if it never was."""
        if self._last is not None and self._last.song == song:
            return self._last.at
        row = self._shared.last_row(song, self._before)
        return None if row == NEVER else int(self._shared.rows[row]["at"])

    def imported_at(self, song: str) -> int | None:
        """Return when a song was heard last, by what was imported; None if it says nothing."""
        if self._last is not None and self._last.song == song and self._last.first_seq == IMPORTED:
            return self._last.at
        shared = self._shared
        row = shared.last_row(song, self._before) if shared.has_past else NEVER
        while row != NEVER and shared.rows[row]["first_seq"] != IMPORTED:
            row = int(shared.previous[row])
        return None if row == NEVER else int(shared.rows[row]["at"])

    def _code_of(self, song: str) -> int:
        return min(self._distinct, self._shared.code_of.get(song, self._distinct))


def previous_rows(codes: Codes) -> Codes:
    """Return for each row the row before it with the same song; NEVER for the first.

    >>> previous_rows(np.array([0, 1, 0, 0, 1], dtype=np.int32)).tolist()
    [-1, -1, 0, 2, 1]
    """
    order = np.argsort(codes, kind="stable")
    previous = np.full(len(codes), NEVER, dtype=np.int32)
    repeats = codes[order[1:]] == codes[order[:-1]]
    previous[order[1:][repeats]] = order[:-1][repeats]
    return previous


def recent_songs(rows: Rows, songs: Sequence[str]) -> tuple[str, ...]:
    """Return the last songs, each once, the latest at the end."""
    codes, last_first = np.unique(rows["song"][::-1], return_index=True)
    latest = codes[np.argsort(last_first)][:MAX_RECENT]
    return tuple(songs[code] for code in latest[::-1].tolist())


def _row(play: Play, code: int) -> tuple[Any, ...]:
    since = NEVER if play.since_heard_ms is None else play.since_heard_ms
    found = (play.rating or 0.0, play.weight)
    return (code, SOURCES.index(play.kind), *found, since, play.at, play.first_seq)


def _play(row: tuple[Any, ...], songs: Sequence[str]) -> Play:
    code, kind, rating, weight, since, at, first_seq = row
    return Play(
        song=songs[code],
        kind=SOURCES[kind],
        rating=rating if weight else None,
        weight=weight,
        since_heard_ms=None if since == NEVER else since,
        at=at,
        first_seq=first_seq,
    )


# ── The ledger ───────────────────────────────────────────────────────────────────────────

WholeLog: TypeAlias = "Callable[[], Iterable[Event]]"
# The plays of an import, by its digest.
Imports: TypeAlias = "Callable[[str], Segment]"
MAX_RECENT: Final = 100  # songs
# Of the meaning of the bytes, evidence included: a snapshot of another version is not used.
VERSION: Final = 4


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
    # The songs that were marked as favourites since the last play began, and when: one may be
    # playing.
    marked: tuple[tuple[str, int], ...]

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
            marked=(),
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
            "marked": self.marked,
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


def _no_import(digest: str) -> Segment:
    msg = f"a log with imports must come with what was imported, got none of {digest[:16]}"
    raise InvalidInputError(msg)


def fold(events: Iterable[Event], imports: Imports = _no_import) -> Ledger:
    """Return the ledger of a whole log; `imports` is asked for what was imported."""
    news = _in_sequence(0, events)
    return _joined(Ledger.empty(), news, _imported(news, imports))


def extend(
    ledger: Ledger, tail: Iterable[Event], whole: WholeLog, imports: Imports = _no_import
) -> Ledger:
    """Return the ledger after the events of `tail`; events that it already holds are skipped.

    A ledger cannot give up a play, nor take one in its midst. So if the tail retracts an event
    before it, or something was imported, `whole` is asked for the log from its first event, at
    least to the end of the tail, which is folded again.
    """
    news = _in_sequence(ledger.seq, tail)
    if not rewrites(news, ledger):
        return _joined(ledger, news)
    folded = fold(whole(), imports)
    if folded.seq < news[-1].seq:
        msg = f"the whole log must reach to event {news[-1].seq}, got one to {folded.seq}"
        raise InvalidInputError(msg)
    return folded


def rewrites(tail: Iterable[Event], ledger: Ledger) -> bool:
    """Return whether an event after a ledger's last changes what it holds, not only adds to it."""
    return any(
        event.kind == "import" or (event.retracts is not None and event.retracts <= ledger.seq)
        for event in tail
        if event.seq > ledger.seq
    )


def _imported(log: Sequence[Event], imports: Imports) -> Past | None:
    """Return what was imported into a whole log, and counts."""
    if not any(event.kind == "import" for event in log):
        return None
    retracted = {event.retracts for event in log}
    counts = [event for event in log if event.seq not in retracted]
    made = [event for event in counts if event.kind == "import"]
    if not made:
        return None
    heard = [
        HeardInLog(song=str(it.song), begin=it.at - (it.played_ms or 0), seq=it.seq)
        for it in counts
        if it.kind in HEARD
    ]
    segments = [Counted(imports(str(it.target)), it.seq, it.at) for it in made]
    return past_of(segments, heard)


def _in_sequence(seq: int, events: Iterable[Event]) -> list[Event]:
    """Return the events after number `seq`, without a gap."""
    news = [event for event in events if event.seq > seq]
    for expected, event in enumerate(news, seq + 1):
        if event.seq != expected:
            msg = f"events must come without a gap, expected number {expected}, got {event.seq}"
            raise InvalidInputError(msg)
    return news


def _joined(ledger: Ledger, news: Sequence[Event], past: Past | None = None) -> Ledger:
    """Return the ledger after events none of which retracts one that it holds."""
    if not news:
        return ledger
    retracted = {event.retracts for event in news if event.retracts is not None}
    folding = _Folding(ledger, past)
    for event in news:
        if event.seq not in retracted:
            folding.take(event)
    return folding.ledger(news[-1])


class _Folding:
    """A ledger in the making."""

    def __init__(self, ledger: Ledger, past: Past | None = None) -> None:
        self._past, self._taken = past, 0
        self._plays = ledger.plays
        self._rules = ledger.rules
        self._new_rules: list[Rule] = []
        self._recent = dict.fromkeys(ledger.recent)  # a dict remembers its order
        self._last_kind = ledger.last_kind
        self._sitting = ledger.sitting
        self._marked = dict(ledger.marked)

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
            marked=tuple(self._marked.items()),
        )

    def take(self, event: Event) -> None:
        """Add one event that is not retracted, after what was imported of the time before it."""
        if self._past is not None:
            self._take_past(self._past, event.at)
        if event.kind in HEARD:
            self._hear(event)
        elif event.kind == "favourite":
            self._mark(event)
        elif event.scope is not None and event.target is not None:
            self._new_rules.append(
                Rule(scope=event.scope, target=event.target, until=event.until, seq=event.seq)
            )

    def _take_past(self, past: Past, until: int) -> None:
        """Add the imported plays up to a time; a sitting of the log begins after them."""
        begin, self._taken = self._taken, int(np.searchsorted(past.at, until, side="right"))
        if self._taken == begin:
            return
        if not len(self._plays):
            rows, songs = _rows_of(past, self._taken)
            self._plays = PlayTable.from_rows(rows, songs)
            self._recent = dict.fromkeys(recent_songs(rows, songs))
        else:
            for row in range(begin, self._taken):
                self._plays = self._plays.plus(self._imported_play(past, row))
                self._remember(past.songs[past.song[row]])
        self._last_kind = SOURCES[int(past.kind[self._taken - 1])]
        self._sitting, self._marked = NEW_SITTING, {}

    def _imported_play(self, past: Past, row: int) -> Play:
        """Return an imported play; the log may have heard its song later than what was imported."""
        song, since = past.songs[past.song[row]], int(past.since[row])
        heard = None if past.is_judgement[row] else self._plays.heard_at(song)
        if heard is not None:
            since_log = max(int(past.begin[row]) - heard, 0)
            since = since_log if since == NEVER else min(since, since_log)
        weight = float(past.weight[row])
        return Play(
            song=song,
            kind=SOURCES[int(past.kind[row])],
            rating=float(past.rating[row]) if weight else None,
            weight=weight,
            since_heard_ms=None if since == NEVER else since,
            at=int(past.at[row]),
            first_seq=IMPORTED,
        )

    def _hear(self, event: Event) -> None:
        last = self._plays.last
        if last is None or not self._belongs_to(last, event):
            idle = None if last is None else event.at - (event.played_ms or 0) - last.at
            before = NEW_SITTING if opens_session(idle) else self._sitting
            is_marked = self._was_marked_in(event)
            found = evidence(event, idle_ms=idle, sitting=before, is_favourite=is_marked)
            play = replace(_begun(event, found), since_heard_ms=self._since_heard(event))
            self._plays = self._plays.plus(play)
            self._sitting = sitting_after(event, before, is_favourite=is_marked)
            self._remember(play.song)
            self._marked = {}
        elif event.stars is None:
            self._plays = self._plays.with_last(replace(last, at=event.at))
        else:
            self._plays = self._plays.with_last(_rated(last, event))
            self._sitting = NEW_SITTING
        self._last_kind = cast("Source", event.kind)

    def _since_heard(self, event: Event) -> int | None:
        """Return how long before a play of the log its song was heard, imported plays included."""
        imported = self._plays.imported_at(cast("str", event.song))
        since = -1 if imported is None else event.at - (event.played_ms or 0) - imported
        if since < 0:
            return event.since_heard_ms
        return since if event.since_heard_ms is None else min(since, event.since_heard_ms)

    def _mark(self, event: Event) -> None:
        """Take a favourite for evidence of the last play, or keep it for one that goes on."""
        if event.scope != "song" or event.target is None:
            return
        last = self._plays.last
        if last is None or not self._is_rated_by(last, event):
            self._marked[event.target] = event.at
            return
        if last.kind != "rating":
            marked = replace(last, rating=FAVOURITE.rating, weight=FAVOURITE.weight)
            self._plays = self._plays.with_last(marked)
        self._sitting = NEW_SITTING

    def _is_rated_by(self, last: Play, event: Event) -> bool:
        """Return whether a favourite is of the last play, as a rating at its time would be."""
        before = self._last_event(last)
        is_own = last.first_seq != IMPORTED
        return is_own and is_same_play(before, "rating", event.target, event.at, None)

    def _was_marked_in(self, event: Event) -> bool:
        """Return whether the song was marked in the play that an event is about."""
        at = self._marked.get(cast("str", event.song))
        if at is None:
            return False
        # As a rating at its time would be of the play.
        before = _LastEvent(kind="rating", song=cast("str", event.song), at=at, since_heard_ms=None)
        return is_same_play(before, event.kind, event.song, event.at, event.played_ms)

    def _belongs_to(self, last: Play, event: Event) -> bool:
        """Return whether an event is about the last play."""
        before = self._last_event(last)
        is_own = last.first_seq != IMPORTED
        return is_own and is_same_play(before, event.kind, event.song, event.at, event.played_ms)

    def _last_event(self, last: Play) -> _LastEvent:
        return _LastEvent(
            kind=cast("Source", self._last_kind),
            song=last.song,
            at=last.at,
            since_heard_ms=last.since_heard_ms,
        )

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


def _rows_of(past: Past, count: int) -> tuple[Rows, list[str]]:
    """Return the first imported plays as rows, and their songs in the order of their first play.

    Only those that are evidence, and the last of each song.
    """
    song = past.song[:count]
    latest = np.full(len(past.songs), NEVER)
    latest[song] = np.arange(count)  # of several, the last one stays
    is_kept: AnyArray = past.weight[:count] > 0
    is_kept[latest[latest != NEVER]] = True
    kept = np.flatnonzero(is_kept)
    codes, first, place = np.unique(song[kept], return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(codes), dtype=np.int64)
    number[order] = np.arange(len(codes))
    rows: Rows = np.zeros(len(kept), dtype=ROW)
    rows["song"], rows["kind"] = number[place], past.kind[kept]
    rows["rating"] = np.where(past.weight[kept] > 0, past.rating[kept], 0.0)
    rows["weight"], rows["since_heard_ms"] = past.weight[kept], past.since[kept]
    rows["at"], rows["first_seq"] = past.at[kept], IMPORTED
    return rows, [past.songs[code] for code in codes[order].tolist()]
