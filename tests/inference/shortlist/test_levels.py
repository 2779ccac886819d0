from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.domain import Songs
from bandstand.inference.shortlist.levels import Counters, Levels
from bandstand.inference.song_table import SongTable
from bandstand.model.allowed import Allowed
from tests.inference.shortlist.views import GivenView

COUNT, LONGEST = 400, 1_000.0


def catalogue(rng: np.random.Generator, columns: int) -> SongTable:
    features = rng.normal(size=(COUNT, columns)) * rng.lognormal(0, 1, size=(COUNT, 1))
    return SongTable.of(features.astype(np.float32))


def songs_of(table: SongTable, elapsed: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Songs:
    return Songs(features=table.single, elapsed=elapsed, diversity=np.ones(len(table)))


def true_bounds(view: GivenView, songs: Songs) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    bounds = view.bounds(songs.features)
    return np.where(bounds > 0, view.recovered(songs.elapsed) * bounds, bounds)


@given(seed=st.integers(0, 2**32), columns=st.integers(1, 12), share=st.floats(0, 0.5))
def test_no_song_outside_a_level_exceeds_what_it_says(
    seed: int, columns: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    table, view = catalogue(rng, columns), GivenView.drawn(rng, columns)
    elapsed = np.where(rng.random(COUNT) < 0.5, LONGEST, rng.uniform(0, LONGEST, COUNT))
    levels = Levels(table, (100, 30, 7), Counters())
    levels.renew(view, 0, songs_of(table, elapsed))
    later = view.moved(rng, share)
    songs = songs_of(table, np.minimum(elapsed + rng.uniform(0, 500), LONGEST))
    bounds = true_bounds(later, songs)
    for level, value in zip(levels.levels, levels.outside(later), strict=True):
        outside = np.ones(COUNT, dtype=np.bool_)
        outside[level.rows] = outside[level.woken(later, songs)] = False
        if level is levels.levels[0]:
            assert bounds[outside].max() <= max(value, 0.0)
        else:
            around = levels.levels[levels.levels.index(level) - 1].rows
            outside &= np.isin(np.arange(COUNT), around)
            assert bounds[outside].max(initial=-np.inf) <= max(value, 0.0)


def test_a_song_that_has_woken_could_be_anything() -> None:
    """The planted error: without those that woke the same claim is wrong."""
    rng = np.random.default_rng(3)
    table, view = catalogue(rng, 6), GivenView.drawn(rng, 6)
    best = np.argsort(-view.bounds(table.single))[:50]
    elapsed = np.full(COUNT, LONGEST)
    elapsed[best] = 10.0
    levels = Levels(table, (60,), Counters())
    levels.renew(view, 0, songs_of(table, elapsed))
    level = levels.levels[0]
    assert np.isin(level.resting, best).all()
    assert len(level.resting) > 20
    songs = songs_of(table, np.full(COUNT, LONGEST))
    outside = np.setdiff1d(np.arange(COUNT), level.rows)
    assert true_bounds(view, songs)[outside].max() > levels.outside(view)[0]
    awake = level.woken(view, songs)
    assert len(awake) > 20
    asleep = np.setdiff1d(outside, awake)
    assert true_bounds(view, songs)[asleep].max() <= levels.outside(view)[0]


def test_a_level_that_holds_all_songs_leaves_none_out() -> None:
    rng = np.random.default_rng(0)
    table, view = catalogue(rng, 3), GivenView.drawn(rng, 3)
    levels = Levels(table, (COUNT,), Counters())
    levels.renew(view, 0)
    assert levels.levels[0].rows.tolist() == list(range(COUNT))
    assert levels.outside(view.moved(rng, 1.0)) == [-np.inf]


def test_levels_are_made_of_the_songs_of_a_filter_alone() -> None:
    rng = np.random.default_rng(0)
    table, view = catalogue(rng, 3), GivenView.drawn(rng, 3)
    mask = np.arange(COUNT) % 4 == 0
    counters = Counters()
    levels = Levels(table, (40, 10), counters, Allowed.marked(mask))
    levels.renew(view, 0)
    levels.renew(view, 1)
    assert all(mask[level.rows].all() for level in levels.levels)
    # One that had to be made again at once is made longer.
    assert [len(level.rows) for level in levels.levels] == [40, 20]
    assert (counters.passes, counters.narrowings) == (1, 2)
    assert levels.nbytes > 0


def test_the_outermost_level_grows_if_it_is_too_short() -> None:
    table = catalogue(np.random.default_rng(0), 3)
    levels = Levels(table, (10, 4), Counters())
    levels.learn(8)
    assert levels.sizes == (16, 4)
    assert levels.are_worth_it
    levels.learn(3, 1)
    assert levels.sizes == (16, 6)
    levels.learn(5, 1)
    assert list(levels.sizes) == [16]
    levels.learn(COUNT)
    assert not levels.are_worth_it
    levels.learn(1)
    assert levels.are_worth_it


def foreseeing(expects: str) -> tuple[Levels, GivenView, Songs]:
    """Levels that were not enough, a view whose next answer is known, and the songs."""
    rng = np.random.default_rng(4)
    table, view = catalogue(rng, 5), GivenView.drawn(rng, 5)
    later = view.moved(rng, 0.1)
    asked = replace(view, expects=expects, later=later)
    return Levels(table, (20,), Counters()), asked, songs_of(table, np.full(COUNT, LONGEST))


def ask(levels: Levels) -> None:
    levels.take_prepared()
    levels.count_question()


def test_levels_for_an_answer_are_made_once() -> None:
    levels, view, songs = foreseeing("this song")
    ask(levels)
    levels.renew(view, 0, songs)
    levels.foresee(view, songs, 1.0)
    assert levels.are_worn
    levels.prepare()
    assert levels.is_prepared
    assert not levels.are_worn
    ask(levels)
    # They are those of what is to come, and longer: whatever the answer, it is among them.
    assert len(levels.levels[0].rows) > 20
    assert view.later is not None
    assert levels.levels[0].anchor.box.distance(
        view.later.centres / levels.levels[0].anchor.unit
    ) == pytest.approx(levels.levels[0].anchor.box.rest)
    levels.foresee(view, songs, 1.0)
    assert not levels.are_worn  # the same song still plays
    levels.foresee(replace(view, expects="another song"), songs, 1.0)
    assert levels.are_worn


def test_levels_for_answers_that_are_of_no_use_are_not_made_for_a_while() -> None:
    levels, view, songs = foreseeing("0")
    ask(levels)
    levels.renew(view, 0, songs)
    made = []
    for number in range(120):
        levels.foresee(replace(view, expects=str(number)), songs, 1.0)
        made.append(levels.are_worn)
        levels.prepare()
        ask(levels)
        levels.renew(view, 0, songs)  # a miss
    assert made[:2] == [True] * 2
    assert sum(made) <= 5
    assert any(made[10:])


def test_where_levels_last_nothing_is_foreseen() -> None:
    levels, view, songs = foreseeing("0")
    ask(levels)
    levels.renew(view, 0, songs)
    reach = levels.outside(view)[0] + 100.0
    levels.foresee(view, songs, reach)
    for number in range(1, 14):
        levels.prepare()
        ask(levels)
        levels.note(replace(view, expects=str(number)), songs, reach, 3)
    assert not levels.are_worn
