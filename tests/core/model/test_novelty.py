import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.novelty import novelty


@given(elapsed=st.floats(1e-12, 1e9), recovery_time=st.floats(1e-6, 1e12))
def test_every_digit_is_kept(elapsed: float, recovery_time: float) -> None:
    getcontext().prec = 60
    ratio = Decimal(elapsed) / Decimal(recovery_time)
    truth = 1 - (-ratio).exp()
    assert float(novelty(elapsed, recovery_time)) == pytest.approx(float(truth), rel=1e-12)


@given(elapsed=st.floats(0, 1e308), recovery_time=st.floats(0, 1e308))
def test_it_is_always_a_share(elapsed: float, recovery_time: float) -> None:
    with np.errstate(all="raise"):
        value = float(novelty(elapsed, recovery_time))
    assert 0 <= value <= 1


@pytest.mark.parametrize(
    ("elapsed", "recovery_time", "expected"),
    [(0.0, 0.0, 0.0), (0.0, 5.0, 0.0), (5.0, 0.0, 1.0), (math.inf, 5.0, 1.0), (5.0, 1e-300, 1.0)],
)
def test_the_limits_are_the_right_ones(
    elapsed: float, recovery_time: float, expected: float
) -> None:
    assert float(novelty(elapsed, recovery_time)) == expected


def test_the_two_arguments_broadcast() -> None:
    assert novelty(np.ones((3, 1)), np.ones(4)).shape == (3, 4)
