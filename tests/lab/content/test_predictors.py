"""The content model and its rivals, each against a closed form."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import (
    GammaRecovery,
    ListenerPrior,
    NoisePrior,
    PreferencePrior,
    paper_prior,
    radio_prior,
)
from bandstand_lab.content.ratings import UNHEARD
from bandstand_lab.content.validation import (
    LABELS,
    PREDICTORS,
    content_model,
)

RNG = np.random.default_rng(0)


@settings(max_examples=25, deadline=None)
@given(
    count=st.integers(1, 30),
    columns=st.integers(1, 8),
    variance=st.floats(1e-2, 1e2),
    shape=st.floats(0.6, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_content_model_is_the_regression_of_its_prior(
    count: int, columns: int, variance: float, shape: float, seed: int
) -> None:
    """With Un = 1 the recovery time has no say, and E[θ] = (V0⁻¹ + X'X)⁻¹ (V0⁻¹μ0 + X'r)."""
    rng = np.random.default_rng(seed)
    features, wanted = rng.standard_normal((count, columns)), rng.standard_normal((4, columns))
    ratings, mean = rng.uniform(1, 5, count), rng.standard_normal(columns)
    prior = ListenerPrior(
        preference=PreferencePrior.independent(mean, np.full(columns, variance)),
        recovery=GammaRecovery(),
        noise=NoisePrior(shape=shape, rate=1.0),
    )
    precision = np.eye(columns) / variance
    expected = wanted @ np.linalg.solve(
        precision + features.T @ features, precision @ mean + features.T @ ratings
    )
    model = content_model(lambda _: prior)
    with np.errstate(all="raise", under="ignore"):
        predicted = model(features, ratings, wanted, RNG)
    assert predicted == pytest.approx(expected, rel=1e-8, abs=1e-9)


@given(recovery_time=st.floats(1e-6, 1e25))
def test_an_unheard_item_is_entirely_new(recovery_time: float) -> None:
    assert novelty(UNHEARD, recovery_time) == 1


def test_a_month_would_not_be_entirely_new() -> None:
    """The twin: with the radio's own "never heard" the recovery time would have a say."""
    assert novelty(43_200.0, 43_200.0) < 0.7


def test_without_ratings_the_prior_is_predicted() -> None:
    features, wanted = np.empty((0, 3)), np.ones((2, 3))
    for prior_for in (radio_prior, paper_prior):
        predicted = content_model(prior_for)(features, np.empty(0), wanted, RNG)
        assert predicted.tolist() == [0, 0]


def test_the_mean_is_the_mean() -> None:
    features, ratings, wanted = np.ones((2, 1)), np.array([1.0, 4.0]), np.ones((3, 1))
    assert PREDICTORS["mean"](features, ratings, wanted, RNG).tolist() == [2.5, 2.5, 2.5]


def test_draws_are_off_by_the_root_of_two_variances() -> None:
    rng = np.random.default_rng(5)
    ratings = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], [10, 30, 20, 25, 15])
    wanted = np.ones((200_000, 1))
    drawn = PREDICTORS["random"](np.ones((100, 1)), ratings, wanted, rng)
    truth = rng.choice(ratings, size=len(wanted))
    rmse = math.sqrt(np.mean((drawn - truth) ** 2))
    assert rmse == pytest.approx(math.sqrt(2) * ratings.std(), rel=5e-3)


def test_draws_come_from_the_ratings_alone() -> None:
    ratings = np.array([2.0, 2.0, 5.0])
    drawn = PREDICTORS["random"](np.ones((3, 1)), ratings, np.ones((50, 1)), RNG)
    assert set(drawn.tolist()) == {2.0, 5.0}


def test_every_predictor_has_a_label() -> None:
    assert PREDICTORS.keys() == LABELS.keys()
