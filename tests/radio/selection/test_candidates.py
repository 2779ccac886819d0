"""What few rows tell of all: whether anything is left, what stands for it, one drawn of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.candidates import CandidateSet
from bandstand.radio.selection import candidates
from bandstand.radio.selection.candidates import SAMPLE, distinct, drawn, is_any, sample

# Of so many draws, a song that is as likely as any other misses its share by more than this.
FAILURE_RATE = 1e-6


@st.composite
def some_allowed(draw: st.DrawFn) -> CandidateSet:
    """Return what is left of up to 6,000 songs by a mask or a list, rows left out, and a test."""
    count = draw(st.sampled_from([0, 1, 7, 255, 256, 300, 2_500, 6_000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    part = draw(st.sampled_from([0.0, 0.001, 0.5, 1.0]))
    some = {
        "everything": CandidateSet.everything(count),
        "marked": CandidateSet.marked(rng.random(count) < part),
        "only": CandidateSet.only(np.flatnonzero(rng.random(count) < part), count),
    }[draw(st.sampled_from(["everything", "marked", "only"]))]
    if draw(st.booleans()) and count:
        some = some.without(rng.integers(0, count, 5))
    if draw(st.booleans()):
        modulus = draw(st.sampled_from([2, 3, 1_000]))
        some = some.where(lambda rows: rows % modulus == 1)
    return some


@given(some=some_allowed())
def test_few_rows_tell_what_all_of_them_do(some: CandidateSet) -> None:
    rows = some.rows()
    assert is_any(some) == bool(len(rows))
    assert np.concatenate([[-1], *candidates.blocks(some)]).tolist() == [-1, *rows.tolist()]
    codes = np.arange(some.count, dtype=np.int32) // 3 - 1
    found = distinct(codes, some, enough=50)
    known = len(set(codes[rows].tolist()) - {-1})
    assert found == known or min(found, known) >= 50


@given(some=some_allowed(), most=st.sampled_from([1, 10, SAMPLE]))
def test_a_sample_is_all_of_a_few_and_some_of_many(some: CandidateSet, most: int) -> None:
    rows, found = some.rows(), sample(some, most)
    assert set(found.tolist()) <= set(rows.tolist())
    assert sorted(set(found.tolist())) == found.tolist()
    assert len(found) <= most or len(found) == len(rows)
    assert bool(len(found)) == bool(len(rows))
    assert found.tolist() == sample(some, most).tolist()
    if some.upper_count <= most:
        assert found.tolist() == rows.tolist()


def test_a_sample_of_many_is_spread_over_all_of_them() -> None:
    found = sample(CandidateSet.everything(100_000))
    assert len(found) == SAMPLE
    assert np.diff(found).max() < 100
    banned = np.zeros(100_000, dtype=np.bool_)
    banned[40_000:40_003] = True  # hardly anything is left, and it is found
    assert sample(CandidateSet.marked(banned)).tolist() == [40_000, 40_001, 40_002]


@given(some=some_allowed(), seed=st.integers(0, 2**16))
def test_what_is_drawn_may_be_played(some: CandidateSet, seed: int) -> None:
    if not is_any(some):
        return
    row = drawn(some, np.random.default_rng(seed))
    assert some.contains(np.array([row]))[0]
    assert row == drawn(some, np.random.default_rng(seed))


def part_drawn_below(half: int, draws: int, some: CandidateSet) -> float:
    rng = np.random.default_rng(3)
    return float(np.mean([drawn(some, rng) < half for _ in range(draws)]))


def test_every_song_is_as_likely_as_any_other() -> None:
    """Some are kept away, so that those before and after the middle differ in number."""
    draws, count = 4_000, 5_000
    some = CandidateSet.everything(count).where(lambda rows: (rows >= 2_500) | (rows % 4 == 0))
    expected = (some.rows() < 2_500).mean()
    # Hoeffding: the chance to be further off than this is the failure rate.
    off = np.sqrt(np.log(2 / FAILURE_RATE) / (2 * draws))
    assert part_drawn_below(2_500, draws, some) == pytest.approx(expected, abs=off)
    with pytest.raises(AssertionError):  # half of them would be noticed
        assert part_drawn_below(2_500, draws, some) == pytest.approx(0.5, abs=off)
