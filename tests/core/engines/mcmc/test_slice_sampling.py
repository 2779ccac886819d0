"""Slice sampling leaves a density as it is, at any width, and keeps what belongs together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bandstand.core.engines.mcmc import slice_sampling
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from bandstand.types import Vector

FAILURE_RATE = 1e-3


def standard_normal(y: float) -> tuple[float, float]:
    return -0.5 * y * y, y * y


def log_gamma(y: float) -> tuple[float, None]:
    return 3 * y - math.exp(y), None


def two_hills(y: float) -> tuple[float, None]:
    return float(np.logaddexp(-0.5 * (y + 3) ** 2, -0.5 * (y - 3) ** 2)), None


def unit_interval(y: float) -> tuple[float, None]:
    return (0.0 if 0 <= y <= 1 else -math.inf), None


def kept_draws(
    density: slice_sampling.LogDensity[object],
    *,
    start: float,
    width: float,
    thin: int = 8,
    most_steps_out: int = slice_sampling.MOST_STEPS_OUT,
) -> Vector:
    """Return 1,500 draws far enough apart to count as independent."""
    rng = np.random.default_rng(20130701)
    state = slice_sampling.init(start, density)
    draws = np.empty(1_500 * thin)
    for at in range(len(draws)):
        state, _ = slice_sampling.step(
            state, density, width=width, rng=rng, most_steps_out=most_steps_out
        )
        draws[at] = state.position
    return draws[thin - 1 :: thin]


@pytest.mark.statistical
@pytest.mark.parametrize("width", [0.5, 4.0, 50.0])
def test_draws_follow_a_normal_density_at_any_width(width: float) -> None:
    draws = kept_draws(standard_normal, start=0.3, width=width)
    assert stats.kstest(draws, "norm").pvalue > FAILURE_RATE / 3


@pytest.mark.statistical
@pytest.mark.parametrize("most_steps_out", [0, 1, 3])
def test_a_limit_to_stepping_out_leaves_the_density_as_it_is(most_steps_out: int) -> None:
    draws = kept_draws(
        standard_normal, start=0.3, width=3.0, thin=20, most_steps_out=most_steps_out
    )
    assert stats.kstest(draws, "norm").pvalue > FAILURE_RATE / 3


@pytest.mark.statistical
def test_draws_follow_a_skewed_density() -> None:
    draws = kept_draws(log_gamma, start=1.0, width=2.0)
    assert stats.kstest(np.exp(draws), stats.gamma(3).cdf).pvalue > FAILURE_RATE


@pytest.mark.statistical
def test_draws_visit_both_of_two_hills() -> None:
    draws = kept_draws(two_hills, start=3.0, width=4.0, thin=12)

    chances = 0.5 * stats.norm.cdf(draws, -3) + 0.5 * stats.norm.cdf(draws, 3)
    assert stats.kstest(chances, "uniform").pvalue > FAILURE_RATE


@pytest.mark.statistical
def test_draws_stay_inside_a_bounded_support() -> None:
    draws = kept_draws(unit_interval, start=0.1, width=0.4)
    assert stats.kstest(draws, "uniform").pvalue > FAILURE_RATE


@pytest.mark.statistical
def test_a_planted_error_is_seen() -> None:
    # Half the log density is a density twice as wide (in variance).
    def too_generous(y: float) -> tuple[float, None]:
        return 0.5 * standard_normal(y)[0], None

    draws = kept_draws(too_generous, start=0.3, width=4.0)
    assert stats.kstest(draws, "norm").pvalue < FAILURE_RATE


@given(st.floats(-3, 3), st.floats(0.01, 100), st.integers(0, 2**32))
def test_the_state_keeps_what_was_worked_out_at_its_own_position(
    start: float, width: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    state = slice_sampling.init(start, standard_normal)
    state, _ = slice_sampling.step(state, standard_normal, width=width, rng=rng)
    assert (state.log_density, state.detail) == standard_normal(state.position)


def test_the_evaluations_are_counted() -> None:
    calls = []

    def counting(y: float) -> tuple[float, None]:
        calls.append(y)
        return standard_normal(y)[0], None

    state = slice_sampling.init(0.0, counting)
    calls.clear()
    _, info = slice_sampling.step(state, counting, width=0.5, rng=np.random.default_rng(3))
    assert info.evaluations == len(calls)
    assert info.window >= 0.5


def test_a_density_that_never_falls_still_ends() -> None:
    def flat(_: float) -> tuple[float, None]:
        return 0.0, None

    state = slice_sampling.init(0.0, flat)
    state, info = slice_sampling.step(state, flat, width=1.0, rng=np.random.default_rng(3))
    assert abs(state.position) <= slice_sampling.MOST_STEPS_OUT + 1
    assert info.evaluations <= slice_sampling.MOST_STEPS_OUT + 1


def test_a_needle_is_found_again_by_shrinkage() -> None:
    def needle(y: float) -> tuple[float, None]:
        return (0.0 if abs(y - 0.1) < 1e-14 else -math.inf), None

    state = slice_sampling.init(0.1, needle)
    state, _ = slice_sampling.step(state, needle, width=1e6, rng=np.random.default_rng(3))
    assert abs(state.position - 0.1) < 1e-14


def test_a_start_without_density_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="must be finite at the start, got -inf at 2"):
        slice_sampling.init(2.0, unit_interval)
