"""The scores of each policy by its definition, and how often a policy that draws wins."""

import math
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from bandstand.core.model.prediction import Prediction
from bandstand.core.policies import BayesUcb, Greedy, LinUcb, Policy, ScorePolicy, Thompson
from bandstand.core.policies.bayes_ucb import HIGHEST_LEVEL
from bandstand.errors import InvalidInputError
from bandstand.types import Vector
from tests.fakes.predictions import NormalPrediction, normal_prediction

FAILURE_RATE: Final = 1e-4
DRAWS: Final = 4_000


@given(st.integers(2, 10**6 - 1))
def test_the_level_is_one_minus_one_over_the_step(step: int) -> None:
    assert BayesUcb().level_at(step) == pytest.approx(1 - 1 / step, abs=1e-15)


@pytest.mark.parametrize("step", [10**6 + 1, 10**9, 10**300])
def test_the_level_stops_short_of_one(step: int) -> None:
    assert BayesUcb().level_at(step) == HIGHEST_LEVEL
    assert BayesUcb(level=1 - 1e-12).level_at(3) == HIGHEST_LEVEL


def test_the_first_step_has_no_level_but_that_of_the_dial() -> None:
    assert BayesUcb().level_at(1) is None
    assert BayesUcb(level=0.8).level_at(1) == 0.8


@given(
    step=st.integers(2, 1_000),
    seed=st.integers(0, 2**32),
    exploration=st.just(0.0) | st.floats(0, 10),
)
def test_the_scores_are_those_of_the_definition(step: int, seed: int, exploration: float) -> None:
    prediction = normal_prediction(seed, 5)
    means, deviations = prediction.means, prediction.deviations
    drawn = prediction.sample(np.random.default_rng(seed), 1)[0]
    for policy, expected in (
        (BayesUcb(), prediction.quantile(1 - 1 / step)),
        (BayesUcb(level=0.05), prediction.quantile(0.05)),
        (Greedy(), means),
        (LinUcb(exploration=exploration), means + exploration * deviations),
        (Thompson(), drawn),
    ):
        scores = policy.scores(prediction, step=step, rng=np.random.default_rng(seed))
        np.testing.assert_allclose(scores, expected, rtol=1e-14)


def wins_as_often(policy: Policy, prediction: NormalPrediction, row: int, chance: float) -> bool:
    """Return whether a song is chosen as often as by a chance, as far as the draws can tell."""
    rng, everything = np.random.default_rng(11), np.arange(len(prediction))
    wins = sum(
        int(policy.choose(prediction, step=9, rng=rng, count=1, allowed=everything)[0] == row)
        for _ in range(DRAWS)
    )
    z = (wins - DRAWS * chance) / math.sqrt(DRAWS * chance * (1 - chance))
    return 2 * float(ndtr(-abs(z))) >= FAILURE_RATE


class _WithoutBadDraws(ScorePolicy):
    """A planted error: Thompson sampling in which no draw counts for less than the mean."""

    def preferences(
        self, prediction: Prediction, *, step: int, rng: np.random.Generator
    ) -> Vector | None:
        del step
        drawn, mean = prediction.sample(rng, 1), prediction.mean()
        assert drawn is not None
        assert mean is not None
        return np.asarray(np.maximum(drawn[0], mean))


@pytest.mark.statistical
def test_thompson_plays_a_song_as_often_as_it_is_believed_to_be_the_best() -> None:
    # Correlated on purpose: drawing each song for itself would win less often.
    prediction = NormalPrediction(
        means=np.array([3.3, 3.0]),
        deviations=np.array([1.0, 1.5]),
        directions=np.array([[1.0, 0.0], [0.8, 0.6]]),
    )
    difference = prediction.directions * prediction.deviations[:, np.newaxis]
    chance = float(ndtr(0.3 / np.sqrt(np.square(difference[0] - difference[1]).sum())))
    assert wins_as_often(Thompson(), prediction, 0, chance)
    assert not wins_as_often(_WithoutBadDraws(), prediction, 0, chance)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *((lambda bad=bad: BayesUcb(level=bad), "between 0 and 1") for bad in (0.0, 1.0, math.nan)),
        *(
            (lambda bad=bad: LinUcb(exploration=bad), "finite and not negative, got")
            for bad in (-0.1, math.nan, math.inf)
        ),
    ],
)
def test_settings_that_no_policy_has_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make()
