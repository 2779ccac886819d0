import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.history import FEATURE_LIMIT, Songs
from bandstand.core.model.scaling import Standardiser
from bandstand.errors import InvalidInputError

seeds = st.integers(0, 2**32)
sizes = st.sampled_from([1e-150, 1e-30, 1e-3, 1.0, 1e3, 1e30, 1e150, 1e299])


@given(seed=seeds, rows=st.integers(2, 40), scales=st.lists(sizes, min_size=1, max_size=5))
def test_every_column_has_mean_zero_and_deviation_one_whatever_its_size(
    seed: int, rows: int, scales: list[float]
) -> None:
    items = np.random.default_rng(seed).uniform(-1, 1, (rows, len(scales))) * scales
    with np.errstate(all="raise"):
        table = Standardiser.fit(items).apply(items)
    assert table.shape == (rows, len(scales) + 1)
    np.testing.assert_allclose(table[:, :-1].mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(table[:, :-1].std(axis=0), 1.0, rtol=1e-10)
    assert (table[:, -1] == 1.0).all()


@given(seed=seeds, size=sizes, offset=st.floats(-3, 3))
def test_other_units_give_the_same_features(seed: int, size: float, offset: float) -> None:
    items = np.random.default_rng(seed).uniform(-1, 1, (9, 2))
    moved = (items + offset) * (size / 4)
    with np.errstate(all="raise"):
        first, second = (Standardiser.fit(table).apply(table) for table in (items, moved))
    np.testing.assert_allclose(first, second, atol=1e-11)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.0, 1e-150, 1e150, -1e300, 5e-324])
def test_a_constant_column_becomes_zero(value: float) -> None:
    items = np.column_stack([np.full(7, value), np.arange(7.0)])
    with np.errstate(all="raise"):
        scaling = Standardiser.fit(items)
        table = scaling.apply(items)
        # Also for an item in which it is different: nothing was learnt about that column.
        other = scaling.apply([[3.0, 3.0]])
    assert table[:, 0].tolist() == [0.0] * 7
    assert scaling.standard_deviation[0] == 0.0
    assert other.tolist() == [[0.0, 0.0, 1.0]]


def test_an_item_far_from_all_others_stays_in_what_the_model_can_hold() -> None:
    scaling = Standardiser.fit([[-1e-200], [1e-200]])
    with np.errstate(all="raise"):
        table = scaling.apply([[1e300], [-1e300], [0.0]])
    assert table[:, 0].tolist() == [FEATURE_LIMIT, -FEATURE_LIMIT, 0.0]
    assert len(Songs.of(features=table, elapsed=0)) == 3


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e301])
def test_what_is_not_finite_is_refused_with_its_place(value: float) -> None:
    items = [[1.0, 2.0], [3.0, value]]
    with pytest.raises(InvalidInputError, match=r"must be finite .* in row 1, column 1"):
        Standardiser.fit(items)
    with pytest.raises(InvalidInputError, match=r"must be finite .* in row 1, column 1"):
        Standardiser.fit([[1.0, 2.0]]).apply(items)


@pytest.mark.parametrize(
    "items",
    [
        [],
        [4.0],  # alone
        [0.1 + 0.2, 0.3, 0.3],  # constant but for rounding
        [5e-324, 0.0, 1e-310],  # all but nothing
    ],
)
def test_a_column_without_spread_becomes_zero(items: list[float]) -> None:
    table = np.reshape(items, (-1, 1))
    with np.errstate(all="raise"):
        assert Standardiser.fit(table).apply(table).tolist() == [[0.0, 1.0]] * len(items)


@pytest.mark.parametrize("items", [[1.0, 2.0], [[[1.0]]], [["a"]], [[1.0], [1.0, 2.0]]])
def test_what_is_no_table_of_numbers_is_refused(items: object) -> None:
    with pytest.raises(InvalidInputError, match="items must be"):
        Standardiser.fit(items)  # type: ignore[arg-type]


def test_other_columns_than_before_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="items must have 1 features as before, got 2"):
        Standardiser.fit([[1.0], [2.0]]).apply([[1.0, 2.0]])


def test_items_in_single_precision_stay_so_and_are_taken_block_by_block() -> None:
    rng = np.random.default_rng(3)
    items = (rng.normal(size=(40_000, 3)) * [1.0, 100.0, 0.01] + 5).astype(np.float32)
    scales = Standardiser.fit(items)
    double = Standardiser.fit(items.astype(np.float64))
    assert np.allclose(scales.mean, double.mean, rtol=1e-12)
    assert np.allclose(scales.standard_deviation, double.standard_deviation, rtol=1e-12)
    applied = scales.apply(items)
    assert applied.dtype == np.float32
    assert np.allclose(applied, double.apply(items.astype(np.float64)), rtol=1e-6, atol=1e-6)
