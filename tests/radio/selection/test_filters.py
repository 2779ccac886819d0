from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.model.candidates import CandidateSet
from bandstand.errors import NotFoundError
from bandstand.music.catalogue.catalogue import catalogue_of
from bandstand.radio.selection import filters as rules
from bandstand.radio.selection.filters import (
    SAMPLE,
    Spacing,
    Station,
    distinct,
    drawn,
    is_any,
    sample,
)
from bandstand.radio.selection.select import RadioListener
from tests.fixtures.radio.catalogues import features, matrix, model, record, shelf, song_id
from tests.fixtures.radio.logs import DAY, MINUTE, Log

SHELF = shelf(40)
ALL = CandidateSet.everything(40)


def banned_rows(log: Log, now: int) -> set[int]:
    """Return what may not be played, found song by song."""
    rows = set()
    for event in log.events:
        if event.scope is None or not (event.until is None or event.until > now):
            continue
        for row in range(40):
            tags = record(row).tags
            names: dict[str, set[str | None]] = {
                "song": {song_id(row)},
                "artist": {tags.artist},
                "album": {tags.album},
                "genre": {*(tags.genre or "").replace("/", ";").replace(" ", "").split(";")},
            }
            if event.target in names[event.scope]:
                rows.add(row)
    return rows


bans = st.one_of(
    st.tuples(st.just("song"), st.integers(0, 39).map(song_id)),
    st.tuples(st.just("artist"), st.integers(0, 4).map(lambda n: f"Artist {n}")),
    st.tuples(st.just("album"), st.integers(0, 8).map(lambda n: f"Album {n}")),
    st.tuples(st.just("genre"), st.sampled_from(["Rock", "Pop", "Folk", "Jazz", "Polka"])),
)
wishes = st.one_of(
    st.just(Station()),
    st.builds(Station, song=st.integers(0, 39).map(song_id)),
    st.builds(Station, artist=st.integers(0, 3).map(lambda n: f"artist {n}")),
    st.builds(Station, genre=st.sampled_from(["ROCK", "folk"])),
)
requests = st.fixed_dictionaries(
    {
        "station": wishes,
        "dial": st.sampled_from([-1.0, 0.0, 1.0]),
        "after": st.lists(st.integers(0, 45).map(song_id), max_size=3),
    }
)


@st.composite
def listeners(draw: st.DrawFn) -> Log:
    log = Log()
    for scope, target in draw(st.lists(bans, max_size=5)):
        until = draw(st.none() | st.integers(-2, 3))
        log.add(
            "ban" if until is None else "snooze",
            scope=scope,
            target=target,
            until=None if until is None else log.clock + until * DAY,
        )
    for row in draw(st.lists(st.integers(0, 39), max_size=6)):
        log.add("rating", song_id(row), stars=1 + row % 5, after=10 * MINUTE)
    return log


@settings(max_examples=60)
@given(log=listeners(), asked=requests, algorithm=st.sampled_from(["bayes-ucb-cn-x", "random"]))
def test_what_is_banned_is_never_chosen(log: Log, asked: dict[str, Any], algorithm: str) -> None:
    check_bans(model(SHELF, log, algorithm=algorithm), log, asked)


def check_bans(one: RadioListener, log: Log, asked: dict[str, Any]) -> None:
    if len(banned_rows(log, log.clock)) == 40:
        with pytest.raises(NotFoundError, match="nothing may be played"):
            one.next(now=log.clock, **asked)
        return
    for chosen in (one.next(now=log.clock, **asked), *one.playlist(5, now=log.clock, **asked)):
        assert chosen.row not in banned_rows(log, chosen.at)


def test_a_ban_that_is_not_kept_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    for row in range(35):
        log.add("ban", scope="song", target=song_id(row))
    monkeypatch.setattr(rules, "unbanned", lambda shelf, *_: CandidateSet.everything(len(shelf)))
    asked = {"station": Station(song=song_id(3)), "dial": 0.0, "after": ()}
    with pytest.raises(AssertionError):
        check_bans(model(SHELF, log), log, asked)


# ── Spacing ──────────────────────────────────────────────────────────────────────────────


def left(last: list[int], rows: Any = range(40), **options: Any) -> list[int]:
    some = CandidateSet.only(rows, 40)
    found = Spacing.over(SHELF, ALL).left(SHELF, some, last[::-1], **options)
    return found.rows().tolist()


def test_the_last_artists_and_songs_are_kept_away_for_a_while() -> None:
    assert Spacing.over(SHELF, ALL) == Spacing(songs=10, recordings=10, artists=1)
    assert left([]) == list(range(40))
    assert left([3]) == list(range(10, 40))  # artist 0 has had its turn
    assert left([3, 15]) == [row for row in range(40) if row != 3 and not 10 <= row < 20]
    assert 3 in left([3, *range(15, 25)])


def test_versions_of_one_recording_are_kept_apart() -> None:
    titles = ["One", "One (Live)", "Two", "Three", "Four", "Five", "Six", "Seven"]
    records = [record(row, title=title, artist="A") for row, title in enumerate(titles)]
    found = catalogue_of(records)
    spacing = Spacing.over(found, CandidateSet.everything(8))
    assert spacing == Spacing(songs=2, recordings=1, artists=0)
    left = spacing.left(found, CandidateSet.everything(8), [0])
    assert left.rows().tolist() == [2, 3, 4, 5, 6, 7]


def test_artists_that_nobody_knows_are_not_one_artist() -> None:
    found = catalogue_of([record(row, artist=None) for row in range(20)])
    everything = CandidateSet.everything(20)
    assert Spacing.over(found, everything).artists == 0
    spacing = Spacing(songs=1, recordings=1, artists=5)
    assert len(spacing.left(found, everything, [4]).rows()) == 19


