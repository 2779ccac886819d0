"""What a log says, event by event."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.radio.log import fold as fold_module
from bandstand.radio.log.evidence import (
    EARLY_SKIP,
    FULL_LISTEN,
    MAX_SKIPS,
    MAX_UNATTENDED,
    MIN_JUDGED_MS,
    Sitting,
    evidence,
    opens_session,
)
from bandstand.radio.log.fold import MAX_RECENT, Ledger, Rule, extend, fold
from bandstand.store.events.events import HEARD, Event
from bandstand.store.events.values import is_same_play
from tests.fixtures.radio.logs import (
    DAY,
    MINUTE,
    SECOND,
    SONGS,
    Log,
    last_heard,
    logs,
    no_log,
    same,
    without_retracted,
)

A, B, C = SONGS[:3]


def one_by_one(events: Sequence[Event]) -> Ledger:
    ledger = Ledger.empty()
    for place, event in enumerate(events, 1):
        ledger = extend(ledger, [event], lambda end=place: events[:end])  # type: ignore[misc]
    return ledger


def test_nothing_is_known_of_somebody_new() -> None:
    ledger = fold([])
    assert same(ledger, Ledger.empty())
    assert (ledger.seq, ledger.at, len(ledger.plays)) == (0, 0, 0)
    assert (ledger.recent, ledger.rules) == ((), ())
    assert last_heard(ledger) == {}


def test_each_skip_in_a_row_says_half_of_the_one_before_it_until_a_rating_or_a_pause() -> None:
    log = Log()
    log.add("rating", C, stars=3)
    songs = [f"{number:016x}" for number in range(7)]
    for song in songs[:6]:
        log.add("skip", song, after=MINUTE, played_ms=5 * SECOND)
    log.add("rating", C, after=MINUTE, stars=3)
    log.add("skip", songs[6], after=MINUTE, played_ms=5 * SECOND)
    shares = [play.weight / EARLY_SKIP.weight for play in fold(log.events).plays]
    assert shares[1:7] == [1, 1 / 2, 1 / 4, 1 / 8, 1 / 8, 1 / 8]
    assert shares[8] == 1


def test_songs_that_play_on_without_a_sign_of_a_person_say_nothing_after_the_third() -> None:
    log = Log()
    songs = [f"{number:016x}" for number in range(34)]
    for song in songs[:30]:
        log.add("listen", song, after=4 * MINUTE)
    log.add("rating", songs[29], after=0, stars=2)
    log.add("listen", songs[30], after=4 * MINUTE)
    weights = [play.weight for play in fold(log.events).plays]
    assert weights == [FULL_LISTEN.weight] * 3 + [0.0] * 26 + [1.0, FULL_LISTEN.weight]


def test_a_favourite_is_evidence_of_the_play_in_which_it_is_marked() -> None:
    log, played = Log(), {"played_ms": 3 * MINUTE}
    log.add("favourite", scope="song", target=A)  # while it plays
    log.add("listen", A, after=2 * MINUTE, **played)
    log.add("listen", B, after=4 * MINUTE, **played)
    log.add("favourite", scope="song", target=B)  # right after it
    log.add("skip", C, after=0, played_ms=5 * SECOND)
    log.add("favourite", scope="song", target=A, after=MINUTE)  # in a list, while C plays
    log.add("favourite", scope="artist", target=C, after=MINUTE)
    log.add("listen", C, after=30 * MINUTE, **played)
    log.add("listen", A, after=4 * MINUTE, **played)
    log.add("favourite", scope="song", target=C, after=DAY)  # of no play
    log.add("rating", B, after=MINUTE, stars=2)
    log.add("favourite", scope="song", target=B)  # rated already
    found = [(play.rating, play.weight) for play in fold(log.events).plays]
    hearted, listened = (5.0, 1 / 4), (FULL_LISTEN.rating, FULL_LISTEN.weight)
    skipped = (EARLY_SKIP.rating, EARLY_SKIP.weight)
    assert found == [hearted, hearted, skipped, listened, listened, (2.0, 1.0)]
    assert fold(log.events).rules == ()
    log.add("retract", retracts=1)
    assert fold(log.events).plays[0].rating == FULL_LISTEN.rating


def test_rules_hold_until_they_run_out_or_are_taken_back() -> None:
    log = Log()
    log.add("ban", scope="artist", target="The Band")
    snooze = log.add("snooze", scope="song", target=A, until=log.clock + 30 * DAY)
    ledger = fold(log.events)
    ban = Rule(scope="artist", target="The Band", until=None, seq=1)
    until = snooze.until
    assert until is not None
    assert ledger.rules == (ban, Rule(scope="song", target=A, until=until, seq=2))
    assert ledger.rules_at(until - 1) == ledger.rules
    assert ledger.rules_at(until) == (ban,)
    log.add("retract", retracts=1)
    assert fold(log.events).rules_at(until) == ()


def test_a_snooze_that_has_run_out_does_not_come_back_when_the_clock_goes_back() -> None:
    log = Log()
    snooze = log.add("snooze", scope="song", target=A, until=log.clock + DAY)
    log.add("listen", B, after=2 * DAY)
    assert fold(log.events).rules_at(snooze.at - 365 * DAY) == ()


def test_recent_songs_are_the_last_hundred_each_once() -> None:
    log = Log()
    songs = [f"{number:016x}" for number in range(150)]
    for song in [*songs, songs[60], songs[3]]:
        log.add("listen", song)
    ledger = fold(log.events)
    assert len(ledger.recent) == MAX_RECENT
    assert ledger.recent == (*songs[51:60], *songs[61:], songs[60], songs[3])


def reference(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return the plays of a log without anything taken back, by the words of the rules."""
    plays: list[list[Event]] = []
    marked: set[int] = set()  # the numbers of plays
    hearts: list[Event] = []  # since the last play began
    for event in events:
        last = plays[-1][-1] if plays else None
        if event.kind == "favourite" and event.scope == "song":
            if last is not None and is_same_play(last, "rating", event.target, event.at, None):
                marked.add(len(plays) - 1)
            else:
                hearts.append(as_rating(event))
        if event.kind not in HEARD:
            continue
        if last is not None and is_same_play(
            last, event.kind, event.song, event.at, event.played_ms
        ):
            plays[-1].append(event)
        else:
            of_song = [heart for heart in hearts if heart.song == event.song][-1:]
            for heart in of_song:
                if is_same_play(heart, event.kind, event.song, event.at, event.played_ms):
                    marked.add(len(plays))
            hearts = []
            plays.append([event])
    found: list[dict[str, Any]] = []
    for number, play in enumerate(plays):
        ratings = [event for event in play if event.kind == "rating"]
        told = (ratings or play)[-1]
        says = evidence(
            told,
            idle_ms=idle_before(plays, number),
            sitting=sitting_of(plays, marked, number),
            is_favourite=number in marked,
        )
        found.append(
            {
                "song": told.song,
                "kind": told.kind,
                "rating": says.rating,
                "weight": says.weight,
                "since_heard_ms": play[0].since_heard_ms,
                "at": play[-1].at,
                "first_seq": play[0].seq,
            }
        )
    return found


