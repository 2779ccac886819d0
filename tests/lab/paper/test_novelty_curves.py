"""Straight pieces on the novelty curve: closed forms against brute force."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.novelty import PAPER_BASIS, novelty
from bandstand.errors import InvalidInputError
from bandstand.types import Vector
from bandstand_lab.paper.novelty_curves import (
    RECOVERY_TIMES,
    STUDY,
    best_chords,
    gaps_between,
    measure_curves,
    widest_gap,
)
from bandstand_lab.report.study import Plan, Verdict
from tests.fixtures.lab.drawn_figures import assert_whole

PLAN = Plan(size="quick")


def looked_for(places: Vector, count: int = 20_001) -> float:
    """Return the largest gap by looking at many times."""
    at = np.concatenate([np.linspace(low, high, count) for low, high in pairwise(places)])
    return float((novelty(at, 1.0) - np.interp(at, places, novelty(places, 1.0))).max())


@given(start=st.floats(0, 20), length=st.floats(1e-6, 50))
def test_the_widest_gap_is_where_one_looks_for_it(start: float, length: float) -> None:
    found = looked_for(np.array([start, start + length]))
    assert widest_gap(start, length) == pytest.approx(found, rel=1e-6, abs=1e-14)


def test_the_series_meets_the_closed_form() -> None:
    assert widest_gap(0.0, 0.999e-3) == pytest.approx(widest_gap(0.0, 1.001e-3), rel=5e-3)


@given(end=st.floats(0.05, 60), pieces=st.integers(1, 7))
def test_the_best_pieces_all_have_the_same_gap(end: float, pieces: int) -> None:
    chords = best_chords(end, pieces)
    assert len(chords.places) == pieces + 1
    assert (chords.places[0], chords.places[-1]) == (0.0, end)
    gaps = gaps_between(chords.places, 1.0)
    assert gaps == pytest.approx(np.full(pieces, chords.largest_gap), rel=1e-6)


@given(
    end=st.floats(0.5, 30),
    inner=st.lists(st.floats(0.01, 0.99), min_size=3, max_size=3, unique=True),
)
def test_no_other_four_pieces_are_better(end: float, inner: list[float]) -> None:
    places = np.array([0.0, *(end * share for share in sorted(inner)), end])
    assert gaps_between(places, 1.0).max() >= best_chords(end, 4).largest_gap * (1 - 1e-9)


def test_the_papers_pieces_are_judged_where_one_looks_for_it() -> None:
    for recovery_time in RECOVERY_TIMES:
        places = PAPER_BASIS.nodes / recovery_time
        found = gaps_between(PAPER_BASIS.nodes, recovery_time)
        assert found[:-1].max() == pytest.approx(looked_for(places[:-1]), rel=1e-6)
        assert found[-1] == pytest.approx(looked_for(places[-2:]), rel=1e-4)


def test_a_song_that_recovers_at_once_leaves_no_gap_behind() -> None:
    with np.errstate(all="raise", under="ignore"):
        gaps = gaps_between(PAPER_BASIS.nodes, 1e-3)
    assert np.isfinite(gaps).all()
    assert gaps[-1] == 0


@pytest.mark.parametrize(("end", "pieces"), [(0.0, 4), (-1.0, 4), (float("inf"), 4), (1.0, 0)])
def test_pieces_of_nothing_are_refused(end: float, pieces: int) -> None:
    with pytest.raises(InvalidInputError, match="pieces of a length"):
        best_chords(end, pieces)


def test_the_job_makes_a_chapter() -> None:
    (job,) = STUDY.jobs(PLAN)
    chapter = STUDY.chapter(PLAN, {job.key: measure_curves(**job.arguments)})
    assert_whole(chapter)
    assert [finding.verdict for finding in chapter.findings] == [Verdict.HOLDS, Verdict.PARTLY]


def test_coarse_pieces_do_not_pass() -> None:
    """The planted error: a single piece in place of four must be seen."""
    (job,) = STUDY.jobs(PLAN)
    one = measure_curves(recovery_times=RECOVERY_TIMES, pieces=1)
    assert STUDY.chapter(PLAN, {job.key: one}).findings[0].verdict is Verdict.FAILS


def test_a_fast_recovery_alone_would_pass_everywhere() -> None:
    (job,) = STUDY.jobs(PLAN)
    fast = measure_curves(recovery_times=[300.0], pieces=4)
    found = STUDY.chapter(PLAN, {job.key: fast}).findings
    assert [finding.verdict for finding in found] == [Verdict.HOLDS, Verdict.HOLDS]
