from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bandstand.domain import History, Songs
from bandstand.inference.covariance_base import Diagonal
from bandstand.inference.exact import Exact
from bandstand.inference.exact_outline import ExactView
from bandstand.inference.rough_look import RoughLook
from bandstand.inference.song_table import SongTable
from bandstand.model.priors import paper_prior, radio_prior

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.arrays import AnyArray, Vector

LONGEST = 43_200.0


def songs_of(rng: np.random.Generator, columns: int, tail: float) -> AnyArray:
    """Return songs whose lengths differ by a factor e^tail or so, one of them without features."""
    features = rng.normal(size=(200, columns)) * np.exp(tail * rng.normal(size=(200, 1)))
    features[7] = 0.0
    return features.astype(np.float32)


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
    rng = np.random.default_rng(seed)
    features = songs_of(rng, columns, tail)
    heard = features[rng.integers(200, size=ratings)].astype(np.float64)
    prior = radio_prior(columns) if seed % 2 else paper_prior(columns)
    engine = Exact(prior=prior)
    ratings_given = 3 + heard @ rng.normal(size=columns) + rng.normal(size=ratings)
    history = History.of(features=heard, elapsed=LONGEST, ratings=ratings_given)
    belief = engine.fit(history)
    if not isinstance(belief.spread.base, Diagonal):
        return None
    for row in range(planned):
        song = Songs.of(features=features[row : row + 1].astype(np.float64), elapsed=LONGEST)
        belief = engine.plan(belief, song)
    rough = RoughLook.of(ExactView(belief, level, LONGEST))
    assert rough is not None
    songs = Songs.of(features=features.astype(np.float64), elapsed=LONGEST)
    quantiles = engine.predict(belief, songs).quantile(level)
    assert quantiles is not None
    table = SongTable.of(features)
    return lambda threshold: rough.upper(table, np.arange(200), threshold), quantiles


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
