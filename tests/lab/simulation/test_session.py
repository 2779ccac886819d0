"""One radio and one listener: regret, common random numbers, and what the radio learns."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from bandstand.core.recommender import Recommender
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH
from bandstand_lab.simulation.session import EVERYDAY, Clock, Step, follow
from tests.fixtures.lab.worlds import paper_world, star_world


def steps_of(algorithm: str = "bayes-ucb-cn-x", *, steps: int = 25, seed: int = 0) -> list[Step]:
    radio, listener = paper_world(seed, algorithm=algorithm)
    return list(follow(radio, listener, steps=steps, seed=seed))


def test_the_radio_learns_each_answer_and_nothing_else() -> None:
    radio, listener = paper_world()
    steps = list(follow(radio, listener, steps=10))
    assert radio.history.ratings.tolist() == [step.rating for step in steps]
    assert radio.history.elapsed.tolist() == [step.elapsed for step in steps]


def test_a_song_is_as_new_as_the_clock_says() -> None:
    radio, listener = paper_world(songs=3)
    heard: dict[int, float] = {}
    for number, step in enumerate(follow(radio, listener, steps=30), 1):
        now = Clock().moment(number) / 60
        assert step.elapsed == pytest.approx(now - heard[step.row] if step.row in heard else MONTH)
        heard[step.row] = now
    assert len(heard) == 3


# ── Common random numbers ────────────────────────────────────────────────────────────────


def test_the_same_seed_gives_the_same_session() -> None:
    assert steps_of(seed=3) == steps_of(seed=3)


def test_other_seeds_and_other_listeners_have_other_noise() -> None:
    noises = []
    for seed, number in ((0, 0), (0, 1), (1, 0)):
        radio, listener = paper_world()
        (step,) = follow(radio, listener, steps=1, seed=seed, number=number)
        noises.append(step.rating - step.expected)
    assert len(set(noises)) == 3


def test_sessions_that_run_alongside_do_not_disturb_each_other() -> None:
    alone = steps_of(), steps_of("random")
    radio, listener = paper_world()
    other, _ = paper_world(algorithm="random")
    together = zip(
        follow(radio, listener, steps=25), follow(other, listener, steps=25), strict=True
    )
    assert tuple(map(list, zip(*together, strict=True))) == alone


def test_a_session_can_be_continued() -> None:
    radio, listener = paper_world()
    parts = [step for steps in (10, 15) for step in follow(radio, listener, steps=steps)]
    assert parts == steps_of()


# ── What comes of it ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(5))
def test_the_default_algorithm_has_much_less_regret_than_random_songs(seed: int) -> None:
    regrets = [
        sum(step.best - step.expected for step in steps_of(name, steps=60, seed=seed))
        for name in ("bayes-ucb-cn-x", "random")
    ]
    assert regrets[0] < 0.6 * regrets[1]


def test_favourites_come_back_when_they_are_new_again() -> None:
    radio, listener = star_world(songs=100)
    steps = list(follow(radio, listener, steps=80, clock=EVERYDAY))
    assert len({step.row for step in steps}) < 75
    assert all(one.row != other.row for one, other in pairwise(steps))


def test_no_steps_are_no_session() -> None:
    radio, listener = paper_world()
    assert list(follow(radio, listener, steps=0)) == []


def test_a_radio_without_songs_is_refused() -> None:
    _, listener = paper_world()
    radio = Recommender(features=np.zeros((0, 4)), raw=True)
    with pytest.raises(InvalidInputError, match="at least one song to be followed, got none"):
        next(follow(radio, listener, steps=1))
