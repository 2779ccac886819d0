"""The study of prediction times: verdicts follow from the numbers."""

import json
from typing import Any

import pytest

from bandstand_lab.paper.prediction_time import STUDY, Accuracy
from bandstand_lab.paper.prediction_time import jobs as jobs_of
from bandstand_lab.report.jobs import execute
from bandstand_lab.report.study import Chapter, Plan, Verdict
from bandstand_lab.speed.prediction import KEPT, LABELS, MOMENTS, SAMPLED, SEARCHED, SOLVED
from tests.fixtures.lab.drawn_figures import assert_whole

PLAN = Plan(size="quick", seed=4)
SLOWER, SAMPLING, PRODCLIN, LARGE = range(4)


def planted(changes: dict[str, float] | None = None, *, error: float = 1e-12) -> dict[str, Any]:
    """Return results in which each contender takes some microseconds a song."""
    micro = {
        "random": 0.01,
        "linucb-c": 1.0,
        "linucb-cn": 1.1,
        "greedy-cn": 0.1,
        "bayes-ucb-cn": 40.0,
        SAMPLED: 50.0,
        SOLVED: 7.0,
        SEARCHED: 2.0,
        "bayes-ucb-cn-x": 20.0,
        KEPT: 0.8,
        MOMENTS: 0.9,
        **(changes or {}),
    }
    results: dict[str, Any] = {}
    for number, job in enumerate(STUDY.jobs(PLAN)):
        wobble = 1 + 0.01 * (number % 3)
        if job.key.startswith("time"):
            songs = job.arguments["songs"]
            results[job.key] = {
                name: 1e-6 * value * songs * wobble**place
                for place, (name, value) in enumerate(micro.items())
            }
        else:
            results[job.key] = {"solved": error, "sampled": 0.06, "same_song": number % 2 == 0}
    return results


def verdicts(results: dict[str, Any]) -> list[Verdict]:
    return [finding.verdict for finding in STUDY.chapter(PLAN, results).findings]


@pytest.fixture(scope="module")
def chapter() -> Chapter:
    return STUDY.chapter(PLAN, planted())


def test_times_as_the_paper_tells_them_make_every_claim_hold(chapter: Chapter) -> None:
    assert [finding.verdict for finding in chapter.findings] == [Verdict.HOLDS] * 4
    for finding in chapter.findings:
        assert any(character.isdigit() for character in finding.measured)
        assert "It holds if" in finding.why


@pytest.mark.parametrize(
    ("claim", "changes", "expected"),
    [
        (SLOWER, {"bayes-ucb-cn": 0.05, SAMPLED: 0.05}, Verdict.FAILS),
        (SLOWER, {"bayes-ucb-cn": 0.5}, Verdict.PARTLY),
        (SAMPLING, {MOMENTS: 40.0}, Verdict.FAILS),
        (PRODCLIN, {SOLVED: 40.0}, Verdict.PARTLY),
    ],
)
def test_planted_times_change_the_verdict(
    claim: int, changes: dict[str, float], expected: Verdict
) -> None:
    assert verdicts(planted(changes))[claim] == expected


def test_a_quantile_that_is_off_is_no_gain() -> None:
    assert verdicts(planted(error=0.01))[PRODCLIN] == Verdict.PARTLY
    assert verdicts(planted({SOLVED: 40.0}, error=0.01))[PRODCLIN] == Verdict.FAILS


def test_time_that_grows_faster_than_the_library_is_found() -> None:
    results = planted()
    for key, row in results.items():
        if key.startswith("time-10000"):
            row[SOLVED], row[SEARCHED] = 10 * row[SOLVED], 10 * row[SEARCHED]
    assert verdicts(results)[LARGE] == Verdict.FAILS


def test_the_accuracy_is_that_of_the_worst_and_the_mean_listener() -> None:
    listeners = [
        {"solved": 1e-9, "sampled": 3.0, "same_song": True},
        {"solved": 2e-9, "sampled": 4.0, "same_song": False},
    ]
    found = Accuracy.of(20, listeners)
    assert found == Accuracy(20, 2e-9, 12.5**0.5, 0.5)


def test_tables_are_whole(chapter: Chapter) -> None:
    assert_whole(chapter)
    times, errors = chapter.tables
    assert [row[0] for row in times.rows] == list(LABELS.values())
    assert [row[0] for row in errors.rows] == [20, 200]


def test_jobs_run_as_the_frame_runs_them() -> None:
    jobs = jobs_of(PLAN, columns=2)
    assert len({job.key for job in jobs}) == len(jobs)
    assert all(job.alone == job.key.startswith("time") for job in jobs)
    time = next(job for job in jobs if job.key.startswith("time"))
    small = {**time.arguments, "songs": 70, "ratings": 8}
    seconds = json.loads(execute((time.function, small))["text"])
    assert set(seconds) == {*LABELS, MOMENTS}
    assert min(seconds.values()) > 0
    exact = next(job for job in jobs if job.key.startswith("accuracy"))
    small = {**exact.arguments, "songs": 60, "ratings": 8, "checked": 2}
    assert "text" in execute((exact.function, small))
