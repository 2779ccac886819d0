"""One radio and one listener: regret, common random numbers, and what the radio learns."""

from itertools import pairwise

import numpy as np
import pytest

from bandstand.core.recommender import Recommender
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH
from bandstand_lab.simulation.session import EVERYDAY, Clock, Trace, follow
from tests.fixtures.lab.worlds import paper_world, star_world


def session(algorithm: str = "bayes-ucb-cn-x", *, steps: int = 25, seed: int = 0) -> Trace:
    radio, listener = paper_world(seed, algorithm=algorithm)
    return follow(radio, listener, steps=steps, seed=seed)


def test_the_radio_learns_each_answer_and_nothing_else() -> None:
    radio, listener = paper_world()
    trace = follow(radio, listener, steps=10)
    assert radio.history.ratings.tolist() == trace.ratings.tolist()
    assert radio.history.elapsed.tolist() == trace.elapsed.tolist()


def test_a_song_is_as_new_as_the_clock_says() -> None:
    radio, listener = paper_world(songs=3)
    trace = follow(radio, listener, steps=30)
    heard: dict[int, float] = {}
    for number, (row, elapsed) in enumerate(
        zip(trace.rows.tolist(), trace.elapsed, strict=True), 1
    ):
        now = Clock().moment(number) / 60
        assert elapsed == pytest.approx(now - heard[row] if row in heard else MONTH)
        heard[row] = now
    assert len(heard) == 3


# ── Common random numbers ────────────────────────────────────────────────────────────────


def test_the_same_seed_gives_the_same_session() -> None:
    assert session(seed=3).as_json() == session(seed=3).as_json()


def test_other_seeds_and_other_listeners_have_other_noise() -> None:
    noises = []
    for seed, number in ((0, 0), (0, 1), (1, 0)):
        radio, listener = paper_world()
        trace = follow(radio, listener, steps=1, seed=seed, number=number)
        noises.append(float(trace.ratings[0] - trace.expected[0]))
    assert len(set(noises)) == 3


def test_a_session_can_be_continued() -> None:
    radio, listener = paper_world()
    parts = [follow(radio, listener, steps=steps).as_json() for steps in (10, 15)]
    assert {name: parts[0][name] + parts[1][name] for name in parts[0]} == session().as_json()


# ── What comes of it ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(5))
def test_the_default_algorithm_has_much_less_regret_than_random_songs(seed: int) -> None:
    names = ("bayes-ucb-cn-x", "random")
    ours, random = (session(name, steps=60, seed=seed).regret[-1] for name in names)
    assert ours < 0.6 * random


def test_favourites_come_back_when_they_are_new_again() -> None:
    radio, listener = star_world(songs=100)
    rows = follow(radio, listener, steps=80, clock=EVERYDAY).rows.tolist()
    assert len(set(rows)) < 75
    assert all(one != other for one, other in pairwise(rows))


def test_no_steps_are_no_session() -> None:
    radio, listener = paper_world()
    assert len(follow(radio, listener, steps=0)) == 0


def test_a_radio_without_songs_is_refused() -> None:
    _, listener = paper_world()
    radio = Recommender(features=np.zeros((0, 4)), raw=True)
    with pytest.raises(InvalidInputError, match="at least one song to be followed, got none"):
        follow(radio, listener, steps=1)
