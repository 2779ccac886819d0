"""Every promise is judged by its rule, and what spoils the evidence spoils the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.scale.asked import asked_lines, memory_limit
from tests.benchmarks.scale.invented_run import (
    a_change,
    a_cold_size,
    a_memory,
    a_playlist,
    a_rate,
    a_step,
    a_verdict,
    invented_parts,
    some_cases,
)


@pytest.fixture
def parts() -> dict[str, Any]:
    """Parts of a run in which every promise holds."""
    return invented_parts()


def test_every_line_of_the_issue_is_judged(parts: dict[str, Any]) -> None:
    lines = asked_lines(parts)
    assert len(lines) == 19
    assert all(line.holds for line in lines)
    assert asked_lines({}) == []


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("step", {"situations": [a_step(), a_step(slower_than_5_streams=2)]}),
        ("step", {"situations": [a_step(), a_step(brute_force={"checked": 3, "agreed": 2})]}),
        ("step", {"situations": [a_step(), a_step(brute_force={"checked": 0, "agreed": 0})]}),
        ("small", {"situations": [a_step(brute_force={"checked": 3, "agreed": 2})]}),
        ("serving", {"verdict": a_verdict(wrong=1)}),
        ("serving", {"verdict": a_verdict(behind=1)}),
        ("serving", {"verdict": a_verdict(missing=1)}),
        ("serving", {"verdict": a_verdict(checked=9)}),
        ("serving", {"verdict": a_verdict(checked=0, intended=0)}),
        ("serving", {"verdict": a_verdict(by_force=0)}),
        ("serving", {"first_turns": {**a_rate(0.0, 99.0), "errors": {"500": 900}}}),
        ("serving", {"rates": [{**a_rate(40.0, 70.0, is_held=False), "errors": {"503": 1}}]}),
        ("serving", {"highest_rate_held": 0.0, "p99_ms_there": None, "turns_there": 0}),
        ("changing", a_change(offered_though_gone=1)),
        ("changing", a_change(offered_before=4)),
        ("changing", a_change(new_on_shelf=49)),
        ("changing", a_change(changes=0, offered_before=0)),
        ("scan", {"times_as_fast_median": 1.6}),
        ("memory", a_memory(1_000_000, 800_000_000)),
        ("correctness", {"exact": some_cases(wrong=1)}),
        ("correctness", {"variational": some_cases(without_a_pass=0)}),
    ],
)
def test_what_is_not_kept_is_said_to_miss(
    part: str, change: dict[str, Any], parts: dict[str, Any]
) -> None:
    before = [line.holds for line in asked_lines({part: parts[part]})]
    assert all(before)
    changed = asked_lines({part: {**parts[part], **change}})
    assert not all(line.holds for line in changed)


def test_a_cold_belief_is_told_with_its_songs_and_apart_from_the_first_choice(
    parts: dict[str, Any],
) -> None:
    lines = asked_lines({"cold": parts["cold"]})
    assert [line.what for line in lines[:2]] == [
        "cold belief, 1,000 ratings, 10,000 songs, from snapshot + tail",
        "cold belief, 1,000 ratings, 1,000,000 songs, from snapshot + tail",
    ]
    assert lines[1].measured == "60.0 ms, then 200 for the first choice; `next` 310 in all"
    parts["cold"]["sizes"][1] = a_cold_size(1_000_000, 0.101)
    assert [line.holds for line in asked_lines({"cold": parts["cold"]})] == [
        True,
        False,
        True,
        True,
    ]


def test_errors_of_any_load_are_told_and_cost_both_lines(parts: dict[str, Any]) -> None:
    parts["serving"]["first_turns"]["errors"] = {"500": 3, "TimeoutError": 2}
    lines = asked_lines({"serving": parts["serving"]})
    assert [line.holds for line in lines] == [False, False]
    assert all("5 errors" in line.measured for line in lines)


def test_how_many_turns_a_p99_comes_from_is_told(parts: dict[str, Any]) -> None:
    (_, p99) = asked_lines({"serving": parts["serving"]})
    assert p99.measured == "120 ms at 30 turns/s, of 1,000 turns"


@pytest.mark.parametrize(
    ("medians", "words", "holds"),
    [
        ((0.010, 0.012, 0.015), "flat", True),
        ((0.010, 0.012, 0.016), "not flat, rises", False),
        ((0.046, 0.0034, 0.0029), "not flat, falls", False),
        ((0.010, 0.030, 0.010), "not flat, rises and falls", False),
    ],
)
def test_what_is_not_flat_as_answers_come_is_said_to_be_so(
    parts: dict[str, Any],
    medians: tuple[float, ...],
    words: str,
    holds: bool,  # noqa: FBT001  (a value of the table above)
) -> None:
    steps = [a_step(ratings=10**place) for place in range(2, 5)]
    for one, median in zip(steps, medians, strict=True):
        one["seconds"] = {**one["seconds"], "step": {"median": median}}
    parts["growth"]["ratings"] = steps
    (line,) = (one for one in asked_lines(parts) if one.what.startswith("growth with ratings"))
    assert line.holds is holds
    assert line.measured.endswith(f" ms: {words}")


def test_the_limit_of_memory_is_half_more_than_the_matrix_and_200_megabytes() -> None:
    assert memory_limit(364_000_000) == 746_000_000


def test_playlists_are_told_beside_three_things_and_judged_by_the_worst(
    parts: dict[str, Any],
) -> None:
    (line,) = asked_lines({"playlist": parts["playlist"]})
    assert line.what == "playlist of 50, 1,000 songs, worst of 3"
    assert line.measured == ("4.00 × (2.00 × one that reads all, 3.00 × stream); median 2.00 ×")
    for bad in (a_playlist(5.1), a_playlist(1.0, different_songs=[50, 1, 50])):
        parts["playlist"]["situations"][1] = bad
        (line,) = asked_lines({"playlist": parts["playlist"]})
        assert not line.holds