@given(
    last=st.lists(st.integers(0, 39), max_size=60),
    rows=st.sets(st.integers(0, 39), min_size=1),
    once=st.lists(st.integers(0, 39), max_size=40),
)
def test_spacing_always_leaves_something(last: list[int], rows: set[int], once: list[int]) -> None:
    some = np.array(sorted(rows))
    found = set(left(last, some, once=once))
    assert found
    assert found <= rows
    if last and len(rows) > 1:
        assert found != {last[-1]}


def test_spacing_goes_on_when_a_playlist_has_had_every_song() -> None:
    assert left(list(range(40)), once=list(range(40))) == list(
        range(30)
    )  # artist 3, and the last ten songs
    rows = [chosen.row for chosen in model(SHELF).playlist(100, now=0)]
    assert set(rows[:40]) == set(range(40))
    assert all(row not in rows[max(place - 10, 0) : place] for place, row in enumerate(rows))
    # The first round ends with what is left, whoever it is by.
    assert all(row // 10 != following // 10 for row, following in pairwise(rows[40:]))


@pytest.mark.parametrize("songs", [1, 2, 3])
def test_a_tiny_library_plays_on_and_not_the_same_song_twice_in_a_row(songs: int) -> None:
    records = [record(row) for row in range(songs)]
    one = model(catalogue_of(records, matrix(features(songs))))
    rows = [chosen.row for chosen in one.playlist(9, now=0)]
    assert set(rows) == set(range(songs))
    if songs > 1:
        assert all(row != following for row, following in pairwise(rows))


# ── Large candidate sets ─────────────────────────────────────────────────────────────────

# The chance that a song as likely as any other misses its share by more than is allowed.
FAILURE_RATE = 1e-6


@st.composite
def some_allowed(draw: st.DrawFn) -> CandidateSet:
    """Return what is left of up to 6,000 songs by a mask or a list, rows left out, and a test."""
    count = draw(st.sampled_from([0, 1, 7, 255, 256, 300, 2_500, 6_000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    part = draw(st.sampled_from([0.0, 0.001, 0.5, 1.0]))
    some = {
        "everything": CandidateSet.everything(count),
        "marked": CandidateSet.marked(rng.random(count) < part),
        "only": CandidateSet.only(np.flatnonzero(rng.random(count) < part), count),
    }[draw(st.sampled_from(["everything", "marked", "only"]))]
    if draw(st.booleans()) and count:
        some = some.without(rng.integers(0, count, 5))
    if draw(st.booleans()):
        modulus = draw(st.sampled_from([2, 3, 1_000]))
        some = some.where(lambda rows: rows % modulus == 1)
    return some


@given(some=some_allowed())
def test_few_rows_tell_what_all_of_them_do(some: CandidateSet) -> None:
    rows = some.rows()
    assert is_any(some) == bool(len(rows))
    assert np.concatenate([[-1], *rules._blocks(some)]).tolist() == [-1, *rows.tolist()]
    codes = np.arange(some.count, dtype=np.int32) // 3 - 1
    found = distinct(codes, some, enough=50)
    known = len(set(codes[rows].tolist()) - {-1})
    assert found == known or min(found, known) >= 50


@given(some=some_allowed(), most=st.sampled_from([1, 10, SAMPLE]))
def test_a_sample_is_all_of_a_few_and_some_of_many(some: CandidateSet, most: int) -> None:
    rows, found = some.rows(), sample(some, most)
    assert set(found.tolist()) <= set(rows.tolist())
    assert sorted(set(found.tolist())) == found.tolist()
    assert len(found) <= most or len(found) == len(rows)
    assert bool(len(found)) == bool(len(rows))
    assert found.tolist() == sample(some, most).tolist()
    if some.upper_count <= most:
        assert found.tolist() == rows.tolist()


def test_a_sample_of_many_is_spread_over_all_of_them() -> None:
    found = sample(CandidateSet.everything(100_000))
    assert len(found) == SAMPLE
    assert np.diff(found).max() < 100
    banned = np.zeros(100_000, dtype=np.bool_)
    banned[40_000:40_003] = True  # hardly anything is left, and it is found
    assert sample(CandidateSet.marked(banned)).tolist() == [40_000, 40_001, 40_002]


@given(some=some_allowed(), seed=st.integers(0, 2**16))
def test_what_is_drawn_may_be_played(some: CandidateSet, seed: int) -> None:
    if not is_any(some):
        return
    row = drawn(some, np.random.default_rng(seed))
    assert some.contains(np.array([row]))[0]
    assert row == drawn(some, np.random.default_rng(seed))


def part_drawn_below(half: int, draws: int, some: CandidateSet) -> float:
    rng = np.random.default_rng(3)
    return float(np.mean([drawn(some, rng) < half for _ in range(draws)]))


def test_every_song_is_as_likely_as_any_other() -> None:
    """Some are kept away, so that those before and after the middle differ in number."""
    draws, count = 4_000, 5_000
    some = CandidateSet.everything(count).where(lambda rows: (rows >= 2_500) | (rows % 4 == 0))
    expected = (some.rows() < 2_500).mean()
    # Hoeffding: the chance to be further off than this is the failure rate.
    off = np.sqrt(np.log(2 / FAILURE_RATE) / (2 * draws))
    assert part_drawn_below(2_500, draws, some) == pytest.approx(expected, abs=off)
    with pytest.raises(AssertionError):  # half of them would be noticed
        assert part_drawn_below(2_500, draws, some) == pytest.approx(0.5, abs=off)
