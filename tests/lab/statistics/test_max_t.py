"""Corrected p-values: the same by brute force with SciPy, and exact in level by enumeration."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstand.errors import InvalidInputError
from bandstand.types import Matrix, Vector
from bandstand_lab.statistics.max_t import max_t
from bandstand_lab.statistics.paired import paired_columns

RNG = np.random.default_rng(0)  # never used where all flips are looked at


def flips_of(people: int) -> list[Vector]:
    return [np.array(signs, dtype=float) for signs in product([1, -1], repeat=people)]


def walks(people: int, columns: int, seed: int) -> Matrix:
    """Return sums of whole numbers, as the differences of sums of stars are."""
    steps = np.random.default_rng(seed).integers(-2, 3, (people, columns))
    return np.asarray(steps.cumsum(axis=1), dtype=np.float64)


def scipy_p_values(differences: Matrix, present: Any) -> Vector:
    """Return Student's p-value of each column, without this project's code."""
    found = [
        stats.ttest_1samp(differences[there, column], 0.0).pvalue
        for column, there in enumerate(present.T)
    ]
    return np.array(found)


# ── The definition ───────────────────────────────────────────────────────────────────────


@given(st.integers(2, 6), st.integers(1, 5), st.integers(0, 10**6), st.integers(1, 5))
@settings(max_examples=25)
def test_it_is_what_all_flips_give_with_scipys_tests(
    people: int, columns: int, seed: int, soonest: int
) -> None:
    rng = np.random.default_rng(seed)
    differences = rng.standard_normal((people, columns)).cumsum(axis=1)
    reached = rng.integers(min(soonest, columns), columns + 1, people)  # some leave earlier
    reached[:2] = columns
    present = reached[:, np.newaxis] > np.arange(columns)
    with np.errstate(all="raise"):
        found = max_t(differences, present=present, rng=RNG)
    smallest = np.array(
        [
            scipy_p_values(signs[:, np.newaxis] * differences, present).min()
            for signs in flips_of(people)
        ]
    )
    observed = scipy_p_values(differences, present)
    expected = [(smallest <= p * (1 + 1e-7)).mean() for p in observed]
    assert found.corrected == pytest.approx(expected, abs=1e-12)
    assert found.is_exact
    assert found.flips == 2 ** (people - 1)


def test_one_test_alone_is_scipys_exact_test_of_signs() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0.5, 1.0, 9)

    def size(first: Any, second: Any, axis: int) -> Any:
        return np.abs((first - second).mean(axis=axis))

    expected = stats.permutation_test(
        (values, np.zeros(9)),
        size,
        permutation_type="samples",
        n_resamples=10_000,  # more than there are: all
        alternative="greater",
        vectorized=True,
    )
    found = max_t(values[:, np.newaxis], rng=RNG)
    assert found.corrected[0] == pytest.approx(expected.pvalue)


def test_where_all_have_as_many_people_the_statistic_is_the_largest_t() -> None:
    differences = walks(7, 12, seed=2)
    largest = np.array(
        [
            np.abs(paired_columns(signs[:, np.newaxis] * differences).t).max()
            for signs in flips_of(7)
        ]
    )
    observed = np.abs(paired_columns(differences).t)
    expected = [(largest >= t * (1 - 1e-9)).mean() for t in observed]
    assert max_t(differences, rng=RNG).corrected == pytest.approx(expected)


# ── The level ────────────────────────────────────────────────────────────────────────────


def shares_below(differences: Matrix, p_value: Any) -> list[tuple[float, float]]:
    """Return (α, share of all flipped studies whose p-value is at most α), for each that occurs.

    If signs are symmetric, all flipped studies are equally likely: these shares are the
    probability of a false alarm at level α.
    """
    found = np.array([p_value(s[:, np.newaxis] * differences) for s in flips_of(len(differences))])
    return [(float(alpha), float((found <= alpha).mean())) for alpha in np.unique(found)]


@pytest.mark.parametrize("seed", range(4))
def test_false_alarms_come_exactly_as_often_as_the_level_says(seed: int) -> None:
    differences = walks(6, 15, seed)
    for level, share in shares_below(differences, lambda flipped: max_t(flipped, rng=RNG).smallest):
        assert share == pytest.approx(level)


@pytest.mark.parametrize("seed", range(4))
def test_the_smallest_of_uncorrected_values_comes_too_often(seed: int) -> None:
    """The twin: the same check must notice values that are not corrected."""
    differences = walks(6, 15, seed)
    found = shares_below(differences, lambda flipped: paired_columns(flipped).p_values.min())
    assert any(share > 1.5 * level for level, share in found if level > 0)


def test_the_level_holds_where_people_leave() -> None:
    differences = walks(6, 12, seed=9)
    present = np.array([12, 12, 12, 7, 4, 2])[:, np.newaxis] > np.arange(12)
    for level, share in shares_below(
        differences, lambda flipped: max_t(flipped, present=present, rng=RNG).smallest
    ):
        assert share == pytest.approx(level)


def test_without_the_ties_there_would_be_too_many_false_alarms() -> None:
    """The twin: counting only flips that are more extreme errs on the wrong side."""
    differences = np.ones((5, 1))

    def without_ties(flipped: Matrix) -> float:
        size = abs(flipped.sum())
        return float(np.mean([abs(s @ flipped[:, 0]) > size for s in flips_of(5)]))

    assert any(share > level + 1e-9 for level, share in shares_below(differences, without_ties))


# ── Drawn flips ──────────────────────────────────────────────────────────────────────────


def test_drawn_flips_come_close_to_all_of_them() -> None:
    differences = walks(11, 30, seed=5) + 1.0
    exact = max_t(differences, rng=RNG)
    drawn = max_t(differences, rng=np.random.default_rng(1), all_flips_up_to=0, drawn_flips=4_999)
    assert not drawn.is_exact
    assert drawn.flips == 5_000
    # Five standard errors of a share.
    assert drawn.corrected == pytest.approx(exact.corrected, abs=5 * 0.5 / np.sqrt(5_000))


def test_no_drawn_value_is_zero_for_the_study_itself_is_among_the_flips() -> None:
    found = max_t(np.ones((40, 3)), rng=np.random.default_rng(1), drawn_flips=999)
    assert found.corrected.tolist() == [0.001] * 3
    assert found.flips == 1_000


def test_the_same_randomness_draws_the_same_flips() -> None:
    differences = walks(20, 10, seed=1)
    first, second = (max_t(differences, rng=np.random.default_rng(7)) for _ in range(2))
    assert first.corrected.tolist() == second.corrected.tolist()


# ── Degenerate and invariant ─────────────────────────────────────────────────────────────


def test_where_nobody_differs_every_value_is_one() -> None:
    with np.errstate(all="raise"):
        found = max_t(np.zeros((4, 3)), rng=RNG)
    assert found.corrected.tolist() == [1.0, 1.0, 1.0]
    assert found.flips == 1


@pytest.mark.parametrize("people", [2, 5, 6, 13])
def test_people_who_all_differ_alike_reach_the_smallest_value_there_is(people: int) -> None:
    with np.errstate(all="raise"):
        found = max_t(np.full((people, 4), 0.1), rng=RNG)
    assert found.corrected.tolist() == [2.0 ** (1 - people)] * 4
    assert found.flips == 2 ** (people - 1)


@given(st.integers(2, 7), st.integers(1, 6), st.integers(0, 10**6), st.floats(1e-200, 1e100))
@settings(max_examples=40)
def test_neither_order_nor_unit_nor_direction_matters(
    people: int, columns: int, seed: int, unit: float
) -> None:
    rng = np.random.default_rng(seed)
    differences = walks(people, columns, seed)
    with np.errstate(all="raise"):
        found = max_t(differences, rng=RNG).corrected
        changed = max_t(-unit * rng.permutation(differences), rng=RNG).corrected
    assert changed.tolist() == found.tolist()
    assert (found >= 2.0 ** (1 - people)).all()


@pytest.mark.parametrize("all_flips_up_to", [12, 0])
def test_many_equal_tests_cost_nothing(all_flips_up_to: int) -> None:
    """Too many for all flips of all tests are held at once."""
    column = walks(12, 1, seed=4) + 1.0
    alone, many = (
        max_t(
            np.repeat(column, count, axis=1),
            rng=np.random.default_rng(1),
            all_flips_up_to=all_flips_up_to,
            drawn_flips=999,
        ).corrected
        for count in (1, 1_500)
    )
    assert many.tolist() == alone.tolist() * 1_500


def test_fewer_than_two_people_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least 2 people, got 1"):
        max_t([[1.0, 2.0]], rng=RNG)
