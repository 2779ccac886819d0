import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.engines.exact.search.interpolation_bounds import bend, between, slope
from bandstand.core.model.interpolation import refinement

FACTOR = 16
sizes = st.integers(3, 40)


@given(seed=st.integers(0, 2**32), size=sizes)
def test_no_interpolant_leaves_its_bounds(seed: int, size: int) -> None:
    values = np.random.default_rng(seed).normal(size=size)
    cells = _cells(values)
    share = np.arange(FACTOR + 1) / FACTOR
    lines = np.outer(values[:-1], 1 - share) + np.outer(values[1:], share)
    away = np.abs(cells - lines).max(axis=1)
    assert (away <= bend(size) @ np.abs(np.diff(values, 2)) + 1e-12).all()
    steps = np.abs(np.diff(cells, axis=1)).max(axis=1)
    assert (steps <= slope(size) @ np.abs(np.diff(values)) / FACTOR + 1e-12).all()


def test_the_bounds_are_not_far_too_wide() -> None:
    values = np.random.default_rng(0).normal(size=30)
    cells, share = _cells(values), np.arange(FACTOR + 1) / FACTOR
    lines = np.outer(values[:-1], 1 - share) + np.outer(values[1:], share)
    away = np.abs(cells - lines).max(axis=1)
    assert (away > 0.2 * (bend(30) @ np.abs(np.diff(values, 2)))).any()


@given(seed=st.integers(0, 2**32), size=sizes)
def test_values_between_nodes_are_those_of_the_finer_grid(seed: int, size: int) -> None:
    values = np.random.default_rng(seed).normal(size=size)
    fine = refinement(size, FACTOR) @ values
    assert between(values, FACTOR).reshape(-1) == pytest.approx(fine[:-1], abs=1e-10)


def _cells(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    fine = refinement(len(values), FACTOR) @ values
    starts = FACTOR * np.arange(len(values) - 1)
    cells: np.ndarray[tuple[int, int], np.dtype[np.float64]] = fine[
        starts[:, np.newaxis] + np.arange(FACTOR + 1)
    ]
    return cells
