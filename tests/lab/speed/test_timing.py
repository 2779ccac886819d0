"""Honest timing: pairs, turns, one thread."""

import gc
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand_lab.report.machine import one_thread
from bandstand_lab.speed import timing
from bandstand_lab.speed.timing import Spread, in_turn, paired_ratio

times = st.floats(1e-6, 1e3)


@given(st.lists(times, min_size=1, max_size=20))
def test_a_spread_is_in_order(runs: list[float]) -> None:
    spread = Spread(runs=tuple(runs))
    low, high = spread.quartiles
    assert min(runs) <= low <= spread.median <= high <= max(runs)


def test_a_spread_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one measurement, got none"):
        Spread(runs=())


@given(st.lists(st.tuples(times, times), min_size=1, max_size=15))
def test_a_ratio_is_the_median_over_pairs_not_a_ratio_of_medians(
    pairs: list[tuple[float, float]],
) -> None:
    above, below = zip(*pairs, strict=True)
    expected = np.median(np.array(above) / np.array(below))
    assert paired_ratio(above, below).median == pytest.approx(expected, rel=1e-12)


def test_times_of_different_turns_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="shorter"):
        paired_ratio([1.0, 2.0], [1.0])


@given(st.integers(1, 6), st.integers(0, 5))
def test_over_as_many_turns_as_there_are_names_each_is_first_once(count: int, start: int) -> None:
    names = [str(number) for number in range(count)]
    orders = [in_turn(names, turn) for turn in range(start, start + count)]
    assert sorted(order[0] for order in orders) == names
    assert all(sorted(order) == names for order in orders)


def test_a_short_task_is_repeated_and_a_long_one_is_not() -> None:
    calls: list[int] = []
    timing.timed_again(lambda: calls.append(1))
    assert len(calls) == 5
    calls.clear()

    def long() -> None:
        calls.append(1)
        start = os.times().user
        while os.times().user - start < 0.15:
            pass

    assert timing.timed_again(long).seconds >= 0.1
    assert len(calls) == 1


def test_the_garbage_collector_is_out_of_the_way_and_then_back() -> None:
    assert gc.isenabled()
    with timing.undisturbed():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_process_has_one_thread_whatever_was_set_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with one_thread():
        assert (os.environ["OMP_NUM_THREADS"], os.environ["MKL_NUM_THREADS"]) == ("1", "1")
    assert os.environ["OMP_NUM_THREADS"] == "8"
    assert "MKL_NUM_THREADS" not in os.environ
