"""The lower bound stays below the evidence, which a small model has by quadrature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, ndtri

from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model import factors
from bandstand.core.model.factors import Factor, FactorModel
from bandstand.core.model.history import History
from bandstand.core.model.priors import NoisePrior, PreferencePrior
from tests.fixtures.factor_worlds import (
    answered,
    draw_coefficients,
    draw_songs,
    drawable_model,
    expected_ratings,
)

if TYPE_CHECKING:
    from bandstand.core.model.history import Songs
    from bandstand.types import Matrix

COLUMNS: Final = 2
# How often a right integral may be taken for a wrong one: four standard errors.
FAILURE_RATE: Final = 6e-5
STANDARD_ERRORS: Final = float(-ndtri(FAILURE_RATE / 2))


def _ones(songs: Songs) -> Matrix:
    return np.ones((len(songs), 1))


def one_by_one(prior_mean: float, prior_precision: float) -> FactorModel:
    """Return a model of two factors with one coefficient each."""
    scale = Factor(
        name="scale",
        prior_mean=np.array([prior_mean]),
        prior_precision=np.array([[prior_precision]]),
        start=np.ones(1),
        design=_ones,
    )
    content = factors.content(PreferencePrior.isotropic(1, 0.7))
    return FactorModel(factors=(content, scale), noise=NoisePrior(shape=2.5, rate=1.2))


def log_evidence(model: FactorModel, history: History) -> float:
    """Return ln p(D): θ and τ in closed form given β, then one integral over β."""
    x, r, w = history.features[:, 0], history.ratings, history.weights
    first, second = model.factors
    d0, e0 = float(first.prior_precision[0, 0]), float(second.prior_precision[0, 0])
    a0, b0 = model.noise.shape, model.noise.rate
    shape = a0 + (len(r) + 1) / 2  # θ is integrated out, β is not

    def integrand(beta: float) -> float:
        z = beta * x
        precision = d0 + np.sum(w * z * z)
        mean = np.sum(w * z * r) / precision
        squares = np.sum(w * (r - mean * z) ** 2) + d0 * mean**2
        rate = b0 + 0.5 * (squares + e0 * (beta - second.prior_mean[0]) ** 2)
        return float(np.exp(0.5 * np.log(d0 / precision) - shape * np.log(rate / b0)))

    area, _ = quad(integrand, -np.inf, np.inf, epsabs=0, epsrel=1e-10, limit=500)
    constant = gammaln(shape) - gammaln(a0) + a0 * np.log(b0) - shape * np.log(b0)
    constant += 0.5 * np.log(e0 / (2 * np.pi)) + 0.5 * np.sum(np.log(w / (2 * np.pi)))
    return float(constant + np.log(area))


@pytest.mark.parametrize("count", [0, 1, 4, 30])
def test_the_bound_stays_below_the_evidence(count: int) -> None:
    rng = np.random.default_rng([8, count])
    for _ in range(10):
        model = one_by_one(rng.normal(), rng.uniform(0.3, 4))
        history = History.of(
            features=rng.normal(size=(count, 1)),
            elapsed=100.0,
            ratings=rng.normal(size=count),
            weights=rng.uniform(0.5, 2, count),
        )
        bound = Variational(model=model).fit(history).bounds[-1]
        evidence = log_evidence(model, history)
        assert bound <= evidence + 1e-9
        # And not far below: a bound that is merely low would say nothing.
        assert bound > evidence - 3


@pytest.mark.statistical
def test_the_quadrature_is_the_evidence() -> None:
    model = one_by_one(0.3, 1.5)
    history = History.of(
        features=[[0.7], [-1.1]], elapsed=9.0, ratings=[0.4, 1.3], weights=[2, 0.5]
    )
    rng, draws = np.random.default_rng(9), 1_000_000
    tau = rng.gamma(model.noise.shape, 1 / model.noise.rate, draws)
    theta = rng.normal(size=draws) * np.sqrt(0.7 / tau)
    beta = 0.3 + rng.normal(size=draws) / np.sqrt(1.5 * tau)
    scale = np.outer(tau, history.weights)
    error = history.ratings - np.outer(theta * beta, history.features[:, 0])
    likelihood = np.exp(np.sum(0.5 * np.log(scale / (2 * np.pi)) - 0.5 * scale * error**2, axis=1))
    standard_error = likelihood.std() / np.sqrt(draws) / likelihood.mean()
    found = log_evidence(model, history)
    assert abs(np.log(likelihood.mean()) - found) < STANDARD_ERRORS * standard_error
    # Another prior would be seen.
    other = log_evidence(one_by_one(0.3, 1.7), history)
    assert abs(np.log(likelihood.mean()) - other) > STANDARD_ERRORS * standard_error


def test_the_bound_tells_a_good_model_from_a_bad_one() -> None:
    rng = np.random.default_rng(10)
    model = drawable_model(COLUMNS)
    coefficients, precision = draw_coefficients(model, rng)
    songs = draw_songs(rng, 60, COLUMNS)
    history = answered(songs, 5 * expected_ratings(model, coefficients, songs), precision, rng)
    shuffled = History.of(
        features=history.features,
        elapsed=history.elapsed,
        ratings=rng.permutation(history.ratings),
        diversity=history.diversity,
    )
    right, wrong = (Variational(model=model).fit(each).bounds[-1] for each in (history, shuffled))
    assert right > wrong + 10