def idle_before(plays: Sequence[Sequence[Event]], number: int) -> int | None:
    """Return how long nothing had been played before a play."""
    if not number:
        return None
    first = plays[number][0]
    return first.at - (first.played_ms or 0) - plays[number - 1][-1].at


def as_rating(event: Event) -> Event:
    """Return a rating that would be of the same play as a favourite."""
    return replace(event, kind="rating", song=event.target)


def sitting_of(plays: Sequence[Sequence[Event]], marked: set[int], number: int) -> Sitting:
    """Return how many songs before a play were skipped, or heard without a sign of a person."""
    kinds: list[str] = []
    for place in range(number, 0, -1):
        before, idle = plays[place - 1], idle_before(plays, place)
        if any(event.kind == "rating" for event in before) or place - 1 in marked:
            break
        if opens_session(idle):
            break
        if before[0].played_ms is None or before[0].played_ms >= MIN_JUDGED_MS:
            kinds.append(before[0].kind)
    skips = len(list(takewhile("skip".__eq__, kinds)))
    listens = len(list(takewhile("listen".__eq__, kinds)))
    return Sitting(skips=min(skips, MAX_SKIPS), unattended=min(listens, MAX_UNATTENDED))


@given(logs())
def test_plays_are_what_the_rules_say(log: Log) -> None:
    events = without_retracted(log.events)
    ledger = fold(events)
    assert all((play.since_heard_ms or 0) >= 0 for play in ledger.plays)
    names = fold_module.Play.__slots__
    assert [{name: getattr(p, name) for name in names} for p in ledger.plays] == reference(events)
    heard = {play.song: play.at for play in ledger.plays}
    assert last_heard(ledger) == heard
    latest = list(dict.fromkeys(play.song for play in reversed(ledger.plays)))
    assert ledger.recent == tuple(reversed(latest))


