from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from bandstand.algorithms.registry import ALGORITHMS
from bandstand.arrays import frozen
from bandstand.inference.engine import Summary
from bandstand.reports.learning_summary import progress_line, recovery_text, summary_lines
from bandstand.units import MONTH
from tests.reports.sessions import record_of


def test_the_summary_says_how_songs_were_liked_and_what_is_known() -> None:
    record = record_of(steps=60)
    head, ratings, recovery, liking = summary_lines(record)
    repeats = sum(glimpse.step.elapsed < MONTH for glimpse in record.glimpses)
    assert head == f"After 60 songs, {repeats} repeats among them:"
    last = record.glimpses[-50:]
    means = [
        np.mean([glimpse.step.rating for glimpse in last]),
        np.mean([glimpse.random.rating for glimpse in last]),
        np.mean([glimpse.step.best_expected_rating for glimpse in last]),
    ]
    assert re.findall(r"\d\.\d", ratings) == [f"{mean:.1f}" for mean in means]
    assert ratings.startswith("  mean of the last 50   Bandstand ")
    assert recovery.endswith(
        f"± {record.glimpses[-1].summary.recovery_time_sd:.0f} min, "
        f"truth {record.recovery_time:.0f}"
    )
    assert liking.startswith("  liking of 30 songs    learnt to ± ")


def test_the_columns_of_the_summary_are_aligned() -> None:
    _, *lines = summary_lines(record_of())
    assert {len(re.match(r"  \S.*?\s{2,}", line)[0]) for line in lines} == {24}  # type: ignore[index]


@pytest.mark.parametrize("algorithm", ["bayes-ucb-cn-x", "random"])
def test_the_summary_fits_a_terminal(algorithm: str) -> None:
    assert max(map(len, summary_lines(record_of(algorithm)))) <= 80


def test_what_was_not_learnt_is_said() -> None:
    _, _, recovery, liking = summary_lines(record_of("random"))
    assert "not learnt, truth" in recovery
    assert liking.endswith("not learnt")


def test_a_session_that_never_began_has_a_summary() -> None:
    assert summary_lines(replace(record_of(), glimpses=())) == ["Ended before the first song."]


def test_one_song_is_a_song() -> None:
    head, ratings, *_ = summary_lines(record_of(steps=1))
    assert head == "After 1 song, 0 repeats among them:"
    assert ratings.startswith("  mean of the last 1 ")


def test_songs_that_are_all_the_same_have_no_correlation() -> None:
    same = replace(record_of(), learnt_liking=frozen(np.full(30, 3.0)))
    assert summary_lines(same)[-1].endswith("the same for all")


def test_recovery_times_are_told_as_far_as_they_are_known() -> None:
    assert recovery_text(Summary()) == "not learnt"
    assert recovery_text(Summary(recovery_time_mean=412.3)) == "412 min"
    full = Summary(recovery_time_mean=5_412.3, recovery_time_sd=35.1)
    assert recovery_text(full) == "5,412 ± 35 min"


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"bayes-ucb-cn"}))
def test_progress_is_one_line(algorithm: str) -> None:
    line = progress_line(record_of(algorithm, steps=3).glimpses)
    assert line.startswith("  3 songs: the last 3 got ")
    assert "\n" not in line
