"""Slice sampling leaves a density as it is, at any width, and keeps what belongs together."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bandstand.core.engines.mcmc import chains
from bandstand.errors import InvalidInputError
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
    density: chains.LogDensity[object],
    *,
    start: float,
    width: float,
    thin: int = 8,
    max_steps_out: int = chains.MAX_STEPS_OUT,
) -> Vector:
    """Return 1,500 draws far enough apart to count as independent."""
    rng = np.random.default_rng(20130701)
    state = chains.start_chain(start, density)
    draws = np.empty(1_500 * thin)
    for at in range(len(draws)):
        state = chains.slice_step(state, density, width=width, rng=rng, max_steps_out=max_steps_out)
        draws[at] = state.position
    return draws[thin - 1 :: thin]


def two_hills_cdf(y: Vector) -> Vector:
    return np.asarray(0.5 * stats.norm.cdf(y, -3) + 0.5 * stats.norm.cdf(y, 3))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("density", "law", "options"),
    [
        (standard_normal, stats.norm.cdf, {"start": 0.3, "width": 0.5}),
        (standard_normal, stats.norm.cdf, {"start": 0.3, "width": 4.0}),
        (standard_normal, stats.norm.cdf, {"start": 0.3, "width": 50.0}),
        *(
            (
                standard_normal,
                stats.norm.cdf,
                {"start": 0.3, "width": 3.0, "thin": 20, "max_steps_out": limit},
            )
            for limit in (0, 1, 3)
        ),
        (log_gamma, lambda y: stats.gamma(3).cdf(np.exp(y)), {"start": 1.0, "width": 2.0}),
        (two_hills, two_hills_cdf, {"start": 3.0, "width": 4.0, "thin": 12}),
        (unit_interval, stats.uniform.cdf, {"start": 0.1, "width": 0.4}),
    ],
)
def test_draws_follow_the_density_at_any_width_and_limit(
    density: Any, law: Any, options: dict[str, Any]
) -> None:
    assert stats.kstest(kept_draws(density, **options), law).pvalue > FAILURE_RATE / 9


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
    state = chains.start_chain(start, standard_normal)
    state = chains.slice_step(state, standard_normal, width=width, rng=rng)
    assert (state.log_density, state.detail) == standard_normal(state.position)


def test_a_density_that_never_falls_still_ends() -> None:
    calls = []

    def flat(y: float) -> tuple[float, None]:
        calls.append(y)
        return 0.0, None

    state = chains.start_chain(0.0, flat)
    state = chains.slice_step(state, flat, width=1.0, rng=np.random.default_rng(3))
    assert abs(state.position) <= chains.MAX_STEPS_OUT + 1
    assert len(calls) <= chains.MAX_STEPS_OUT + 2


def test_a_needle_is_found_again_by_shrinkage() -> None:
    def needle(y: float) -> tuple[float, None]:
        return (0.0 if abs(y - 0.1) < 1e-14 else -math.inf), None

    state = chains.start_chain(0.1, needle)
    state = chains.slice_step(state, needle, width=1e6, rng=np.random.default_rng(3))
    assert abs(state.position - 0.1) < 1e-14


def test_a_start_without_density_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="must be finite at the start, got -inf at 2"):
        chains.start_chain(2.0, unit_interval)
