"""Means, paired differences, slopes and Zipf's law: closed forms, an independent library, laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bandstand._util.power_laws import (
    log_log_slope,
    plays_by_rank,
    repeat_share,
    second_half_slopes,
    straight_line,
    zipf,
)
from bandstand.errors import InvalidInputError
from bandstand_lab.statistics.paired import holm, paired_difference
from bandstand_lab.statistics.summaries import mean_curve, mean_estimate, student_quantile

FAILURE_RATE = 1e-6  # of each statistical test below
VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)


# ── Means ────────────────────────────────────────────────────────────────────────────────


def test_a_single_value_is_a_mean_without_a_standard_error() -> None:
    estimate = mean_estimate([4.0])
    assert (estimate.mean, estimate.standard_error, estimate.interval()) == (4.0, None, None)
    assert mean_curve([[1.0, 2.0]]).standard_error is None


@pytest.mark.parametrize("values", [[], [[1.0]], [1.0, math.nan], [math.inf]])
def test_a_mean_of_nothing_or_of_what_is_no_number_is_refused(values: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="at least one of finite values"):
        mean_estimate(values)


@given(VALUES, st.floats(0.5, 0.999))
def test_a_mean_and_its_interval_are_those_of_an_independent_library(
    values: list[float], level: float
) -> None:
    estimate = mean_estimate(values)
    assert estimate.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert estimate.standard_error == pytest.approx(stats.sem(values), abs=1e-9)
    interval = estimate.interval(level)
    assert interval is not None
    if estimate.standard_error:
        expected = stats.t.interval(
            level, len(values) - 1, loc=np.mean(values), scale=stats.sem(values)
        )
        assert interval == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_a_curve_is_a_mean_at_each_of_its_points() -> None:
    rows = np.random.default_rng(1).normal(size=(7, 3))
    curve = mean_curve(rows)
    assert curve.standard_error is not None
    for column in range(3):
        alone = mean_estimate(rows[:, column])
        assert curve.mean[column] == alone.mean
        assert curve.standard_error[column] == alone.standard_error


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_of_confidence_is_between_0_and_1(level: float) -> None:
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        student_quantile(level, 3)


# ── Paired differences ───────────────────────────────────────────────────────────────────


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100)), min_size=2, max_size=25))
def test_a_paired_test_is_that_of_an_independent_library(
    pairs: list[tuple[float, float]],
) -> None:
    first, second = np.array(pairs).T
    difference = paired_difference(first, second)
    spread = (first - second).std(ddof=1)
    if spread < 1e-6 * (1 + np.abs(first - second).max()):
        return  # both divide rounding by rounding
    expected = stats.ttest_rel(first, second)
    assert difference.t == pytest.approx(expected.statistic, rel=1e-6)
    assert difference.p_value == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)
    low, high = expected.confidence_interval(0.95)
    assert difference.interval() == pytest.approx((low, high), rel=1e-6, abs=1e-9)


def test_people_who_all_answer_the_same_differ_for_sure_or_not_at_all() -> None:
    same = paired_difference([1.0, 2.0], [1.0, 2.0])
    assert (same.t, same.p_value) == (0.0, 1.0)
    always = paired_difference([1.0, 2.0], [2.0, 3.0])
    assert (always.t, always.p_value) == (-math.inf, 0.0)


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [2.0]), ([1.0, 2.0], [1.0])])
def test_a_pair_of_each_of_two_people_is_the_least(first: list[float], second: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="at least two people"):
        paired_difference(first, second)


def _share_found(shift: float) -> float:
    """Return how often 2,000 experiments with that effect find one at the 5 % level."""
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(2_000):
        people = rng.normal(scale=5.0, size=12)
        first = people + rng.normal(size=12) + shift
        second = people + rng.normal(size=12)
        found += paired_difference(first, second).p_value < 0.05
    return found / 2_000


@pytest.mark.statistical
def test_without_an_effect_one_experiment_in_twenty_finds_one() -> None:
    spread = math.sqrt(0.05 * 0.95 / 2_000)
    assert abs(_share_found(0.0) - 0.05) < stats.norm.isf(FAILURE_RATE / 2) * spread


@pytest.mark.statistical
def test_an_effect_is_found_far_more_often() -> None:  # the twin: the check above has power
    assert _share_found(1.0) > 0.3


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holms_values_keep_their_order_and_only_grow(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert len(corrected) == len(p_values)
    for before, after in zip(p_values, corrected, strict=True):
        assert before <= after <= 1
        assert after <= min(1.0, len(p_values) * before) + 1e-12 or after == max(
            value for p, value in zip(p_values, corrected, strict=True) if p <= before
        )


# ── Slopes ───────────────────────────────────────────────────────────────────────────────


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=3, max_size=30))
def test_a_line_is_that_of_an_independent_library(points: list[tuple[float, float]]) -> None:
    x, y = np.array(points).T
    if x.std() < 1e-3 or y.std() < 1e-3:
        return
    line, expected = straight_line(x, y), stats.linregress(x, y)
    assert line is not None
    assert line.slope == pytest.approx(expected.slope, rel=1e-6, abs=1e-9)
    assert line.intercept == pytest.approx(expected.intercept, rel=1e-6, abs=1e-6)
    assert line.r_squared == pytest.approx(expected.rvalue**2, abs=1e-8)
    assert line.slope_standard_error == pytest.approx(expected.stderr, rel=1e-4, abs=1e-6)


def test_there_is_no_line_through_one_place() -> None:
    assert straight_line([], []) is None
    assert straight_line([1.0], [2.0]) is None
    assert straight_line([3.0, 3.0], [1.0, 2.0]) is None
    with pytest.raises(InvalidInputError, match="one y for each x"):
        straight_line([1.0, 2.0], [1.0])


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_slope_of_a_power_is_its_exponent(power: float) -> None:
    curves = np.array([factor * np.arange(1.0, 101.0) ** power for factor in (1.0, 7.0)])
    assert second_half_slopes(curves) == pytest.approx([power, power], abs=1e-12)


def test_a_slope_needs_positive_values_and_two_places() -> None:
    with pytest.raises(InvalidInputError, match="positive values"):
        log_log_slope(np.array([0.0, 1.0]), first=1, last=2)
    with pytest.raises(InvalidInputError, match="first < last"):
        log_log_slope(np.ones(4), first=4, last=4)


# ── Zipf ─────────────────────────────────────────────────────────────────────────────────


def test_a_perfect_power_law_has_its_exponent() -> None:
    line = zipf(1_000 / np.arange(1.0, 41.0) ** 0.7)
    assert line is not None
    assert (line.exponent, line.first, line.r_squared) == pytest.approx((0.7, 1_000, 1.0))


@pytest.mark.parametrize("counts", [[], [3.0, 2.0, 1.0], [2.0] * 9])
def test_few_songs_or_equal_counts_have_no_line(counts: list[float]) -> None:
    assert zipf(np.array(counts)) is None


@given(st.lists(st.integers(0, 20), min_size=1, max_size=60))
def test_ranks_and_repeats_count_every_play_once(items: list[int]) -> None:
    ranked = plays_by_rank(items)
    assert ranked.sum() == len(items)
    assert (np.diff(ranked) <= 0).all()
    assert repeat_share(items) == pytest.approx((len(items) - len(ranked)) / len(items))


def test_nothing_played_has_no_share_of_repeats() -> None:
    assert plays_by_rank([]).tolist() == []
    with pytest.raises(InvalidInputError, match="at least one play"):
        repeat_share([])
