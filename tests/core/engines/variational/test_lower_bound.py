"""The lower bound of variational inference: what it is, that it rises, and where it stays."""

from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np
import pytest
from scipy.special import gammaln, ndtri, psi

from bandstand.core.engines.variational.ascent import Ascent, State, search
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model.factors import FactorModel, content_novelty
from bandstand.core.model.history import History
from bandstand.types import Vector
from tests.fixtures.factor_worlds import (
    informed_model,
    log_joint,
    random_history,
)

COLUMNS: Final = 2
# By how much the bound may fall because of rounding, relative to its size.
ROUNDING: Final = 1e-8
# How often a right bound may be taken for a wrong one: four standard errors.
FAILURE_RATE: Final = 6e-5
STANDARD_ERRORS: Final = float(-ndtri(FAILURE_RATE / 2))


def small_history(rng: np.random.Generator, columns: int = COLUMNS) -> History:
    history = random_history(rng, int(rng.integers(0, 15)), columns, noise=rng.uniform(0.1, 2))
    return History.of(
        features=history.features,
        elapsed=history.elapsed,
        ratings=history.ratings,
        weights=rng.uniform(0.3, 3, len(history)),
    )


# ── It is what it says ───────────────────────────────────────────────────────────────────


def log_q(state: State, coefficients: tuple[Vector, ...], precision: float) -> float:
    """Return ln q(β, τ), written down from the normal and the gamma density."""
    total = state.shape * np.log(state.rate) - gammaln(state.shape)
    total += (state.shape - 1) * np.log(precision) - state.rate * precision
    for block, values in zip(state.blocks, coefficients, strict=True):
        precision_matrix = block.precision_root @ block.precision_root.T
        shift = values - block.mean
        _, log_determinant = np.linalg.slogdet(precision_matrix / (2 * np.pi))
        total += 0.5 * log_determinant - 0.5 * shift @ precision_matrix @ shift
    return float(total)


def draw_q(state: State, rng: np.random.Generator) -> tuple[tuple[Vector, ...], float]:
    draws = tuple(
        rng.multivariate_normal(
            block.mean, np.linalg.inv(block.precision_root @ block.precision_root.T)
        )
        for block in state.blocks
    )
    return draws, float(rng.gamma(state.shape, 1 / state.rate))


