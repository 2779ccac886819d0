"""What was imported counts once, at its own times, and not at all when it is taken back."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.history import History
from bandstand.radio.log import evidence as rules
from bandstand.radio.log.evidence import (
    NEW_SITTING,
    NOTHING,
    evidence,
    opens_session,
    sitting_after,
)
from bandstand.radio.log.fold import Ledger, extend, fold
from bandstand.radio.log.snapshots import from_bytes, to_bytes
from bandstand.radio.selection.select import RadioListener
from bandstand.store.events.imports import COUNT, FAVOURITE, LISTEN, RATING, SKIP, UNKNOWN
from tests.fixtures.radio.catalogues import shelf, song_id
from tests.fixtures.radio.imports import Imports, Row, histories, played
from tests.fixtures.radio.logs import DAY, HOUR, MINUTE, SONGS, START, Log, logs

A, B, C = SONGS[:3]
PAST = START - 100 * DAY


def folded(*imports: list[Row], log: Log | None = None) -> Ledger:
    known, log = Imports(), log or Log()
    for rows in imports:
        known.add(log, rows, after=MINUTE)
    return fold(log.events, known)


def learned(ledger: Ledger) -> list[tuple[str, float | None, float, int | None]]:
    return [(it.song, it.rating, it.weight, it.since_heard_ms) for it in ledger.plays]


# ── Evidence ─────────────────────────────────────────────────────────────────────────────


def one_by_one(rows: list[Row]) -> list[tuple[float, float]]:
    """Return what the radio's own rules say of plays, by their one function."""
    sitting, found = NEW_SITTING, list[tuple[float, float]]()
    last: int | None = None
    template = Log().add("skip", A, played_ms=1)
    for _, begin, ms, kind, _ in rows:
        known = 200_000 if ms == UNKNOWN else ms
        event = replace(
            template,
            kind="skip" if kind == SKIP else "listen",
            played_ms=known,
            at=begin + (0 if ms == UNKNOWN else ms),
        )
        idle = None if last is None else begin - last
        sitting = NEW_SITTING if opens_session(idle) else sitting
        weighed = evidence(event, idle_ms=idle, sitting=sitting._replace(unattended=0))
        if kind == LISTEN and known < rules.EARLY_SKIP_MS:
            weighed = NOTHING
        found.append((weighed.rating or 0.0, weighed.weight))
        sitting, last = sitting_after(event, sitting), event.at
    return found


@given(histories(kinds=[LISTEN, SKIP]))
def test_an_imported_play_means_what_it_means_in_the_radio(rows: list[Row]) -> None:
    kinds, ms, begins = (np.array([row[it] for row in rows], dtype=np.int64) for it in (3, 2, 1))
    ends = begins + np.where(ms == UNKNOWN, 0, ms)
    order = np.argsort(ends, kind="stable")
    ratings, weights = rules.imported_plays(kinds[order], ms[order], begins[order], ends[order])
    expected = one_by_one([rows[place] for place in order])
    assert weights.tolist() == [weight for _, weight in expected]
    assert [r for r, w in zip(ratings, weights, strict=True) if w] == [r for r, w in expected if w]


@pytest.mark.parametrize(
    ("kind", "value", "stars", "weight"),
    [
        (RATING, 35, 3.5, 1.0),
        (FAVOURITE, 1, 5.0, 1 / 4),
        (COUNT, 3, 4.0, 3 / 8),
        (COUNT, 200, 4.0, 1.0),
    ],
)
def test_a_judgement_is_of_the_fresh_song(
    kind: int, value: int, stars: float, weight: float
) -> None:
    ledger = folded([played(A, PAST, ms=value, kind=kind)])
    assert learned(ledger) == [(A, stars, weight, None)]


def test_a_rating_holds_over_a_favourite_and_the_last_rating_over_others() -> None:
    rated = [played(A, PAST + at * DAY, ms=10 * at, kind=RATING) for at in (5, 2)]
    ledger = folded([*rated, played(A, PAST, ms=1, kind=FAVOURITE)])
    assert [play.rating for play in ledger.plays if play.weight] == [5.0]


def test_a_number_of_plays_counts_for_those_without_a_date() -> None:
    dated = [played(A, PAST + at * DAY) for at in range(3)]
    ledger = folded([*dated, played(A, PAST + 9 * DAY, ms=5, kind=COUNT)])
    assert [play.weight for play in ledger.plays] == [1 / 8, 1 / 8, 1 / 8, 2 / 8]


