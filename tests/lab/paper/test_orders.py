"""Orders: the verdict follows from the numbers by the stated rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand_lab.paper import orders
from bandstand_lab.report.study import Verdict

LISTENERS = 20


def pair(shift: float, *, place: str = "here", spread: float = 1.0, seed: int = 1) -> orders.Pair:
    """Return regrets whose difference has a mean of exactly `shift`."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(LISTENERS)
    noise = spread * (noise - noise.mean()) / noise.std(ddof=1)
    upper = 100 + 10 * rng.standard_normal(LISTENERS)
    return orders.Pair(place=place, lower=upper + shift + noise, upper=upper)


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
    assert orders.verdict(orders.cells(pair(shift) for shift in shifts)) is verdict


def test_what_listeners_have_in_common_does_not_hide_a_difference() -> None:
    (cell,) = orders.cells([pair(-1.0)])
    assert cell.confirmed
    assert cell.upper_mean - cell.lower_mean == pytest.approx(1.0)


@given(st.integers(2, 30))
def test_more_places_never_make_a_p_value_smaller(count: int) -> None:
    alone = orders.cells([pair(-0.6)])[0]
    among = orders.cells([pair(-0.6, seed=seed) for seed in range(1, count + 1)])[0]
    assert among.corrected >= alone.corrected
    assert among.difference.p_value == pytest.approx(alone.difference.p_value)


def test_the_words_name_the_places_where_it_is_not_so() -> None:
    found = orders.cells(
        [pair(-CLEAR, place="a"), pair(CLEAR, place="b"), pair(UNCLEAR, place="c")]
    )
    words = orders.in_words(found, lower="ours", upper="theirs")
    assert "ours has 95 to 105 % of the regret of theirs" in words
    assert "significantly less in 1 of 3 places (p < 0.0001)" in words
    assert "significantly more in b" in words
    assert "not clear in c" in words


def test_many_places_are_counted_and_not_named() -> None:
    unclear = [pair(UNCLEAR, place=f"place {number}") for number in range(4)]
    words = orders.in_words(orders.cells([pair(-CLEAR), *unclear]), lower="a", upper="b")
    assert words.endswith("; not clear in 4 of them (see the table).")
    words = orders.in_words(orders.cells(unclear), lower="a", upper="b")
    assert words.endswith("; clear nowhere, in none of 4 places.")


def test_numbers_are_kept_for_whoever_wants_to_check() -> None:
    (cell,) = orders.cells([pair(-CLEAR)])
    kept = cell.as_json()
    low, high = kept["difference_interval_95"]
    assert low < kept["difference"] < high < 0
