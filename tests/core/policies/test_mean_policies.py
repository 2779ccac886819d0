"""Greedy, ε-greedy and LinUCB: policies that start from the mean."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from bandstand.core.policies.epsilon_greedy import EpsilonGreedy
from bandstand.core.policies.greedy import Greedy
from bandstand.core.policies.lin_ucb import LinUcb
from bandstand.errors import InvalidInputError
from tests.fakes.predictions import normal_prediction

FAILURE_RATE: Final = 1e-4
DRAWS: Final = 4_000


@given(seed=st.integers(0, 2**32))
def test_greedy_scores_are_the_means(seed: int) -> None:
    prediction = normal_prediction(seed, 5)
    scores = Greedy().scores(prediction, step=2, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(scores, prediction.means)


@given(seed=st.integers(0, 2**32), exploration=st.floats(0, 10))
def test_lin_ucb_adds_the_width_times_the_exploration(seed: int, exploration: float) -> None:
    prediction = normal_prediction(seed, 5)
    scores = LinUcb(exploration=exploration).scores(
        prediction, step=2, rng=np.random.default_rng(0)
    )
    expected = [
        m + exploration * d for m, d in zip(prediction.means, prediction.deviations, strict=True)
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-14)


@given(seed=st.integers(0, 2**32))
def test_lin_ucb_without_exploration_and_epsilon_greedy_without_epsilon_are_greedy(
    seed: int,
) -> None:
    prediction, everything = normal_prediction(seed, 6), np.arange(6)
    choices = [
        policy.choose(
            prediction, step=4, rng=np.random.default_rng(seed), count=6, allowed=everything
        ).tolist()
        for policy in (Greedy(), LinUcb(exploration=0.0), EpsilonGreedy(exploration=0.0))
    ]
    assert choices[0] == choices[1] == choices[2]


def explores_with_probability(exploration: float, policy: EpsilonGreedy) -> bool:
    """Return whether a song that is not the best is chosen as often as it should be."""
    prediction, rng, everything = normal_prediction(1, 5), np.random.default_rng(2), np.arange(5)
    best = int(np.argmax(prediction.means))
    other = sum(
        int(policy.choose(prediction, step=3, rng=rng, count=1, allowed=everything)[0] != best)
        for _ in range(DRAWS)
    )
    chance = exploration * 4 / 5
    z = (other - DRAWS * chance) / math.sqrt(DRAWS * chance * (1 - chance))
    return 2 * float(ndtr(-abs(z))) >= FAILURE_RATE


@pytest.mark.statistical
def test_epsilon_greedy_explores_with_probability_epsilon() -> None:
    assert explores_with_probability(0.2, EpsilonGreedy(exploration=0.2))


@pytest.mark.statistical
def test_exploring_a_quarter_more_often_would_be_seen() -> None:
    assert not explores_with_probability(0.2, EpsilonGreedy(exploration=0.25))


@pytest.mark.parametrize("exploration", [-0.1, 1.1, math.nan, math.inf])
def test_an_epsilon_that_is_no_probability_is_refused(exploration: float) -> None:
    with pytest.raises(InvalidInputError, match="exploration must be between 0 and 1, got"):
        EpsilonGreedy(exploration=exploration)


@pytest.mark.parametrize("exploration", [-0.1, math.nan, math.inf])
def test_an_exploration_that_is_no_multiple_is_refused(exploration: float) -> None:
    with pytest.raises(InvalidInputError, match="exploration must be finite and not negative, got"):
        LinUcb(exploration=exploration)
