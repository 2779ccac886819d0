"""The test of whole mixtures: whatever reaches a value is never said to be below it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.domain import History
from bandstand.inference import span_look
from bandstand.inference.exact import Exact
from bandstand.inference.exact_outline import ExactView
from bandstand.inference.shortlist.anchor import Anchor
from bandstand.inference.span_look import COARSE, FINE, SpanLook
from bandstand.model.priors import radio_prior
from tests.inference.newcomers import LONGEST, Newcomer
from tests.inference.search_walks import Walk


def check(newcomer: Newcomer | None, level: float, share: float, spans: int) -> int:
    """Assert that every song which reaches a value may reach it; return how many others may."""
    if newcomer is None:
        return 0
    look, quantiles = SpanLook.of(newcomer.view(level), spans), newcomer.quantiles(level)
    assert look is not None
    value = float(np.quantile(quantiles, share))
    if value <= 0:
        return 0
    may = look.may_reach(newcomer.table, newcomer.rows, value)
    assert may[quantiles >= value].all()
    return int(may[quantiles < value].sum())


@given(
    seed=st.integers(0, 2**32),
    ratings=st.integers(2, 60),
    columns=st.integers(1, 30),
    tail=st.floats(0, 3),
    level=st.floats(0.55, 0.9999),
    planned=st.integers(0, 3),
    share=st.floats(0.2, 1.0),
    longest=st.sampled_from([LONGEST, 2_000.0, 150.0]),
    again=st.integers(0, 8),
    spans=st.sampled_from([1, 3, COARSE, FINE]),
)
def test_what_reaches_a_value_is_never_excluded(
    level: float, share: float, spans: int, **listener: Any
) -> None:
    check(Newcomer.drawn(**listener), level, share, spans)


def test_a_song_without_features_makes_no_noise() -> None:
    """Its scale is so small that in single precision its distance in scales is no number."""
    seed, tail = 1_920_339_762, 2.9347971415204372
    newcomer = Newcomer.drawn(seed, ratings=2, columns=17, tail=tail, longest=150.0, again=4)
    with np.errstate(all="raise", under="ignore"):
        check(newcomer, 0.9, 1.0, COARSE)


def check_some(spans: int = COARSE) -> None:
    for seed in range(24):
        longest = (150.0, LONGEST)[seed % 4 // 2]
        newcomer = Newcomer.drawn(seed, ratings=12, columns=16, longest=longest, again=6)
        check(newcomer, 0.9, 0.95, spans)


def test_what_is_above_a_value_is_never_more_than_said() -> None:
    for seed in range(20):
        newcomer = Newcomer.drawn(seed, ratings=10, columns=12, again=4)
        if newcomer is None:
            continue
        look = SpanLook.of(newcomer.view(0.9))
        assert look is not None
        value = max(float(np.median(newcomer.quantiles(0.9))), 0.1)
        # What a song has above its own quantile of a level is 1 − that level.
        above = look.above(newcomer.table, newcomer.rows, value)
        for level in (0.6, 0.8, 0.95):
            reached = newcomer.quantiles(level) >= value
            assert (above[reached] >= (1 - level) * (1 - 1e-4)).all()


def test_it_excludes_nearly_all_where_bounds_of_components_exclude_few() -> None:
    newcomer = Newcomer.drawn(5, ratings=12, columns=40, again=6)
    assert newcomer is not None
    quantiles, view = newcomer.quantiles(0.92), newcomer.view(0.92)
    best = float(quantiles.max())
    anchor = Anchor.of(view)
    bounds = anchor.unit * anchor.bounds(newcomer.table).astype(np.float64)
    others = check(newcomer, 0.92, 1.0, FINE)
    assert others < 0.25 * np.count_nonzero(bounds >= best)


def test_spans_at_their_nearer_end_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def nearer(self: SpanLook, products: Any, _: Any) -> Any:
        ends = products @ self._ends
        return np.minimum(ends[:, :-1], ends[:, 1:])

    monkeypatch.setattr(SpanLook, "_locations", nearer)
    with pytest.raises(AssertionError):
        check_some(spans=3)


def test_widths_that_are_too_small_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ExactView.widths_of_cells.func  # type: ignore[attr-defined]
    monkeypatch.setattr(ExactView, "widths_of_cells", property(lambda self: 0.8 * honest(self)))
    with pytest.raises(AssertionError):
        check_some()


def test_a_share_that_need_not_be_reached_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_look, "SHARE_ROUNDING", -0.3)
    with pytest.raises(AssertionError):
        check_some()


def test_there_is_none_below_the_median() -> None:
    newcomer = Newcomer.drawn(1, ratings=5, columns=6)
    assert newcomer is not None
    assert SpanLook.of(newcomer.view(0.3)) is None


def test_there_is_none_for_somebody_who_has_heard_much_again() -> None:
    rng = np.random.default_rng(1)
    history = History.of(
        features=rng.normal(size=(40, 4)),
        elapsed=rng.uniform(5, 5_000, size=40),
        ratings=rng.normal(size=40),
    )
    belief = Exact(prior=radio_prior(4)).fit(history)
    assert SpanLook.of(ExactView(belief, 0.9, LONGEST)) is None


@pytest.mark.parametrize("seed", range(60))
def test_choices_of_newcomers_are_those_of_brute_force(seed: int) -> None:
    assert Walk(seed=seed, songs=200, sizes=(12, 6)).run() > 0
