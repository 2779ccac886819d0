import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.interpolation import refinement, stencil


@given(size=st.integers(12, 40), factor=st.integers(1, 16), degree=st.integers(0, 11))
def test_polynomials_up_to_degree_eleven_are_exact(size: int, factor: int, degree: int) -> None:
    places = np.arange(factor * (size - 1) + 1) / factor
    old = (np.arange(size) / size - 0.5) ** degree
    new = (places / size - 0.5) ** degree
    assert refinement(size, factor) @ old == pytest.approx(new, abs=1e-9)


@given(size=st.integers(8, 33), factor=st.integers(1, 8))
def test_old_nodes_keep_their_values(size: int, factor: int) -> None:
    values = np.random.default_rng(size).normal(size=size)
    assert (refinement(size, factor) @ values)[::factor] == pytest.approx(values, abs=1e-13)


@given(size=st.integers(8, 33), share=st.floats(0, 1))
def test_shares_sum_to_one_and_stay_on_the_grid(size: int, share: float) -> None:
    start, shares = stencil(size, share * (size - 1))
    assert shares.sum() == pytest.approx(1.0)
    assert 0 <= start <= size - len(shares)
