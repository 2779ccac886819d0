"""Everything whose prediction is timed finds the song that it should."""

from dataclasses import replace

import numpy as np
import pytest

from bandstand_lab.speed.prediction import (
    KEPT,
    LABELS,
    MOMENTS,
    SEARCHED,
    SOLVED,
    accuracy,
    contenders,
    monte_carlo_quantile,
    problem_of,
)


def test_all_ways_to_the_same_quantile_choose_the_same_song() -> None:
    whole = problem_of(songs=80, ratings=30, columns=3, seed=2, turn=0)
    ready = contenders(replace(whole, effective_draws=100))
    assert set(ready) == {*LABELS, MOMENTS}
    assert ready[SOLVED]() == ready[SEARCHED]()
    last = [ready[KEPT]() for _ in range(6)][-1]
    assert last == ready["bayes-ucb-cn-x"]()
    assert all(0 <= choose() < 80 for choose in ready.values())


def test_songs_that_were_rated_were_heard_lately_and_the_others_never() -> None:
    problem = problem_of(songs=100, ratings=30, columns=3, seed=2, turn=1)
    assert (problem.songs.elapsed < 43_200).sum() == 30
    assert problem.step == 31
    assert problem.level == pytest.approx(1 - 1 / 31)


def test_the_solved_quantile_is_right_and_draws_are_about_a_tenth_of_a_deviation_off() -> None:
    found = accuracy(songs=60, ratings=15, turn=0, seed=3, columns=2, checked=5)
    assert found["solved"] < 1e-9
    assert 0.02 < found["sampled"] < 0.3
    assert found["same_song"] is True


def test_more_draws_are_nearer() -> None:
    problem = problem_of(songs=60, ratings=15, columns=2, seed=3, turn=0)
    means, deviations = np.full((2, 60), 1.0), np.full((2, 60), 0.3)
    rng = np.random.default_rng(1)
    spread = [
        monte_carlo_quantile(problem.level, means, deviations, draws, rng).std()
        for draws in (50, 5_000)
    ]
    assert spread[1] < spread[0] / 5
