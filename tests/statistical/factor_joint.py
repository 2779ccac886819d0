"""The log joint of the approximate model in the paper's own terms, and the Gibbs sampler's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bandstand.domain import History
from bandstand.inference import gibbs
from bandstand.inference.factor_equations import Observations
from bandstand.inference.gibbs import GibbsState
from bandstand.model.factors import FactorModel, content, curve
from bandstand.model.piecewise_linear import PiecewiseLinearBasis
from bandstand.model.priors import NoisePrior, PreferencePrior
from tests.statistical.joint import log_gamma

if TYPE_CHECKING:
    from bandstand.types import Matrix, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A prior in the paper's terms, hinges for the curve, and some answers."""

    basis: PiecewiseLinearBasis
    content_mean: Vector
    content_covariance: Matrix
    curve_mean: Vector
    curve_covariance: Matrix
    noise: NoisePrior
    history: History

    def model(self) -> FactorModel:
        """Return the same prior as the code has it."""
        novelty = curve(
            "novelty",
            of="elapsed",
            basis=self.basis,
            mean=self.curve_mean,
            precision=np.linalg.inv(self.curve_covariance),
        )
        preference = PreferencePrior.correlated(self.content_mean, self.content_covariance)
        return FactorModel(factors=(content(preference), novelty), noise=self.noise)


def log_joint(problem: Problem, state: GibbsState) -> float:
    """Return log p(θ, β, τ, D) from (16) and (17), up to a constant of the prior."""
    theta, values = state.coefficients
    tau, history = state.noise_precision, problem.history
    beta = np.linalg.solve(problem.basis.hinges(problem.basis.nodes), values)
    expected = (history.features @ theta) * (problem.basis.hinges(history.elapsed) @ beta)
    total = log_gamma(tau, problem.noise.shape, problem.noise.rate)
    for value, mean, covariance in (
        (theta, problem.content_mean, problem.content_covariance),
        (beta, problem.curve_mean, problem.curve_covariance),
    ):
        shift = value - mean
        total += 0.5 * len(shift) * np.log(tau)
        total -= 0.5 * tau * float(shift @ np.linalg.solve(covariance, shift))
    squares = history.weights @ (history.ratings - expected) ** 2
    return float(total + 0.5 * len(history) * np.log(tau) - 0.5 * tau * squares)


def gibbs_disagreement(points: int, rng: np.random.Generator) -> float:
    """Return the largest relative error of the sampler's differences, θ, β and τ in turn."""
    worst = 0.0
    for _ in range(points):
        problem = _problem(rng)
        one, other = _state(problem, rng), _state(problem, rng)
        before = log_joint(problem, one)
        for moved, difference in _moves(problem, one, other):
            after = log_joint(problem, moved)
            error = abs(difference - (after - before)) / (1 + abs(before) + abs(after))
            worst = max(worst, error)
    return worst


def _moves(problem: Problem, one: GibbsState, other: GibbsState) -> list[tuple[GibbsState, float]]:
    """Return states in which one thing moved, with the sampler's log density difference."""
    model, moves = problem.model(), []
    observations = Observations.of(model, problem.history)
    for index in range(2):
        mean, root = gibbs.factor_conditional(model, observations, one.coefficients, index)
        pulls = [
            np.sum((root.T @ (state.coefficients[index] - mean)) ** 2) for state in (one, other)
        ]
        mixed = list(one.coefficients)
        mixed[index] = other.coefficients[index]
        moved = replace(one, coefficients=tuple(mixed))
        moves.append((moved, float(0.5 * one.noise_precision * (pulls[0] - pulls[1]))))
    shape, rate = gibbs.noise_conditional(model, observations, one.coefficients)
    densities = [log_gamma(state.noise_precision, shape, rate) for state in (one, other)]
    quieter = replace(one, noise_precision=other.noise_precision)
    return [*moves, (quieter, densities[1] - densities[0])]


def _problem(rng: np.random.Generator) -> Problem:
    """Return a problem with drawn hyper-parameters, up to eight answers, or none."""
    columns, knots, count = int(rng.integers(1, 4)), int(rng.integers(1, 5)), int(rng.integers(9))
    basis = PiecewiseLinearBasis(knots=tuple(np.cumsum(rng.uniform(0.3, 2, knots))), cap=12.0)
    return Problem(
        basis=basis,
        content_mean=rng.standard_normal(columns),
        content_covariance=_covariance(columns, rng),
        curve_mean=rng.standard_normal(basis.dimension),
        curve_covariance=_covariance(basis.dimension, rng),
        noise=NoisePrior(shape=rng.uniform(0.5, 5), rate=rng.uniform(0.2, 5)),
        history=History.of(
            features=rng.standard_normal((count, columns)),
            elapsed=rng.uniform(0, 12, count),
            ratings=rng.normal(0, 2, count),
            weights=rng.uniform(0.1, 3, count),
        ),
    )


def _covariance(size: int, rng: np.random.Generator) -> Matrix:
    root = rng.standard_normal((size, size))
    return np.asarray(root @ root.T + 0.5 * np.eye(size))


def _state(problem: Problem, rng: np.random.Generator) -> GibbsState:
    beta = rng.standard_normal(problem.basis.dimension)
    return GibbsState(
        coefficients=(
            rng.standard_normal(len(problem.content_mean)),
            problem.basis.hinges(problem.basis.nodes) @ beta,
        ),
        noise_precision=float(rng.gamma(2.0)) + 0.05,
    )
