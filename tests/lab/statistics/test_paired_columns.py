"""Paired tests of many columns: SciPy's numbers, column by column, and nothing divided by zero."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstand.errors import InvalidInputError
from bandstand_lab.statistics.paired import paired_columns, paired_difference


@given(st.integers(2, 12), st.integers(1, 20), st.integers(0, 10**6))
@settings(max_examples=60)
def test_each_column_is_scipys_paired_test_of_those_who_are_there(
    people: int, columns: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(3.0, 1.0, (2, people, columns))
    present = rng.random((people, columns)) < 0.7
    present[:2] = True
    with np.errstate(all="raise"):
        found = paired_columns(np.where(present, first - second, np.nan), present)
    for column in range(columns):
        there = present[:, column]
        expected: Any = stats.ttest_rel(first[there, column], second[there, column])
        assert found.counts[column] == there.sum()
        assert found.t[column] == pytest.approx(expected.statistic, rel=1e-9)
        assert found.p_values[column] == pytest.approx(expected.pvalue, rel=1e-9)
        error = stats.sem(first[there, column] - second[there, column])
        assert found.standard_error[column] == pytest.approx(error, rel=1e-9)


@given(
    st.lists(st.integers(-3, 3), min_size=2, max_size=8),
    st.sampled_from([1.0, 0.1, 1 / 3, 1e-9, 1e9]),
)
def test_one_column_is_the_paired_difference(steps: list[int], scale: float) -> None:
    values = np.array(steps) * scale
    with np.errstate(all="raise"):
        found = paired_columns(values[:, np.newaxis])
        expected = paired_difference(values, np.zeros(len(values)))
    assert found.mean[0] == pytest.approx(expected.mean, rel=1e-9, abs=1e-12 * scale)
    assert found.p_values[0] == pytest.approx(expected.p_value, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -1 / 3, 1e-12])
def test_people_who_all_differ_alike_give_no_warning_and_no_nan(value: float) -> None:
    with np.errstate(all="raise"):
        found = paired_columns(np.full((7, 2), value))
    assert found.standard_error.tolist() == [0.0, 0.0]
    assert found.t.tolist() == [np.copysign(np.inf, value) if value else 0.0] * 2
    assert found.p_values.tolist() == [0.0 if value else 1.0] * 2


@pytest.mark.parametrize(
    ("differences", "present", "match"),
    [
        ([[1.0]], None, "at least 2 people, got 1"),
        (np.zeros((0, 3)), None, "at least 2 people, got 0"),
        ([[1.0, 1.0], [1.0, 1.0]], [[1, 1], [1, 0]], "at least 2 people, got 1"),
        ([1.0, 2.0], None, "a row for each person"),
        ([[1.0], [np.nan]], None, "finite"),
        ([[1.0], [2.0]], [[1, 1]], "shape"),
    ],
)
def test_what_cannot_be_tested_is_refused(differences: Any, present: Any, match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        paired_columns(differences, present)