@given(logs())
def test_one_event_after_the_other_says_the_same_as_all_at_once(log: Log) -> None:
    assert same(one_by_one(log.events), fold(log.events))


@given(logs())
def test_what_was_taken_back_counts_as_if_it_had_never_been(log: Log) -> None:
    never = fold(without_retracted(log.events))
    assert fold(log.events).digest(numbered=False) == never.digest(numbered=False)


@given(logs(), st.sampled_from(SONGS), st.integers(1, 5), st.sampled_from([0, MINUTE, DAY]))
def test_a_rating_and_its_undo_leave_no_trace(log: Log, song: str, stars: int, gap: int) -> None:
    before = fold(log.events)
    rating = log.add("rating", song, after=gap, stars=stars)
    rated = extend(before, [rating], no_log)
    undone = extend(rated, [log.add("retract", retracts=rating.seq)], lambda: log.events)
    assert undone.digest(numbered=False) == before.digest(numbered=False)
    assert undone.seq == before.seq + 2
    assert undone.digest() != before.digest()


def test_an_undo_that_is_forgotten_leaves_a_trace() -> None:
    # The twin of the test above: it sees what a fold does that knows nothing of taking back.
    log = Log()
    log.add("listen", A)
    before = fold(log.events)
    log.add("rating", B, stars=5)
    assert fold(log.events).digest(numbered=False) != before.digest(numbered=False)


@given(logs(), st.data())
def test_events_that_a_ledger_holds_are_passed_over(log: Log, data: st.DataObject) -> None:
    ledger = fold(log.events)
    start = data.draw(st.integers(0, len(log.events)))
    assert same(extend(ledger, log.events[start:], no_log), ledger)


def test_a_gap_in_the_log_is_refused() -> None:
    log = Log()
    for _ in range(3):
        log.add("listen", A)
    with pytest.raises(InvalidInputError, match="expected number 1, got 2"):
        fold(log.events[1:])
    with pytest.raises(InvalidInputError, match="expected number 2, got 3"):
        extend(fold(log.events[:1]), [log.events[2]], no_log)


def test_the_whole_log_must_be_whole() -> None:
    log = Log()
    log.add("listen", A)
    ledger = fold(log.events)
    log.add("retract", retracts=1)
    with pytest.raises(InvalidInputError, match="reach to event 2, got one to 1"):
        extend(ledger, log.events[1:], lambda: log.events[:1])


@given(logs())
def test_rows_hold_what_the_plays_hold(log: Log) -> None:
    plays = fold(log.events).plays
    rows = plays.rows()
    assert plays.named(rows["song"].tolist()) == [play.song for play in plays]
    assert len(set(plays.songs)) == len(plays.songs)
    for name in ("weight", "at", "first_seq"):
        assert rows[name].tolist() == [getattr(play, name) for play in plays]
    assert rows["rating"].tolist() == [play.rating or 0.0 for play in plays]
    since = [None if value == -1 else value for value in rows["since_heard_ms"].tolist()]
    assert since == [play.since_heard_ms for play in plays]
