"""The Gibbs sampler of the approximate model draws from what the joint says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from scipy.special import gammaln

from bandstand.core.engines.mcmc import diagnostics, gibbs
from bandstand.core.engines.variational.equations import Observations
from bandstand.core.model.factors import content_novelty
from bandstand.core.model.history import History
from bandstand.errors import InvalidInputError
from tests.fixtures.factor_worlds import (
    answered,
    draw_coefficients,
    draw_songs,
    drawable_model,
    expected_ratings,
    informed_model,
)
from tests.fixtures.statistical import checks

if TYPE_CHECKING:
    from bandstand.core.model.factors import FactorModel
    from bandstand.types import Vector

POINTS: Final = 1_000
RELATIVE_ERROR: Final = 1e-9
COLUMNS: Final = 2


def weighted(rng: np.random.Generator, count: int, columns: int) -> History:
    songs = draw_songs(rng, count, columns)
    return History.of(
        features=songs.features,
        elapsed=songs.elapsed,
        diversity=songs.diversity,
        ratings=3 * rng.normal(size=count),
        weights=rng.uniform(0.2, 3, count),
    )


def log_joint(
    model: FactorModel, history: History, coefficients: tuple[Vector, ...], precision: float
) -> float:
    """Return ln p(D, β, τ), written down from (16) and (17)."""
    shape, rate = model.noise.shape, model.noise.rate
    total = shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(precision)
    total -= rate * precision
    for factor, values in zip(model.factors, coefficients, strict=True):
        shift = values - factor.prior_mean
        _, log_determinant = np.linalg.slogdet(precision * factor.prior_precision / (2 * np.pi))
        total += 0.5 * log_determinant
        total -= 0.5 * precision * shift @ factor.prior_precision @ shift
    error = history.ratings - expected_ratings(model, coefficients, history.songs)
    scale = precision * history.weights
    total += float(np.sum(0.5 * np.log(scale / (2 * np.pi)) - 0.5 * scale * error**2))
    return float(total)


def factor_disagreement(model: FactorModel, index: int, rng: np.random.Generator) -> float:
    """Return how far ln p(β_f | rest) is from the joint between two random points, relatively."""
    history = weighted(rng, int(rng.integers(0, 12)), COLUMNS)
    coefficients, precision = draw_coefficients(model, rng)
    other, _ = draw_coefficients(model, rng)
    moved = tuple(other[at] if at == index else each for at, each in enumerate(coefficients))
    with np.errstate(under="ignore"):
        mean, root = gibbs.factor_conditional(
            model, Observations.of(model, history), coefficients, index
        )
    there, here = (
        0.5 * precision * float(np.sum((root.T @ (point[index] - mean)) ** 2))
        for point in (moved, coefficients)
    )
    joint = log_joint(model, history, moved, precision)
    joint -= log_joint(model, history, coefficients, precision)
    return abs(joint - (here - there)) / (1 + here + there + abs(joint))


def noise_disagreement(
    model: FactorModel, rng: np.random.Generator, *, missing: float = 0.0
) -> float:
    """Return the same for ln p(τ | β); `missing` is a planted error of the shape."""
    history = weighted(rng, int(rng.integers(0, 12)), COLUMNS)
    coefficients, here = draw_coefficients(model, rng)
    _, there = draw_coefficients(model, rng)
    with np.errstate(under="ignore"):
        observations = Observations.of(model, history)
        shape, rate = gibbs.noise_conditional(model, observations, coefficients)
    shape -= missing
    conditional = (shape - 1) * np.log(there / here) - rate * (there - here)
    joint = log_joint(model, history, coefficients, there)
    joint -= log_joint(model, history, coefficients, here)
    return float(abs(joint - conditional) / (1 + rate * (here + there) + abs(joint)))


@pytest.mark.parametrize("index", [0, 1, 2])
def test_the_conditional_of_a_factor_agrees_with_the_joint(index: int) -> None:
    rng, model = np.random.default_rng([1, index]), informed_model(COLUMNS)
    worst = max(factor_disagreement(model, index, rng) for _ in range(POINTS))
    assert worst < RELATIVE_ERROR


def test_the_conditional_of_the_noise_agrees_with_the_joint() -> None:
    rng, model = np.random.default_rng(2), informed_model(COLUMNS)
    worst = max(noise_disagreement(model, rng) for _ in range(POINTS))
    assert worst < RELATIVE_ERROR


def test_one_dimension_too_few_in_the_shape_does_not() -> None:
    rng, model = np.random.default_rng(2), informed_model(COLUMNS)
    worst = max(noise_disagreement(model, rng, missing=0.5) for _ in range(POINTS))
    assert worst > 1e-3


class GibbsWorld:
    """The approximate model with its sampler, for Geweke's test."""

    def __init__(self, *, shape_error: float = 0.0) -> None:
        self.model = drawable_model(COLUMNS)
        self.songs = draw_songs(np.random.default_rng(3), 5, COLUMNS)
        self.shape_error = shape_error

    def draw_truth(self, rng: np.random.Generator) -> gibbs.GibbsState:
        coefficients, precision = draw_coefficients(self.model, rng)
        return gibbs.GibbsState(coefficients=coefficients, noise_precision=precision)

    def draw_data(self, truth: gibbs.GibbsState, rng: np.random.Generator) -> History:
        expected = expected_ratings(self.model, truth.coefficients, self.songs)
        return answered(self.songs, expected, truth.noise_precision, rng)

    def step(
        self, truth: gibbs.GibbsState, data: History, rng: np.random.Generator
    ) -> gibbs.GibbsState:
        observations = Observations.of(self.model, data)
        state = gibbs.step(truth, self.model, observations, rng=rng)
        shape, rate = gibbs.noise_conditional(self.model, observations, state.coefficients)
        precision = float(rng.gamma(shape - self.shape_error)) / rate
        return gibbs.GibbsState(coefficients=state.coefficients, noise_precision=precision)

    def posterior(self, data: History, rng: np.random.Generator) -> list[gibbs.GibbsState]:
        raise NotImplementedError

    def quantities(self, truth: gibbs.GibbsState, data: History) -> dict[str, float]:
        expected = expected_ratings(self.model, truth.coefficients, self.songs)
        error = float(np.sum((data.ratings - expected) ** 2))
        # Signs of the two factors are not known apart; their product is.
        return {
            "rating": float(np.tanh(expected[0])),
            "size": float(np.log(expected[1] ** 2 + 0.1)),
            "noise": float(np.log(truth.noise_precision)),
            "error": float(np.log(error)),
        }


