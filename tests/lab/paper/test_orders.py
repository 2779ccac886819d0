"""Ordering tests: the verdict follows from the numbers by the stated rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.types import Vector
from bandstand_lab.paper import _orders
from bandstand_lab.report.study import Verdict

LISTENERS = 20


def pair(shift: float, *, place: str = "here", seed: int = 1) -> tuple[str, Vector, Vector]:
    """Return regrets whose difference has a mean of exactly `shift`."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(LISTENERS)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    upper = 100 + 10 * rng.standard_normal(LISTENERS)
    return place, upper + shift + noise, upper


CLEAR, UNCLEAR = 5.0, 0.05


@pytest.mark.parametrize(
    ("shifts", "verdict"),
    [
        ([-CLEAR, -CLEAR], Verdict.HOLDS),
        ([-CLEAR, -UNCLEAR], Verdict.PARTLY),
        ([-CLEAR, CLEAR], Verdict.PARTLY),
        ([-UNCLEAR, -UNCLEAR], Verdict.OPEN),
        ([CLEAR, CLEAR], Verdict.FAILS),
        ([CLEAR, -UNCLEAR], Verdict.FAILS),
        ([UNCLEAR, -UNCLEAR], Verdict.OPEN),
        ([UNCLEAR, UNCLEAR], Verdict.OPEN),
        ([], Verdict.OPEN),
    ],
)
def test_the_verdict_follows_from_the_places(shifts: list[float], verdict: Verdict) -> None:
    assert _orders.verdict(_orders.orders(pair(shift) for shift in shifts)) is verdict


def test_what_listeners_have_in_common_does_not_hide_a_difference() -> None:
    (order,) = _orders.orders([pair(-1.0)])
    assert order.answer
    assert order.upper_mean - order.lower_mean == pytest.approx(1.0)


@given(st.integers(2, 30))
def test_more_places_never_make_a_p_value_smaller(count: int) -> None:
    alone = _orders.orders([pair(-0.6)])[0]
    among = _orders.orders([pair(-0.6, seed=seed) for seed in range(1, count + 1)])[0]
    assert among.corrected >= alone.corrected
    assert among.difference.p_value == pytest.approx(alone.difference.p_value)


def test_the_words_count_the_tests_and_name_the_place_with_the_largest_share() -> None:
    found = _orders.orders(
        [pair(-CLEAR, place="a"), pair(CLEAR, place="b"), pair(UNCLEAR, place="c")]
    )
    words = _orders.in_words(found)
    assert words.startswith("95 % to 105 % of its regret (most: b)")
    assert words.endswith("significantly less in 1 of 3 tests, more in 1")
