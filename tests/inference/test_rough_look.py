from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bandstand.domain import History
from bandstand.inference.exact import Exact
from bandstand.inference.exact_outline import ExactView
from bandstand.inference.rough_look import RoughLook
from bandstand.model.priors import paper_prior
from tests.inference.newcomers import LONGEST, Newcomer

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.types import Vector


def bounds_and_quantiles(
    seed: int, ratings: int, columns: int, tail: float, level: float, planned: int
) -> tuple[Vector, Vector] | None:
    """Return them for all songs; None where digits would be lost in the common form."""
    found = look_and_quantiles(seed, ratings, columns, tail, level, planned)
    return None if found is None else (found[0](np.inf), found[1])


def look_and_quantiles(
    seed: int, ratings: int, columns: int, tail: float, level: float, planned: int
) -> tuple[Callable[[float], Vector], Vector] | None:
    """Return the bounds by the threshold that they are for, and the quantiles."""
    newcomer = Newcomer.drawn(seed, ratings=ratings, columns=columns, tail=tail, planned=planned)
    if newcomer is None:
        return None
    rough = RoughLook.of(newcomer.view(level))
    assert rough is not None
    return (
        lambda threshold: rough.upper(newcomer.table, newcomer.rows, threshold),
        newcomer.quantiles(level),
    )


@given(
    seed=st.integers(0, 2**32),
    ratings=st.integers(2, 60),
    columns=st.integers(1, 30),
    tail=st.floats(0, 3),
    level=st.floats(0.55, 0.9999),
    planned=st.integers(0, 3),
)
def test_no_quantile_exceeds_its_rough_bound(
    seed: int, ratings: int, columns: int, tail: float, level: float, planned: int
) -> None:
    found = bounds_and_quantiles(seed, ratings, columns, tail, level, planned)
    assume(found is not None)
    assert found is not None
    upper, quantiles = found
    assert (quantiles <= upper).all()


def check_threshold(share: float, *listener: Any) -> None:
    """Assert that every song which reaches a threshold may reach it."""
    found = look_and_quantiles(*listener)
    if found is None:
        return
    upper, quantiles = found
    threshold = float(np.quantile(quantiles, share))
    assert (upper(threshold)[quantiles >= threshold] >= threshold).all()


@given(
    share=st.floats(0.5, 1.0),
    seed=st.integers(0, 2**32),
    ratings=st.integers(2, 60),
    columns=st.integers(1, 30),
    tail=st.floats(0, 3),
    level=st.floats(0.55, 0.9999),
    planned=st.integers(0, 3),
)
def test_what_reaches_a_threshold_is_never_below_it(
    share: float, seed: int, ratings: int, columns: int, tail: float, level: float, planned: int
) -> None:
    check_threshold(share, seed, ratings, columns, tail, level, planned)


def check_some_thresholds() -> None:
    for seed in range(20):
        check_threshold(0.9, seed, 20, 5, 0.0, 0.95, 0)


def test_a_threshold_excludes_many_songs_that_bounds_do_not() -> None:
    found = look_and_quantiles(5, 8, 20, 0.0, 0.9, 0)
    assert found is not None
    upper, quantiles = found
    best = float(quantiles.max())
    assert np.count_nonzero(upper(best) >= best) < 0.7 * np.count_nonzero(upper(np.inf) >= best)


def test_tails_that_are_too_light_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ExactView.shares_of_cells.func  # type: ignore[attr-defined]
    monkeypatch.setattr(ExactView, "shares_of_cells", property(lambda self: 0.1 * honest(self)))
    with pytest.raises(AssertionError):
        check_some_thresholds()


def test_bounds_without_spread_are_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ExactView, "widths_of_cells", property(lambda self: np.zeros(self.last - self.first))
    )
    found = bounds_and_quantiles(1, 20, 5, 0.0, 0.95, 0)
    assert found is not None
    upper, quantiles = found
    assert (quantiles > upper).any()


def test_bounds_of_a_listener_with_many_answers_are_close() -> None:
    found = bounds_and_quantiles(2, 60, 5, 0.0, 0.9, 0)
    assert found is not None
    upper, quantiles = found
    known = np.arange(200) != 7
    assert np.median((upper - quantiles)[known]) < 0.5 * np.std(quantiles)


def test_below_the_median_there_is_no_rough_look() -> None:
    history = History.of(features=np.eye(3), elapsed=LONGEST, ratings=[1.0, 2.0, 3.0])
    belief = Exact(prior=paper_prior(3)).fit(history)
    assert RoughLook.of(ExactView(belief, 0.2, LONGEST)) is None
