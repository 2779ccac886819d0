from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.reports.series import Ratings, trailing_mean
from tests.reports.sessions import record_of


@given(values=st.lists(st.floats(-9, 9), max_size=60), window=st.integers(1, 70))
def test_a_trailing_mean_is_that_of_the_last_values(values: list[float], window: int) -> None:
    means = trailing_mean(values, window)
    assert len(means) == len(values)
    for place, mean in enumerate(means):
        assert mean == pytest.approx(np.mean(values[max(place + 1 - window, 0) : place + 1]))


def test_ratings_are_those_of_the_glimpses() -> None:
    glimpses = record_of().glimpses
    ratings = Ratings.of(glimpses)
    assert ratings.radio.tolist() == [glimpse.step.rating for glimpse in glimpses]
    assert ratings.random.tolist() == [glimpse.random.rating for glimpse in glimpses]
    assert ratings.best.tolist() == [glimpse.step.best_expected_rating for glimpse in glimpses]


def test_no_glimpses_have_no_ratings() -> None:
    assert Ratings.of([]).smoothed(5).radio.size == 0
