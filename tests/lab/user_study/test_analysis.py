"""What a study says: the same numbers by SciPy from the bare ratings, and nothing where none."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstand.study.design import Design
from bandstand_lab.statistics.paired import holm
from bandstand_lab.user_study.analysis import (
    Comparison,
    all_pairs,
    analyse,
    curve,
    lasting_from,
    totals,
    usual_first_step,
)
from bandstand_lab.user_study.simulated import simulated_study
from tests.fixtures.study.small import ONE, OTHER, THIRD, drawn_stars, study

RNG = np.random.default_rng(0)  # never used by studies of at most 15 people


def drawn_study(
    people: int, longest: int, seed: int, *, arms: tuple[str, ...] = (ONE, OTHER)
) -> Any:
    """Return a study in which each person stopped somewhere, also before the first rating."""
    rng = np.random.default_rng(seed)
    stars = {
        (person, arm): drawn_stars(rng, int(rng.integers(0, longest + 1)))
        for person in range(people)
        for arm in arms
    }
    return study({key: given for key, given in stars.items() if given}, algorithms=arms), stars


def expected_tests(stars: Any, people: int, n: int) -> tuple[int, Any, float]:
    """Return people, SciPy's paired test and the standard error at n, from the bare ratings.

    Where all differ alike SciPy warns, or tests its own rounding: there is no test then.
    """
    both = [p for p in range(people) if min(len(stars[p, ONE]), len(stars[p, OTHER])) >= n]
    ones, others = ([np.mean(stars[p, arm][:n]) for p in both] for arm in (ONE, OTHER))
    error = float(stats.sem(np.subtract(ones, others)))
    return len(both), stats.ttest_rel(ones, others) if error > 1e-12 else None, error


# ── Curves ───────────────────────────────────────────────────────────────────────────────


@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 10**6))
@settings(max_examples=40)
def test_a_curve_has_the_mean_and_error_of_those_who_got_so_far(
    people: int, longest: int, seed: int
) -> None:
    data, stars = drawn_study(people, longest, seed)
    with np.errstate(all="raise"):
        curves = [curve(arm) for arm in totals(data).values()]
    for found in curves:
        given_stars = [stars[person, found.algorithm] for person in range(people)]
        assert len(found.mean) == max(map(len, given_stars))
        for place, n in enumerate(found.steps):
            values = [np.mean(each[:n]) for each in given_stars if len(each) >= n]
            assert found.counts[place] == len(values)
            assert found.mean[place] == pytest.approx(np.mean(values))
            if len(values) > 1:
                assert found.standard_error[place] == pytest.approx(stats.sem(values), abs=1e-12)
            else:
                assert np.isnan(found.standard_error[place])


# ── Comparisons ──────────────────────────────────────────────────────────────────────────


@given(st.integers(2, 7), st.integers(2, 12), st.integers(0, 10**6))
@settings(max_examples=40)
def test_mean_error_t_and_p_are_scipys_at_every_n(people: int, longest: int, seed: int) -> None:
    data, stars = drawn_study(people, longest, seed)
    with np.errstate(all="raise"):
        analysis = analyse(data, rng=RNG, pairs=[(ONE, OTHER)], first_step=1)
    for found in analysis.comparisons:
        for place, n in enumerate(found.steps):
            count, test, error = expected_tests(stars, people, int(n))
            assert found.counts[place] == count
            assert found.standard_error[place] == pytest.approx(error, abs=1e-12)
            if test is not None:
                assert found.t[place] == pytest.approx(test.statistic, rel=1e-7)
                assert found.p_values[place] == pytest.approx(test.pvalue, rel=1e-7)


def test_the_interval_at_the_last_n_is_scipys() -> None:
    data, stars = drawn_study(8, 10, seed=3)
    (found,) = analyse(data, rng=RNG, pairs=[(ONE, OTHER)]).comparisons
    _, test, _ = expected_tests(stars, 8, found.last)
    low, high = test.confidence_interval(0.95)
    assert found.interval() == pytest.approx((low, high))


def test_corrected_values_are_those_of_all_flips_of_the_bare_ratings() -> None:
    rng = np.random.default_rng(5)
    stars = {(p, arm): drawn_stars(rng, 6) for p in range(6) for arm in (ONE, OTHER)}
    (found,) = analyse(study(stars), rng=RNG, pairs=[(ONE, OTHER)]).comparisons

    def p_values(signs: tuple[int, ...]) -> list[float]:
        """Return SciPy's values had the people with −1 met the algorithms under swapped names."""
        swapped = {
            (p, arm): stars[p, arm if sign > 0 else {ONE: OTHER, OTHER: ONE}[arm]]
            for p, sign in enumerate(signs)
            for arm in (ONE, OTHER)
        }
        return [float(expected_tests(swapped, 6, n)[1].pvalue) for n in range(1, 7)]

    smallest = np.array([min(p_values(signs)) for signs in product([1, -1], repeat=6)])
    observed = p_values((1,) * 6)
    expected = [float((smallest <= p * (1 + 1e-7)).mean()) for p in observed]
    assert found.p_over_steps == pytest.approx(expected)
    assert (found.flips, found.is_exact, found.pairs) == (32, True, 1)


