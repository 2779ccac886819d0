"""Effective sample sizes and R-hat against what is known in closed form."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from bandstand.core.engines.mcmc import diagnostics
from bandstand.errors import InvalidInputError
from bandstand.types import Matrix
from tests.fixtures.statistical import checks

FAILURE_RATE = 1e-3
LENGTH = 4_000


def independent(seed: int = 5, *, chains: int = 4, length: int = LENGTH) -> Matrix:
    return np.random.default_rng(seed).standard_normal((chains, length))


def autoregressive(correlation: float, *, seed: int = 5, chains: int = 4) -> Matrix:
    """Return stationary chains whose correlation at lag k is correlation^k."""
    shocks = independent(seed, chains=chains)
    shocks[:, 1:] *= math.sqrt(1 - correlation**2)
    draws: Matrix = lfilter([1.0], [1.0, -correlation], shocks, axis=1)
    return draws


@pytest.mark.statistical
@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.3, 0.6, 0.9])
def test_the_effective_size_of_an_autoregression_is_the_known_one(correlation: float) -> None:
    draws = autoregressive(correlation)
    known = draws.size * (1 - correlation) / (1 + correlation)
    assert diagnostics.bulk_ess(draws) == pytest.approx(known, rel=0.12)


@pytest.mark.statistical
def test_the_tail_can_mix_worse_than_the_centre() -> None:
    # The size of the draws is sticky, their sign is not.
    draws = independent(6) * np.exp(autoregressive(0.98))
    assert diagnostics.tail_ess(draws) < 0.2 * diagnostics.bulk_ess(draws)


def test_a_shifted_chain_is_seen() -> None:
    draws = independent()
    draws[0] += 1.0
    assert diagnostics.split_r_hat(draws) > 1.05
    assert diagnostics.bulk_ess(draws) < 100
    assert not diagnostics.assess(draws).reached


def test_a_drifting_chain_is_seen_even_alone() -> None:
    draws = independent(chains=1) + np.linspace(0, 2, LENGTH)
    assert diagnostics.split_r_hat(draws) > 1.05


def test_the_classic_value_of_r_hat_for_known_means_and_variances() -> None:
    # Chains this close are normal together, so the ranks change nothing: what is left is
    # √(1 + variance between / variance within), here of four halves at 0 and four at 0.4.
    draws = independent(8, length=50_000) + np.array([[0.0], [0.0], [0.4], [0.4]])
    known = math.sqrt(1 + 8 / 7 * 0.2**2)
    assert diagnostics.split_r_hat(draws) - 1 == pytest.approx(known - 1, rel=0.05)


@pytest.mark.parametrize("value", [0.0, 3.7, -1e300, 5e-324])
def test_equal_draws_agree_and_each_counts(value: float) -> None:
    draws = np.full((4, 50), value)
    with np.errstate(all="raise"):
        assert diagnostics.split_r_hat(draws) == 1.0
        assert diagnostics.bulk_ess(draws) == draws.size
        assert diagnostics.tail_ess(draws) == draws.size
        assert checks.mean_standard_error(draws) == pytest.approx(0, abs=1e-12 * abs(value))
        assert checks.deviation_standard_error(draws) == pytest.approx(0, abs=1e-12 * abs(value))
        assert checks.quantile_standard_error(draws, 0.9) == pytest.approx(
            0, abs=1e-12 * abs(value)
        )


def test_chains_stuck_at_different_values_never_converge() -> None:
    draws = np.repeat(np.arange(4.0)[:, np.newaxis], 100, axis=1)
    with np.errstate(all="raise"):
        assert diagnostics.split_r_hat(draws) > 10
        assert diagnostics.bulk_ess(draws) < 20


@pytest.mark.statistical
def test_the_standard_errors_are_those_of_repeated_runs() -> None:
    runs = [autoregressive(0.6, seed=seed, chains=1)[:, :1_000] for seed in range(200)]
    for statistic, error in (
        (np.mean, checks.mean_standard_error),
        (np.std, checks.deviation_standard_error),
        (lambda run: np.quantile(run, 0.9), lambda r: checks.quantile_standard_error(r, 0.9)),
    ):
        claimed = np.mean([error(run) for run in runs])
        # The spread of 200 repetitions is itself known to 5 %; 3.3 of those are 1e-3.
        assert claimed == pytest.approx(np.std([statistic(run) for run in runs]), rel=0.2)


def test_an_odd_length_leaves_out_the_middle() -> None:
    draws = independent(length=101)
    middle = draws.copy()
    middle[:, 50] = 1e9
    assert diagnostics.split_r_hat(middle) == diagnostics.split_r_hat(draws)


@given(st.integers(1, 4), st.integers(4, 9), st.integers(0, 2**32))
def test_few_draws_still_give_numbers(chains: int, length: int, seed: int) -> None:
    draws = independent(seed, chains=chains, length=length)
    with np.errstate(all="raise"):
        found = diagnostics.assess(draws)
    assert found.r_hat > 0
    assert 0 < found.bulk_ess <= draws.size * math.log10(draws.size) + 1e-9
    assert 0 < found.tail_ess <= draws.size * math.log10(draws.size) + 1e-9
    assert not found.reached


@pytest.mark.parametrize("shape", [(4, 3), (0, 10), (10,)])
def test_too_few_draws_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInputError, match="at least 4 columns, got shape"):
        diagnostics.assess(np.zeros(shape))


def test_draws_that_are_not_finite_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="must be finite, got nan"):
        diagnostics.bulk_ess([[0.0, 1.0, math.nan, 2.0]])