@pytest.mark.statistical
def test_drawing_truth_and_data_in_turn_never_leaves_the_prior() -> None:
    rng = np.random.default_rng(20130711)
    assert checks.passes(checks.geweke(GibbsWorld(), draws=1_000, steps=3, rng=rng))


@pytest.mark.statistical
def test_one_dimension_too_few_leaves_it() -> None:
    rng = np.random.default_rng(20130711)
    wrong = GibbsWorld(shape_error=1.0)
    assert not checks.passes(checks.geweke(wrong, draws=1_000, steps=3, rng=rng))


def test_chains_from_scattered_starts_agree() -> None:
    rng = np.random.default_rng(5)
    model = drawable_model(COLUMNS)
    coefficients, precision = draw_coefficients(model, rng)
    songs = draw_songs(rng, 30, COLUMNS)
    history = answered(songs, expected_ratings(model, coefficients, songs), precision, rng)
    draws = gibbs.sample_posterior(model, history, draws=1_500, warm_up=300, chains=4, rng=rng)
    ratings = draws.expected_ratings(draw_songs(rng, 3, COLUMNS))
    for song in range(3):
        assert diagnostics.split_r_hat(ratings[:, :, song]) < 1.02


def test_without_ratings_the_draws_are_the_prior() -> None:
    model, rng = drawable_model(COLUMNS), np.random.default_rng(6)
    draws = gibbs.sample_posterior(
        model, History.empty(COLUMNS), draws=8_000, warm_up=10, chains=1, rng=rng
    )
    precisions = draws.noise_precisions.ravel()
    assert precisions.mean() == pytest.approx(1.0, abs=0.1)
    values = draws.coefficients[0][0, :, 0] * np.sqrt(precisions)
    assert values.std() == pytest.approx(1.0, abs=0.05)


def test_the_same_seed_gives_the_same_draws() -> None:
    history = weighted(np.random.default_rng(7), 6, COLUMNS)
    first, second = (
        gibbs.sample_posterior(
            content_novelty(COLUMNS),
            history,
            draws=5,
            warm_up=2,
            chains=2,
            rng=np.random.default_rng(8),
        )
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.noise_precisions, second.noise_precisions)
    np.testing.assert_array_equal(first.coefficients[1], second.coefficients[1])


def test_no_chain_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one chain and one draw"):
        gibbs.sample_posterior(
            content_novelty(1),
            History.empty(1),
            draws=5,
            warm_up=0,
            chains=0,
            rng=np.random.default_rng(1),
        )