def test_pairs_are_corrected_by_their_number_and_by_holm() -> None:
    data, _ = drawn_study(9, 8, seed=8, arms=(THIRD, ONE, OTHER))
    found = analyse(data, rng=RNG).comparisons
    assert [(each.first, each.second) for each in found] == list(all_pairs((THIRD, ONE, OTHER)))
    assert [each.p_any_holm for each in found] == holm([each.p_over_steps.min() for each in found])
    assert [each.p_last_holm for each in found] == holm([each.p_values[-1] for each in found])
    for each in found:
        assert each.pairs == 3
        assert each.p_corrected == pytest.approx(np.minimum(1.0, 3 * each.p_over_steps))
        assert (each.p_over_steps >= 1 / each.flips).all()
        wide, narrow = each.interval(corrected=True), each.interval()
        assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_planned_pairs_alone_are_corrected_for() -> None:
    data, _ = drawn_study(9, 8, seed=8, arms=(THIRD, ONE, OTHER))
    planned = analyse(data, rng=RNG, pairs=[(THIRD, ONE), (OTHER, ONE)])
    both = analyse(data, rng=RNG)
    assert [(each.first, each.second) for each in planned.comparisons] == [
        (THIRD, ONE),
        (OTHER, ONE),
    ]
    one, all_of_them = planned.between(OTHER, ONE), both.between(OTHER, ONE)
    assert one is not None
    assert all_of_them is not None
    assert one.p_over_steps.tolist() == all_of_them.p_over_steps.tolist()
    assert (one.pairs, all_of_them.pairs) == (2, 3)
    assert both.between(ONE, OTHER) is None


def test_the_order_of_records_does_not_matter() -> None:
    data, _ = drawn_study(6, 9, seed=2)
    shuffled = replace(data, records=tuple(reversed(data.records)))
    assert _numbers(analyse(shuffled, rng=RNG)) == _numbers(analyse(data, rng=RNG))


def _numbers(analysis: Any) -> list[list[float]]:
    return [each.p_corrected.tolist() + each.mean.tolist() for each in analysis.comparisons]


# ── Few people, and people who differ alike ──────────────────────────────────────────────


@pytest.mark.parametrize(
    ("stars", "people"),
    [
        ({}, 0),
        ({(0, ONE): [3, 4]}, 0),
        ({(0, ONE): [3], (1, OTHER): [4], (2, OTHER): [4]}, 0),
        ({(0, ONE): [3, 4], (0, OTHER): [4, 4], (1, ONE): [5]}, 1),
    ],
)
def test_without_two_people_there_is_no_test_and_it_is_said(stars: Any, people: int) -> None:
    with np.errstate(all="raise"):
        analysis = analyse(study(stars), rng=RNG)
    assert analysis.comparisons == ()
    (untested,) = analysis.untested
    assert untested.people == people
    assert "a test needs two people with both up to n = 1" in untested.reason
    assert len(analysis.curves) == 2


def test_a_pair_that_cannot_be_tested_is_not_corrected_for() -> None:
    stars = {(p, arm): [1 + p, 2] for p in range(3) for arm in (ONE, OTHER)}
    data = study({**stars, (0, THIRD): [5]}, algorithms=(ONE, OTHER, THIRD))
    analysis = analyse(data, rng=RNG)
    assert [each.pairs for each in analysis.comparisons] == [1]
    assert len(analysis.untested) == 2


