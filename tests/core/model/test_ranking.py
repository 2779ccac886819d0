"""The best rows by a score: the same as sorting everything, whatever the ties."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.candidates import best_rows

# Few different values, so that ties are common.
scores_with_ties = st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 7.0]), min_size=1)


@given(scores_with_ties, st.integers(0, 12), st.data())
def test_the_best_rows_are_those_of_a_full_sort(
    values: list[float], count: int, data: st.DataObject
) -> None:
    allowed = data.draw(st.lists(st.integers(0, len(values) - 1), unique=True))
    best = best_rows(np.array(values), count, np.array(allowed, dtype=np.intp))
    by_sorting = sorted(allowed, key=lambda row: (-values[row], row))[:count]
    assert best.tolist() == by_sorting


def test_more_rows_than_are_allowed_cannot_come_back() -> None:
    assert best_rows(np.arange(5.0), 9, np.array([1, 3])).tolist() == [3, 1]


def test_no_allowed_row_gives_no_row() -> None:
    best = best_rows(np.arange(5.0), 2, np.empty(0, dtype=np.intp))
    assert best.tolist() == []
    assert best.dtype == np.intp


def test_neither_scores_nor_allowed_rows_are_changed() -> None:
    scores, allowed = np.array([3.0, 1.0, 2.0]), np.array([2, 0, 1])
    best_rows(scores, 2, allowed)
    assert scores.tolist() == [3.0, 1.0, 2.0]
    assert allowed.tolist() == [2, 0, 1]
