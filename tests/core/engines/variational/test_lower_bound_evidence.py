"""The lower bound stays below the evidence, which a small model has by quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model import factors
from bandstand.core.model.factors import Factor, FactorModel
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import NoisePrior, PreferencePrior
from bandstand.types import Matrix


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
