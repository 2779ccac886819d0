"""The un-collapsed reference sampler reaches the same posterior as everything else."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.engines.mcmc.engine import Mcmc
from bandstand.core.model.history import History
from bandstand.core.model.priors import (
    GammaRecovery,
    ListenerPrior,
    NoisePrior,
    PreferencePrior,
    paper_prior,
)
from bandstand.errors import InvalidInputError
from bandstand.types import Vector
from bandstand_lab.speed import metropolis
from tests.fixtures.statistical import checks

FAILURE_RATE = 1e-3


def a_history(count: int = 25) -> History:
    rng = np.random.default_rng(4)
    features, elapsed = rng.standard_normal((count, 2)), rng.exponential(400, count)
    signal = features @ [2.0, -1.0] * -np.expm1(-elapsed / 250)
    return History.of(
        features=features,
        elapsed=elapsed,
        ratings=signal + rng.normal(0, 0.5, count),
        weights=rng.choice([0.3, 1.0, 2.0], count),
    )


def agree(first: Vector, second: Vector) -> bool:
    """Say whether two chains have the same mean, as far as their errors can tell."""
    errors = (checks.mean_standard_error(one[np.newaxis]) for one in (first, second))
    z = abs(first.mean() - second.mean()) / math.hypot(*errors)
    return bool(z < 3.9)  # 1e-4 for each of at most ten comparisons: FAILURE_RATE in all


@pytest.mark.statistical
def test_it_agrees_with_the_collapsed_sampler() -> None:
    prior, history = paper_prior(2), a_history()
    draws = metropolis.sample(prior, history, steps=8_000, rng=np.random.default_rng(1))
    belief = Mcmc(prior=prior).fit(history, rng=np.random.default_rng(2))
    assert belief.draws.preferences is not None
    assert belief.draws.noise_precisions is not None
    for reference, other in (
        (np.log(draws.recovery_times), belief.draws.log_recovery_times.ravel()),
        (np.log(draws.recovery_times) ** 2, belief.draws.log_recovery_times.ravel() ** 2),
        (draws.noise_precisions, belief.draws.noise_precisions.ravel()),
        (draws.noise_precisions**2, belief.draws.noise_precisions.ravel() ** 2),
        (draws.preferences[:, 0], belief.draws.preferences[..., 0].ravel()),
        (draws.preferences[:, 0] ** 2, belief.draws.preferences[..., 0].ravel() ** 2),
        (draws.preferences.prod(axis=1), belief.draws.preferences.prod(axis=2).ravel()),
    ):
        assert agree(reference, other)


@pytest.mark.statistical
def test_a_planted_error_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = metropolis.noise_conditional

    def without_the_preferences(
        prior: ListenerPrior, residual: Vector, preference: Vector
    ) -> tuple[float, float]:
        shape, rate = right(prior, residual, preference)
        return shape - len(preference) / 2, rate  # N/2 for (N + p)/2

    monkeypatch.setattr(metropolis, "noise_conditional", without_the_preferences)
    prior, history = paper_prior(2), a_history()
    draws = metropolis.sample(prior, history, steps=8_000, rng=np.random.default_rng(1))
    belief = Mcmc(prior=prior).fit(history, rng=np.random.default_rng(2))
    assert belief.draws.noise_precisions is not None
    assert not agree(draws.noise_precisions, belief.draws.noise_precisions.ravel())


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**32))
def test_every_draw_is_finite_and_positive_where_it_must_be(
    count: int, columns: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    prior = ListenerPrior(
        preference=PreferencePrior.isotropic(columns, float(rng.uniform(0.1, 10))),
        recovery=GammaRecovery(shape=float(rng.uniform(1, 5)), rate=float(rng.uniform(1e-3, 1))),
        noise=NoisePrior(shape=float(rng.uniform(0.5, 5)), rate=float(rng.uniform(0.1, 5))),
    )
    history = History.of(
        features=rng.standard_normal((count, columns)),
        elapsed=rng.exponential(300, count),
        ratings=rng.integers(1, 6, count),
    )
    with np.errstate(all="raise"):
        draws = metropolis.sample(prior, history, steps=50, rng=rng)
    assert draws.preferences.shape == (40, columns)
    assert np.isfinite(draws.preferences).all()
    assert (draws.recovery_times > 0).all()
    assert (draws.noise_precisions > 0).all()


def test_the_same_seed_gives_the_same_draws() -> None:
    first, second = (
        metropolis.sample(paper_prior(2), a_history(), steps=60, rng=np.random.default_rng(9))
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.preferences, second.preferences)


def test_an_empty_history_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one rating, got none"):
        metropolis.sample(paper_prior(2), History.empty(2), rng=np.random.default_rng(1))
