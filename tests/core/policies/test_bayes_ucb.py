from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.policies.bayes_ucb import HIGHEST_LEVEL, BayesUcb
from bandstand.errors import InvalidInputError
from tests.fakes.predictions import NormalPrediction, normal_prediction


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


@given(step=st.integers(2, 1000), seed=st.integers(0, 2**32))
def test_the_scores_are_the_quantiles(step: int, seed: int) -> None:
    prediction, rng = normal_prediction(seed, 5), np.random.default_rng(0)
    scores = BayesUcb().scores(prediction, step=step, rng=rng)
    np.testing.assert_array_equal(scores, prediction.quantile(1 - 1 / step))


def test_a_curious_dial_prefers_the_unknown_song_and_a_cautious_one_the_known() -> None:
    prediction = NormalPrediction(
        means=np.array([3.0, 3.0]), deviations=np.array([0.1, 2.0]), directions=np.ones((2, 1))
    )
    for level, best in ((0.95, 1), (0.05, 0)):
        rng, allowed = np.random.default_rng(0), np.arange(2)
        choice = BayesUcb(level=level).choose(prediction, step=2, rng=rng, count=1, allowed=allowed)
        assert choice.tolist() == [best]


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5, float("nan"), float("inf")])
def test_a_level_that_no_quantile_has_is_refused(level: float) -> None:
    with pytest.raises(InvalidInputError, match="level must be between 0 and 1"):
        BayesUcb(level=level)
