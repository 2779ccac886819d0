from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.inference.shortlist.anchor import Anchor
from bandstand.inference.shortlist.box import Box
from bandstand.inference.shortlist.spread import Spread
from bandstand.inference.song_table import SongTable
from tests.inference.shortlist.views import GivenView

seeds = st.integers(0, 2**32)


def features_of(rng: np.random.Generator, columns: int) -> np.ndarray[tuple[int, int], np.dtype]:
    features = rng.normal(size=(200, columns)) * 10.0 ** rng.uniform(-4, 4, size=(200, 1))
    features[:5] = 0.0
    return features


@given(seed=seeds, columns=st.integers(1, 30), size=st.floats(1e-20, 1e20))
def test_bounds_are_never_below_the_outline(seed: int, columns: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    view, features = GivenView.drawn(rng, columns, size=size), features_of(rng, columns)
    table = SongTable.of(features)
    anchor = Anchor.of(view, features.mean(axis=0) if seed % 2 else None)
    truth = view.bounds(features)
    quick = anchor.unit * anchor.bounds(table).astype(np.float64)
    close = anchor.unit * anchor.close_bounds(table, np.arange(200)).astype(np.float64)
    assert (truth <= quick).all()
    assert (truth <= close).all()
    some = np.array([3, 77, 150])
    again = anchor.unit * anchor.bounds(table, some).astype(np.float64)
    np.testing.assert_allclose(again, quick[some], rtol=1e-4)


@given(seed=seeds, columns=st.integers(1, 20), share=st.floats(0, 1))
def test_later_bounds_exceed_them_by_no_more_than_the_drift(
    seed: int, columns: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    view, features = GivenView.drawn(rng, columns), features_of(rng, columns)
    table = SongTable.of(features)
    anchor, later = Anchor.of(view), view.moved(rng, share)
    room = anchor.bounds(table) + anchor.drift(later, later.growth(anchor)) * table.norms.astype(
        np.float64
    )
    assert (later.bounds(features) <= anchor.unit * room).all()


def test_close_bounds_are_close() -> None:
    rng = np.random.default_rng(0)
    drawn, features = GivenView.drawn(rng, 20), rng.normal(size=(100, 20))
    view = GivenView(centres=drawn.centres[:2], spread=drawn.spread)
    anchor, table = Anchor.of(view), SongTable.of(features)
    close = anchor.unit * anchor.close_bounds(table, np.arange(100))
    np.testing.assert_allclose(close, view.bounds(features), atol=0.005)


def cancelling() -> tuple[GivenView, np.ndarray[tuple[int, int], np.dtype]]:
    """Return songs whose likings are small differences of large numbers."""
    rng = np.random.default_rng(1)
    large = 1e4 * rng.normal(size=(500, 1))
    features = np.hstack([large, -large, 1e-3 * rng.normal(size=(500, 1))])
    return GivenView(centres=np.ones((1, 3)), spread=np.zeros((3, 3))), features


def test_without_its_rounding_a_bound_would_be_too_low() -> None:
    view, features = cancelling()
    anchor, table = Anchor.of(view), SongTable.of(features)
    bounds = anchor.unit * anchor.bounds(table).astype(np.float64)
    assert (view.bounds(features) <= bounds).all()
    without = bounds - anchor.unit * anchor.rounding_of_sums * table.norms
    assert (view.bounds(features) > without).any()


def test_a_box_reaches_all_its_vectors() -> None:
    rng = np.random.default_rng(2)
    vectors, features = rng.normal(size=(30, 8)), rng.normal(size=(50, 8))
    box = Box.around(vectors, rng.normal(size=8))
    products = (features @ box.columns()).T.astype(np.float32)
    norms = np.sqrt((features**2).sum(axis=1))
    assert ((features @ vectors.T).max(axis=1) <= box.upper(products) + box.rest * norms).all()
    assert box.distance(vectors) <= box.rest + 1e-12
    assert np.sqrt((vectors**2).sum(axis=1)).max() <= box.size + box.rest


def test_room_backwards_costs_nothing_ahead() -> None:
    vectors, push = np.ones((2, 3)), np.array([0.5, 0.0, 0.0])
    box = Box.around(vectors, push)
    assert box.distance(vectors - push) == pytest.approx(0.0, abs=1e-12)
    assert box.distance(vectors + push) == pytest.approx(0.5)
    ahead = np.array([[2.0, 0.0, 0.0]]) @ box.columns()
    assert box.upper(ahead.T.astype(np.float32))[0] == pytest.approx(2.0)


@given(seed=seeds, columns=st.integers(1, 30))
def test_forms_are_compared_by_their_growth(seed: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (root @ root.T for root in rng.normal(size=(2, columns, columns)))
    growth = Spread.of(one).growth(other)
    features = rng.normal(size=(100, columns))
    values = [np.einsum("sp,pq,sq->s", features, form, features) for form in (one, other)]
    assert (values[1] <= growth**2 * values[0] * (1 + 1e-6) + 1e-9).all()


def test_no_spread_and_no_centre_bound_by_zero() -> None:
    view = GivenView(centres=np.zeros((1, 4)), spread=np.zeros((4, 4)))
    table = SongTable.of(np.eye(4))
    anchor = Anchor.of(view, np.ones(4))
    assert np.abs(anchor.bounds(table)).max() < 1e-4
    assert anchor.drift(view, view.growth(anchor)) < 1e-6