def test_of_a_song_the_newest_plays_count_and_the_rest_only_say_when(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plays = [played(song, PAST + at * DAY) for at in range(12) for song in (A, B)]
    plays.append(played(C, PAST - DAY))
    ledger = folded(plays)
    assert sum(play.weight for play in ledger.plays if play.song == A) == 1.0
    assert min(play.at for play in ledger.plays if play.song == A) == PAST + 4 * DAY
    assert {play.since_heard_ms for play in ledger.plays if play.song == A} == {DAY}
    monkeypatch.setattr("bandstand.radio.log.past.MAX_IMPORTED", 4)
    # The newest of each song first: also of one that was not heard for long.
    assert sorted(it.song for it in folded(plays).plays if it.weight) == [A, B, B, C]


# ── Each play once ───────────────────────────────────────────────────────────────────────


def test_two_files_with_the_same_plays_double_nothing() -> None:
    plays = [played(song, PAST + at * HOUR) for at, song in enumerate((A, B, A, A, C))]
    again = [(song, at + 90_000, ms, kind, 1) for song, at, ms, kind, _ in plays]
    once = folded(plays)
    for doubled in (folded([*plays, *again]), folded(plays, again), folded(plays, plays[1:])):
        assert learned(doubled) == learned(once)


def test_within_a_file_nothing_is_there_twice() -> None:
    plays = [played(A, PAST), played(A, PAST + 90_000), played(A, PAST + HOUR)]
    assert len(folded(plays).plays) == 3
    both = [*plays, *((*play[:4], 1) for play in plays)]
    assert len(folded(both).plays) == 3
    missed = [*plays, (*plays[0][:4], 1)]
    assert len(folded(missed).plays) == 3


def test_a_play_that_the_log_has_is_not_imported() -> None:
    log = Log()
    log.add("rating", A, stars=2, played_ms=100_000)
    begin = log.clock - 100_000
    alone = fold(log.events)
    ledger = folded([played(A, begin + 30_000), played(B, begin)], log=log)
    assert [it for it in learned(ledger) if it[0] == A] == learned(alone)
    assert len(ledger.plays) == 2


# ── In the log ───────────────────────────────────────────────────────────────────────────


def test_the_pause_before_a_play_of_the_log_counts_from_an_imported_one() -> None:
    known, log = Imports(), Log()
    log.add("rating", A, stars=5)
    first = log.clock
    log.add("rating", B, stars=5, after=HOUR)
    known.add(log, [played(A, first - DAY, ms=0), played(B, first + MINUTE, ms=0)], after=HOUR)
    log.add("rating", A, stars=4, after=DAY)
    times = {(it.song, it.rating): it.since_heard_ms for it in fold(log.events, known).plays}
    assert times[A, 5.0] == DAY
    assert times[B, 5.0] == HOUR - MINUTE
    assert times[A, 4.0] == log.clock - first  # as the log has it


def test_a_play_of_the_log_never_ends_an_imported_one() -> None:
    known, log = Imports(), Log()
    known.add(log, [played(A, log.clock)], after=1)
    log.add("rating", A, stars=1, after=MINUTE)
    assert [play.rating for play in fold(log.events, known).plays] == [4.0, 1.0]


@st.composite
def lived(draw: st.DrawFn) -> tuple[Log, Imports]:
    """Draw a log with imports in its midst, of times before and within it, some taken back."""
    log, known = draw(logs(most=12)), Imports()
    for _ in range(draw(st.integers(1, 2))):
        rows = [row for row in draw(histories()) if row[1] <= log.clock]
        at = known.add(log, rows)
        for event in draw(logs(most=6)).events:
            if event.kind in {"rating", "skip", "listen"}:
                log.add(event.kind, event.song, stars=event.stars, played_ms=event.played_ms)
        if draw(st.booleans()):
            log.add("retract", retracts=at)
    return log, known


@given(lived())
def test_the_ledger_is_the_same_in_whatever_pieces(found: tuple[Log, Imports]) -> None:
    log, known = found
    whole = fold(log.events, known)
    step = Ledger.empty()
    for place, event in enumerate(log.events, 1):
        step = extend(step, [event], lambda end=place: log.events[:end], known)  # type: ignore[misc]
        step = from_bytes(to_bytes(step))
    assert step.digest() == whole.digest()


@given(logs(), histories(), st.integers(0, 5))
def test_after_an_undo_nothing_is_left_to_the_last_bit(
    log: Log, rows: list[Row], more: int
) -> None:
    known = Imports()
    before = fold(log.events)
    at = known.add(log, [row for row in rows if row[1] <= log.clock])
    fold(log.events, known)
    for _ in range(more):
        log.add("ban", scope="genre", target="x")
    bans = [event.seq for event in log.events[at:]]
    for seq in (at, *bans):
        log.add("retract", retracts=seq)
    after = fold(log.events, known)
    assert after.digest(numbered=False) == before.digest(numbered=False)


# ── The belief ───────────────────────────────────────────────────────────────────────────


def belief_of(on: Any, ledger: Ledger) -> RadioListener:
    return RadioListener.load(on, ledger, algorithm="mixed-effects", seed=1)


def test_the_belief_is_that_of_the_same_answers_at_the_same_times() -> None:
    on, log = shelf(30), Log()
    songs = [song_id(row) for row in (3, 4, 5)]
    log.add("rating", songs[0], stars=2, played_ms=0)
    rows = [
        played(songs[0], PAST, ms=100_000, kind=SKIP),
        played(songs[1], PAST + DAY, ms=200_000),
        played(songs[0], PAST + 2 * DAY),
        played(songs[2], PAST + 3 * DAY, ms=45, kind=RATING),
    ]
    ledger = folded(rows, log=log)
    answers: list[tuple[int, float, float, float]] = [
        (3, math.inf, 2.5, 1 / 16),  # the skip opens a session
        (4, math.inf, 4.0, 1 / 8),
        (3, (2 * DAY - 100_000) / MINUTE, 4.0, 1 / 8),
        (5, math.inf, 4.5, 1.0),
        (3, (START + MINUTE - PAST - 2 * DAY) / MINUTE, 2.0, 1.0),
    ]
    listener = belief_of(on, ledger)
    table = listener.song_features
    assert table.groups is not None
    places, elapsed, ratings, weights = zip(*answers, strict=True)
    history = History.of(
        features=table.features[list(places)],
        elapsed=elapsed,
        ratings=ratings,
        weights=weights,
        groups=table.groups.take(list(places)),
    )
    belief = listener.engine.fit(history, rng=np.random.default_rng(0))
    for name in ("means", "rates", "log_determinants"):
        np.testing.assert_array_equal(getattr(belief, name), getattr(listener.belief, name))
