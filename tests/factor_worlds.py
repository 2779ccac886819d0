"""Small models of factors for tests: a prior that can be drawn from, and what it makes of songs.

Written plainly, in the paper's own basis where that is the point, so that the tests do not
lean on the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.domain import History, Songs
from bandstand.model import factors
from bandstand.model.factors import Factor, FactorModel
from bandstand.model.novelty import novelty
from bandstand.model.piecewise_linear import PAPER_BASIS, PiecewiseLinearBasis
from bandstand.model.priors import NoisePrior, PreferencePrior

if TYPE_CHECKING:
    from bandstand.types import Matrix, Vector

MONTH: Final = 43_200.0
# Gamma(3, rate 3): a noise that can be drawn, of standard deviation around 1.
DRAWABLE_NOISE: Final = NoisePrior(shape=3.0, rate=3.0)
SHORT_BASIS: Final = PiecewiseLinearBasis(knots=(30.0, 300.0, 3_000.0), cap=MONTH)


def drawable_model(
    columns: int, *, basis: PiecewiseLinearBasis = SHORT_BASIS, node_precision: float = 1.0
) -> FactorModel:
    """Return a model whose curve has independent values at its nodes, around 0."""
    nodes = basis.hinges(basis.nodes)
    curve = factors.curve(
        "novelty",
        of="elapsed",
        basis=basis,
        precision=node_precision * nodes.T @ nodes,
        start=novelty(basis.nodes, 300.0),
    )
    preference = PreferencePrior.isotropic(columns, 1.0)
    return FactorModel(factors=(factors.content(preference), curve), noise=DRAWABLE_NOISE)


def informed_model(columns: int) -> FactorModel:
    """Return a model with prior means and covariances unlike 0 and 1, and three factors."""
    rng = np.random.default_rng(17)
    half = rng.normal(size=(columns, columns))
    preference = PreferencePrior.correlated(
        rng.normal(size=columns), half @ half.T / columns + 0.3 * np.eye(columns)
    )
    nodes = SHORT_BASIS.hinges(SHORT_BASIS.nodes)
    curve = factors.curve(
        "novelty",
        of="elapsed",
        basis=SHORT_BASIS,
        mean=SHORT_BASIS.coefficients() @ novelty(SHORT_BASIS.nodes, 200.0),
        precision=7.0 * nodes.T @ nodes,
        start=novelty(SHORT_BASIS.nodes, 300.0),
    )
    diversity = factors.diversity_curve(PiecewiseLinearBasis(knots=(0.8,), cap=3.0))
    return FactorModel(
        factors=(factors.content(preference), curve, diversity),
        noise=NoisePrior(shape=4.0, rate=1.7),
    )


def draw_coefficients(
    model: FactorModel, rng: np.random.Generator
) -> tuple[tuple[Vector, ...], float]:
    """Return coefficients of all factors and the noise precision, from the prior (17)."""
    precision = float(rng.gamma(model.noise.shape, 1 / model.noise.rate))
    return tuple(_drawn(factor, precision, rng) for factor in model.factors), precision


def _drawn(factor: Factor, precision: float, rng: np.random.Generator) -> Vector:
    covariance = np.linalg.inv(factor.prior_precision * precision)
    root = np.linalg.cholesky((covariance + covariance.T) / 2)
    return np.asarray(factor.prior_mean + root @ rng.normal(size=factor.dimension))


def draw_songs(rng: np.random.Generator, count: int, columns: int) -> Songs:
    """Return songs, half of them never heard before."""
    recently = np.minimum(rng.exponential(600.0, count), MONTH)
    return Songs.of(
        features=rng.normal(size=(count, columns)),
        elapsed=np.where(rng.random(count) < 0.5, MONTH, recently),
        diversity=rng.gamma(9.0, 1 / 9, count),
    )


def expected_ratings(model: FactorModel, coefficients: tuple[Vector, ...], songs: Songs) -> Vector:
    """Return Π_f β_f'v_f (16)."""
    values = np.ones(len(songs))
    for factor, each in zip(model.factors, coefficients, strict=True):
        values = values * (factor.design(songs) @ each)
    return values


