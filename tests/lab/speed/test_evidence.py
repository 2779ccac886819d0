"""Estimates with their intervals, and the verdict that follows from several cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import bdtrc

from bandstand_lab.report.study import Verdict, verdict_on
from bandstand_lab.speed.timing import Estimate, Spread, geometric_mean, power_of, span

FAILURE_RATE = 2e-4


@given(st.lists(st.floats(0.01, 100.0), min_size=2, max_size=9), st.floats(0.1, 10.0))
def test_a_geometric_mean_scales_and_turns_round_with_its_ratios(
    values: list[float], scale: float
) -> None:
    plain = geometric_mean(Spread(runs=tuple(values)))
    scaled = geometric_mean(Spread(runs=tuple(scale * value for value in values)))
    turned = geometric_mean(Spread(runs=tuple(1 / value for value in values)))
    assert scaled.value == pytest.approx(scale * plain.value)
    assert turned.value == pytest.approx(1 / plain.value)
    assert plain.low is not None
    assert plain.high is not None
    assert turned.low == pytest.approx(1 / plain.high)


@given(st.floats(0.3, 2.0), st.floats(0.0, 1.0), st.integers(0, 99))
def test_a_power_with_a_fixed_cost_is_found(exponent: float, fixed: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = {
        n: Spread(
            runs=tuple((fixed + (n / 400) ** exponent) * np.exp(1e-6 * rng.standard_normal(4)))
        )
        for n in (400, 700, 1_000, 2_000, 3_000)
    }
    with np.errstate(all="raise"):
        found = power_of(times)
    assert found is not None
    assert found.value == pytest.approx(exponent, abs=0.02)


def share_not_linear(exponent: float) -> float:
    """Return how often times of 50 s plus a power of N, with 5 % of noise, differ from a line."""
    rng = np.random.default_rng(5)
    differing = 0
    for _ in range(100):
        times = {
            n: Spread(
                runs=tuple(
                    (50 + 400 * (n / 400) ** exponent) * np.exp(0.05 * rng.standard_normal(8))
                )
            )
            for n in (400, 700, 1_000, 2_000, 3_000)
        }
        found = power_of(times)
        assert found is not None
        differing += found.above(1.0) is not None
    return differing / 100


def test_a_straight_line_is_seldom_taken_for_another_power_and_a_root_often() -> None:
    """One in twenty is allowed; more than 14 of 100 come by chance with FAILURE_RATE."""
    assert bdtrc(14, 100, 0.05) < FAILURE_RATE
    assert share_not_linear(1.0) <= 0.14
    assert share_not_linear(0.5) > 0.9


@given(st.lists(st.sampled_from([True, False, None]), max_size=6))
def test_a_verdict_needs_what_it_says(answers: list[bool | None]) -> None:
    verdict = verdict_on(answers)
    assert (verdict == Verdict.HOLDS) == (bool(answers) and all(answers))
    assert (verdict == Verdict.OPEN) == all(answer is None for answer in answers)
    assert (verdict == Verdict.FAILS) == (False in answers and True not in answers)


def test_above_and_below_are_opposites_where_they_can_be_told() -> None:
    estimate = Estimate(value=2.0, low=1.5, high=2.5)
    assert estimate.above(1.0) is True
    assert estimate.below(1.0) is False
    assert estimate.above(2.0) is estimate.below(2.0) is None
    assert Estimate(value=2.0, low=None, high=None).above(1.0) is None


def test_a_span_of_one_estimate_is_that_estimate() -> None:
    assert span([Estimate(value=2.0, low=1.5, high=2.5)], " ×") == "2.00 (1.50–2.50) ×"