def estimated_bound(
    model: FactorModel, history: History, state: State, draws: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the mean of ln p − ln q over draws from q, and its standard error."""
    values = []
    for _ in range(draws):
        coefficients, precision = draw_q(state, rng)
        joint = log_joint(model, history, coefficients, precision)
        values.append(joint - log_q(state, coefficients, precision))
    return float(np.mean(values)), float(np.std(values) / np.sqrt(draws))


@pytest.mark.statistical
@pytest.mark.parametrize("sweeps", [1, 30])
def test_the_bound_is_the_mean_of_its_integrand(sweeps: int) -> None:
    rng, model = np.random.default_rng([3, sweeps]), informed_model(COLUMNS)
    history = small_history(rng)
    ascent = Ascent.of(model, history)
    state = list(islice(search(ascent, ascent.cold_start()), sweeps))[-1].state
    # Not at its best either: a bound holds for any q(τ).
    state = replace(state, rate=1.3 * state.rate, shape=0.9 * state.shape)
    mean, error = estimated_bound(model, history, state, 1_000, rng)
    assert abs(ascent.bound(state) - mean) < STANDARD_ERRORS * error
    assert abs(printed_bound(ascent, state) - mean) > STANDARD_ERRORS * error


# ── It never falls ───────────────────────────────────────────────────────────────────────


def printed_bound(ascent: Ascent, state: State) -> float:
    """Return the bound as the paper's appendix prints it: tr(D0 Λ⁻¹), constants of one rating."""
    a, b = state.shape, state.rate
    noise, ratings = ascent.model.noise, ascent.observations.ratings
    log_tau, two_pi = psi(a) - np.log(b), np.log(2 * np.pi)
    total = noise.shape * np.log(noise.rate) + (noise.shape - 1) * log_tau - noise.rate * a / b
    for block, factor in zip(state.blocks, ascent.model.factors, strict=True):
        d = len(block.mean)
        prior_covariance = np.linalg.inv(factor.prior_precision)
        covariance = np.linalg.inv(block.precision_root @ block.precision_root.T)
        total += -d / 2 * two_pi - 0.5 * np.linalg.slogdet(prior_covariance)[1] + d / 2 * log_tau
        total -= a / (2 * b) * (np.trace(prior_covariance @ covariance) + block.pull)
        total += d / 2 * (1 + two_pi) + 0.5 * np.linalg.slogdet(covariance)[1]
    total += -0.5 * two_pi + 0.5 * log_tau
    square = np.prod([block.rows.square for block in state.blocks], axis=0)
    mean = np.prod([block.rows.mean for block in state.blocks], axis=0)
    total += -a / (2 * b) * np.sum(ratings**2 + square) + a / b * np.sum(ratings * mean)
    return float(total - (a - 1) * psi(a) - np.log(b) + a)


def paper_steps(ascent: Ascent, sweeps: int) -> list[State]:
    """Return the states of plain coordinate ascent, as in the paper's Algorithm 2."""
    state, states = ascent.cold_start(), []
    for _ in range(sweeps):
        blocks = list(state.blocks)
        for index in range(len(blocks)):
            _, blocks[index] = ascent._update(index, blocks, state.noise_precision)
        state = ascent.with_noise(tuple(blocks))
        states.append(state)
    return states


def falls(bounds: list[float] | Vector) -> bool:
    values = np.asarray(bounds)
    return bool((np.diff(values) < -ROUNDING * (1 + np.abs(values[1:]))).any())


def fitted_bounds(rng: np.random.Generator) -> Vector:
    is_informed = rng.random() < 0.3
    model = informed_model(COLUMNS) if is_informed else content_novelty(COLUMNS)
    return Variational(model=model).fit(small_history(rng)).bounds


def test_the_bound_never_falls() -> None:
    rng = np.random.default_rng(4)
    assert not any(falls(fitted_bounds(rng)) for _ in range(25))


@pytest.mark.long
def test_the_bound_never_falls_in_a_thousand_searches() -> None:
    seed = np.random.SeedSequence().entropy
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    assert not any(falls(fitted_bounds(rng)) for _ in range(1_000))


def test_each_step_of_the_papers_algorithm_raises_it_and_the_printed_one_falls() -> None:
    rng = np.random.default_rng(5)
    right = wrong = 0
    for _ in range(40):
        ascent = Ascent.of(content_novelty(COLUMNS), small_history(rng))
        states = paper_steps(ascent, 12)
        right += falls([ascent.bound(state) for state in states])
        wrong += falls([printed_bound(ascent, state) for state in states])
    assert right == 0
    assert wrong > 10


# ── It ends at a top ─────────────────────────────────────────────────────────────────────


def slope(ascent: Ascent, state: State, move: float, where: tuple[int, int]) -> float:
    """Return the derivative of the bound by one mean, in standard deviations of it."""

    def at(distance: float) -> float:
        index, entry = where
        means = [block.mean.copy() for block in state.blocks]
        roots = [block.precision_root for block in state.blocks]
        unit = np.linalg.inv(roots[index])[entry]  # a direction of one standard deviation
        means[index] = means[index] + distance * unit
        moved = ascent.warm_start(means, roots, state.noise_precision)
        return ascent.bound(moved)

    return (at(move) - at(-move)) / (2 * move)


def size_slope(ascent: Ascent, state: State, move: float, index: int | None) -> float:
    """Return the derivative by the log size of one covariance, or of the noise precision."""

    def at(distance: float) -> float:
        means = [block.mean for block in state.blocks]
        roots = [
            block.precision_root * np.exp(distance if at == index else 0.0)
            for at, block in enumerate(state.blocks)
        ]
        precision = state.noise_precision * np.exp(distance if index is None else 0.0)
        return ascent.bound(ascent.warm_start(means, roots, precision))

    return (at(move) - at(-move)) / (2 * move)


def test_all_derivatives_are_zero_at_the_end() -> None:
    rng = np.random.default_rng(7)
    for model in (informed_model(COLUMNS), content_novelty(COLUMNS)):
        for _ in range(3):
            history = random_history(rng, 12, COLUMNS)
            belief = Variational(model=model).fit(history)
            assert belief.converged
            ascent = Ascent.of(model, history)
            state = ascent.warm_start(belief.means, belief.precision_roots, belief.noise_precision)
            for index, mean in enumerate(belief.means):
                assert abs(size_slope(ascent, state, 1e-4, index)) < 1e-4
                for entry in range(len(mean)):
                    assert abs(slope(ascent, state, 1e-4, (index, entry))) < 1e-4
            assert abs(size_slope(ascent, state, 1e-4, None)) < 1e-4
