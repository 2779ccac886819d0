"""Thompson sampling and optimistic Bayesian sampling: what they draw, and how often it wins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from bandstand.core.policies.optimistic import Optimistic
from bandstand.core.policies.thompson import Thompson
from tests.fakes.predictions import NormalPrediction, normal_prediction

if TYPE_CHECKING:
    from bandstand.core.policies import Policy

FAILURE_RATE: Final = 1e-4
DRAWS: Final = 4_000


@given(step=st.integers(2, 100), seed=st.integers(0, 2**32))
def test_thompson_scores_songs_by_one_joint_draw(step: int, seed: int) -> None:
    prediction = normal_prediction(seed, 5)
    scores = Thompson().scores(prediction, step=step, rng=np.random.default_rng(seed))
    drawn = prediction.sample(np.random.default_rng(seed), 1)[0]
    np.testing.assert_array_equal(scores, drawn)


@given(step=st.integers(2, 100), seed=st.integers(0, 2**32))
def test_optimistic_scores_songs_by_the_better_of_draw_and_mean(step: int, seed: int) -> None:
    prediction = normal_prediction(seed, 5)
    scores = Optimistic().scores(prediction, step=step, rng=np.random.default_rng(seed))
    drawn = prediction.sample(np.random.default_rng(seed), 1)[0]
    np.testing.assert_array_equal(
        scores, np.where(drawn > prediction.means, drawn, prediction.means)
    )


def matches_the_chance_of_being_best(policy: Policy) -> bool:
    """Return whether the first of two songs wins as often as it is believed to be better."""
    # Correlated on purpose: drawing each song for itself would win less often.
    prediction = NormalPrediction(
        means=np.array([3.3, 3.0]),
        deviations=np.array([1.0, 1.5]),
        directions=np.array([[1.0, 0.0], [0.8, 0.6]]),
    )
    difference = prediction.directions * prediction.deviations[:, np.newaxis]
    spread = float(np.sqrt(np.square(difference[0] - difference[1]).sum()))
    chance = float(ndtr(0.3 / spread))
    rng, both = np.random.default_rng(11), np.arange(2)
    wins = sum(
        int(policy.choose(prediction, step=9, rng=rng, count=1, allowed=both)[0] == 0)
        for _ in range(DRAWS)
    )
    z = (wins - DRAWS * chance) / math.sqrt(DRAWS * chance * (1 - chance))
    return 2 * float(ndtr(-abs(z))) >= FAILURE_RATE


@pytest.mark.statistical
def test_thompson_plays_a_song_as_often_as_it_is_believed_to_be_the_best() -> None:
    assert matches_the_chance_of_being_best(Thompson())


@pytest.mark.statistical
def test_a_policy_that_ignores_bad_draws_does_not() -> None:
    assert not matches_the_chance_of_being_best(Optimistic())