@pytest.mark.parametrize(
    ("ones", "others", "t", "p"), [(4, 4, 0.0, 1.0), (5, 3, np.inf, 0.0), (1, 2, -np.inf, 0.0)]
)
def test_people_who_all_differ_alike_give_no_nan(
    ones: int, others: int, t: float, p: float
) -> None:
    stars = {(person, ONE): [ones] * 7 for person in range(6)}
    data = study(stars | {(person, OTHER): [others] * 7 for person in range(6)})
    with np.errstate(all="raise"):
        (found,) = analyse(data, rng=RNG, pairs=[(ONE, OTHER)]).comparisons
        interval = found.interval()
    assert found.t.tolist() == [t] * 7
    assert found.p_values.tolist() == [p] * 7
    assert found.p_corrected.tolist() == [1.0 if t == 0 else 2**-5] * 7
    assert interval == (ones - others, ones - others)


def test_an_n_is_tested_where_at_least_half_of_the_people_are() -> None:
    reached = [10, 10, 7, 4, 4]
    rng = np.random.default_rng(1)
    stars = {(p, ONE): drawn_stars(rng, n) for p, n in enumerate(reached)}
    stars |= {(p, OTHER): drawn_stars(rng, 10) for p in range(5)}
    (found,) = analyse(study(stars), rng=RNG, pairs=[(ONE, OTHER)]).comparisons
    assert found.people == 5
    assert found.steps.tolist() == list(range(1, 8))  # three of five have got to 7
    assert found.counts.tolist() == [5, 5, 5, 5, 3, 3, 3]


def test_five_people_cannot_reach_the_level_and_six_can() -> None:
    for people, possible in ((5, False), (6, True)):
        stars = {(p, ONE): [5] * 4 for p in range(people)}
        data = study(stars | {(p, OTHER): [1] * 4 for p in range(people)})
        (found,) = analyse(data, rng=RNG).comparisons
        assert (1 / found.flips <= 0.05) is possible
        assert (found.significant_from() is not None) is possible
        assert found.nominal_from() == 1


@pytest.mark.parametrize(("ratings", "first"), [(200, 20), (25, 2), (9, 1), (1, 1)])
def test_tests_begin_after_a_tenth_of_an_arm(ratings: int, first: int) -> None:
    assert usual_first_step(Design(ratings_per_arm=ratings)) == first


def test_the_family_can_begin_later() -> None:
    data, _ = drawn_study(7, 12, seed=4)
    assert analyse(data, rng=RNG).first_step == 1
    late = analyse(data, rng=RNG, first_step=3)
    assert late.first_step == 3
    assert late.comparisons[0].steps[0] == 3
    never = analyse(data, rng=RNG, first_step=13)
    assert never.comparisons == ()
    assert "n = 13" in never.untested[0].reason


def test_more_than_fifteen_people_are_flipped_by_drawing() -> None:
    rng = np.random.default_rng(2)
    stars = {(p, arm): drawn_stars(rng, 3) for p in range(17) for arm in (ONE, OTHER)}
    first, second = (
        analyse(study(stars), rng=np.random.default_rng(1)).comparisons[0] for _ in range(2)
    )
    assert (first.flips, first.is_exact) == (10_000, False)
    assert first.p_corrected.tolist() == second.p_corrected.tolist()


# ── From which n on ──────────────────────────────────────────────────────────────────────


@given(st.lists(st.sampled_from([0.01, 0.05, 0.06, 1.0]), min_size=1, max_size=9))
def test_significant_from_is_the_first_n_after_which_nothing_is_above_the_level(
    values: list[float],
) -> None:
    steps = np.arange(4, 4 + len(values))
    expected = next((n for n in steps if all(p <= 0.05 for p in values[n - 4 :])), None)
    assert lasting_from(steps, np.array(values), 0.05) == expected


# ── The paper's size ─────────────────────────────────────────────────────────────────────


def test_a_planted_effect_is_found_among_six_algorithms() -> None:
    """Fifteen people, 200 ratings of each of six: the planted arm differs from all others."""
    data = simulated_study(
        Design(),
        people=15,
        effects={"bayes-ucb-cn-x": 0.6},
        rng=np.random.default_rng(1),
    )
    analysis = analyse(data, rng=RNG)
    assert len(analysis.comparisons) == 15
    for each in analysis.comparisons:
        is_planted = "bayes-ucb-cn-x" in {each.first, each.second}
        assert (each.significant_from() is not None) is is_planted, each.first + each.second
        assert (each.p_any_holm <= 0.05) is is_planted
        if is_planted:
            assert_holds(each, 0.6 * (1 - 19.5 / 200))


def assert_holds(found: Comparison, effect: float) -> None:
    sign = 1 if found.first == "bayes-ucb-cn-x" else -1
    low, high = found.interval(0.999)
    # Ratings are rounded into 1 … 5, which takes a little of an effect away.
    assert low < sign * 0.95 * effect < high