def answered(songs: Songs, expected: Vector, precision: float, rng: np.random.Generator) -> History:
    """Return what a listener would answer, all answers of weight 1."""
    ratings = expected + rng.normal(size=len(songs)) / np.sqrt(precision)
    return History.of(
        features=songs.features,
        elapsed=songs.elapsed,
        ratings=ratings,
        diversity=songs.diversity,
    )


def random_history(
    rng: np.random.Generator, count: int, columns: int, *, noise: float = 0.5
) -> History:
    """Return answers of a listener with the paper's novelty curve."""
    songs = draw_songs(rng, count, columns)
    liked = songs.features @ rng.normal(size=columns)
    expected = liked * novelty(songs.elapsed, rng.uniform(100, 1_000))
    return answered(songs, expected, noise**-2, rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainPosterior:
    """What the paper's Algorithm 2 finds, in its own variables."""

    mean_theta: Vector
    covariance_theta: Matrix
    mean_beta: Vector
    covariance_beta: Matrix
    shape: float
    rate: float

    def moments(self, songs: Songs) -> tuple[Vector, Vector]:
        """Return the mean and the standard deviation of U of each song."""
        x, t = songs.features, PAPER_BASIS.hinges(songs.elapsed)
        mean_x, mean_t = x @ self.mean_theta, t @ self.mean_beta
        variance_x = np.sum((x @ self.covariance_theta) * x, axis=1)
        variance_t = np.sum((t @ self.covariance_beta) * t, axis=1)
        variance = mean_x**2 * variance_t + mean_t**2 * variance_x + variance_x * variance_t
        return mean_x * mean_t, np.sqrt(variance)


def algorithm_2(history: History, *, sweeps: int) -> PlainPosterior:
    """Return the result of the paper's Algorithm 2 for two factors and its own priors.

    As printed, but for the dimension of t: 17, not 15 or 16. No shortcut, no other basis.
    """
    x, t, r = history.features, PAPER_BASIS.hinges(history.elapsed), history.ratings
    p, k = x.shape[1], t.shape[1]
    d0_inverse, e0_inverse, a0, b0 = 100 * np.eye(p), 100 * np.eye(k), 2.0, 2e-8
    curve = novelty(PAPER_BASIS.nodes, 300.0)
    mean_beta = np.linalg.solve(PAPER_BASIS.hinges(PAPER_BASIS.nodes), curve)
    beta_beta = np.outer(mean_beta, mean_beta)
    shape = (p + k + len(r)) / 2 + a0
    tau = (a0 + len(r) / 2) / (b0 + 0.01 * r @ r / 2)
    for _ in range(sweeps):
        weights = np.sum((t @ beta_beta) * t, axis=1)
        covariance_theta = np.linalg.inv(tau * (d0_inverse + x.T @ (weights[:, None] * x)))
        mean_theta = covariance_theta @ (tau * (x.T @ (r * (t @ mean_beta))))
        theta_theta = covariance_theta + np.outer(mean_theta, mean_theta)

        weights = np.sum((x @ theta_theta) * x, axis=1)
        covariance_beta = np.linalg.inv(tau * (e0_inverse + t.T @ (weights[:, None] * t)))
        mean_beta = covariance_beta @ (tau * (t.T @ (r * (x @ mean_theta))))
        beta_beta = covariance_beta + np.outer(mean_beta, mean_beta)

        squares = np.sum((x @ theta_theta) * x, axis=1) * np.sum((t @ beta_beta) * t, axis=1)
        crossed = r * (x @ mean_theta) * (t @ mean_beta)
        prior = np.trace(d0_inverse @ theta_theta) + np.trace(e0_inverse @ beta_beta)
        rate = b0 + 0.5 * prior + 0.5 * np.sum(r**2 + squares) - np.sum(crossed)
        tau = shape / rate
    return PlainPosterior(
        mean_theta=mean_theta,
        covariance_theta=covariance_theta,
        mean_beta=np.asarray(mean_beta, dtype=np.float64),
        covariance_beta=covariance_beta,
        shape=shape,
        rate=float(rate),
    )
