"""The approximate model as a small world, under its Gibbs sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.domain import History, Songs
from bandstand.inference import gibbs
from bandstand.inference.factor_equations import Observations
from bandstand.inference.gibbs import GibbsState
from bandstand.model.factors import FactorModel, content, curve
from bandstand.model.piecewise_linear import PiecewiseLinearBasis
from bandstand.model.priors import NoisePrior, PreferencePrior
from tests.statistical.worlds import RANKED

if TYPE_CHECKING:
    from bandstand.types import Vector

# Hinges of hours, so that one spread suits the slope and the bends.
BASIS: Final = PiecewiseLinearBasis(knots=(0.5, 2.0), cap=9.0)
NOISE: Final = NoisePrior(shape=5.0, rate=0.8)
CONTENT_MEAN: Final = (1.9, -0.8)
CONTENT_COVARIANCE: Final = ((0.9, 0.3), (0.3, 0.6))
CURVE_MEAN: Final = (-0.5, -0.2, 0.8, 0.3)  # two bends, the first slope, the value at 0
CURVE_VARIANCES: Final = (0.15, 0.1, 0.2, 0.3)
MODEL: Final = FactorModel(
    factors=(
        content(PreferencePrior.correlated(CONTENT_MEAN, CONTENT_COVARIANCE)),
        curve(
            "novelty",
            of="elapsed",
            basis=BASIS,
            mean=CURVE_MEAN,
            precision=np.diag(1 / np.asarray(CURVE_VARIANCES)),
        ),
    ),
    noise=NOISE,
)
FEATURES: Final = ((1.3, 0.6), (0.7, -0.9), (-0.8, 1.4), (1.7, 0.3))
ELAPSED: Final = (0.3, 4.0, 1.1, 0.7)
WEIGHTS: Final = (0.7, 1.4, 0.3, 1.8)
PROBE: Final = Songs.of(features=[[0.9, -0.7]], elapsed=[3.0])


def expected_ratings(truth: GibbsState, features: object, elapsed: object) -> Vector:
    """Return U (16), the curve read off between its nodes."""
    preference, values = truth.coefficients
    recovered = np.interp(np.asarray(elapsed, dtype=float), BASIS.nodes, values)
    return np.asarray(np.asarray(features) @ preference * recovered)


def log_likelihood(truth: GibbsState, history: History) -> float:
    """Return log p(D | θ, β, τ)."""
    precision = history.weights * truth.noise_precision
    error = history.ratings - expected_ratings(truth, history.features, history.elapsed)
    return float((0.5 * np.log(precision / (2 * np.pi)) - 0.5 * precision * error**2).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class GibbsWorld:
    """The approximate model; every `thin`-th draw of its Gibbs sampler counts."""

    thin: int = 15

    def draw_truth(self, rng: np.random.Generator) -> GibbsState:
        """Return coefficients and noise from the prior, the curve's drawn as hinges."""
        precision = rng.gamma(NOISE.shape, 1 / NOISE.rate)
        preference = rng.multivariate_normal(
            CONTENT_MEAN, np.asarray(CONTENT_COVARIANCE) / precision
        )
        hinges = rng.normal(CURVE_MEAN, np.sqrt(np.asarray(CURVE_VARIANCES) / precision))
        values = BASIS.hinges(BASIS.nodes) @ hinges
        return GibbsState(coefficients=(preference, values), noise_precision=precision)

    def draw_data(self, truth: GibbsState, rng: np.random.Generator) -> History:
        """Return what a listener of this truth would answer."""
        spread = 1 / np.sqrt(np.asarray(WEIGHTS) * truth.noise_precision)
        ratings = rng.normal(expected_ratings(truth, FEATURES, ELAPSED), spread)
        return History.of(features=FEATURES, elapsed=ELAPSED, ratings=ratings, weights=WEIGHTS)

    def step(self, truth: GibbsState, data: History, rng: np.random.Generator) -> GibbsState:
        """Return the truth after one sweep of the sampler."""
        return gibbs.step(truth, MODEL, Observations.of(MODEL, data), rng=rng)

    def posterior(self, data: History, rng: np.random.Generator) -> list[GibbsState]:
        """Return nearly independent draws of one chain."""
        found = gibbs.sample_posterior(
            MODEL, data, draws=RANKED * self.thin, warm_up=200, chains=1, rng=rng
        )
        preferences, values = (table[0, :: self.thin] for table in found.coefficients)
        return [
            GibbsState(coefficients=(theta, nodes), noise_precision=float(tau))
            for theta, nodes, tau in zip(
                preferences, values, found.noise_precisions[0, :: self.thin], strict=True
            )
        ]

    def quantities(self, truth: GibbsState, data: History) -> dict[str, float]:
        """Return numbers that do not depend on how θ and β share their scale, and one that does."""
        return {
            "rating": float(expected_ratings(truth, PROBE.features, PROBE.elapsed)[0]),
            "noise precision": truth.noise_precision,
            "preference₀²": float(truth.coefficients[0][0]) ** 2,
            "log likelihood": log_likelihood(truth, data),
        }
