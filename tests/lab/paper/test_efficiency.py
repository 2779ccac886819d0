"""The efficiency study: verdicts follow from planted times, and small jobs make a chapter."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand._util.power_laws import Line
from bandstand_lab.paper.efficiency import (
    STUDY,
    efficiency_findings,
    jobs,
    line_through,
    linear_verdict,
)
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.jobs import execute
from bandstand_lab.report.study import Chapter, Finding, Plan, Verdict
from bandstand_lab.speed.timing import Estimate
from bandstand_lab.speed.training import METHODS, TrainingStudy
from tests.fixtures.lab.drawn_figures import assert_whole

SIZES = (100, 200, 400, 700, 1_000, 2_000, 3_000)
ROUNDS = 5

# Seconds with N ratings if all were as the paper says, and every method were a straight line.
AS_IN_THE_PAPER: Mapping[str, Callable[[int], float]] = {
    "metropolis": lambda n: 200 * (0.01 + 1e-4 * n),
    "mcmc": lambda n: 300 * (0.01 + 1e-4 * n),
    "variational": lambda n: 0.01 + 1e-4 * n,
    "exact": lambda n: 0.5 * (0.01 + 1e-4 * n),
    "least-squares": lambda n: 3 * (0.01 + 1e-4 * n),
    "least-squares-map": lambda n: 3 * (0.01 + 1e-4 * n),
    "least-squares-differences": lambda n: 30 * (0.01 + 1e-4 * n),
    "ridge": lambda n: 0.1 * (0.01 + 1e-4 * n),
}
LINEAR_MCMC, LINEAR, TIMES, DESCENT, SECONDS, LINUCB = range(6)


def planted(
    changes: Mapping[str, Callable[[int], float]] | None = None,
    *,
    sizes: tuple[int, ...] = SIZES,
    rounds: int = ROUNDS,
    noise: float = 0.01,
) -> TrainingStudy:
    """Return a study of times that follow formulas, up to a little noise."""
    rng = np.random.default_rng(3)
    formulas = {**AS_IN_THE_PAPER, **(changes or {})}
    runs = {
        (method, size): [
            formulas[method](size) * float(np.exp(noise * rng.standard_normal()))
            for _ in range(rounds)
        ]
        for method in METHODS
        for size in sizes
    }
    return TrainingStudy(runs=runs)


def verdicts(study: TrainingStudy) -> list[Verdict]:
    return [finding.verdict for finding in efficiency_findings(study)]


def test_times_as_in_the_paper_make_every_claim_hold() -> None:
    assert verdicts(planted()) == [Verdict.HOLDS] * 6


@pytest.mark.parametrize(
    ("claim", "changes", "expected"),
    [
        (LINEAR_MCMC, {"metropolis": lambda n: 1e-4 * n**1.5}, Verdict.FAILS),
        (LINEAR, {"variational": lambda n: 1e-6 * n**2}, Verdict.FAILS),
        # Many sweeps where there are few ratings, a straight line later.
        (LINEAR, {"variational": lambda n: 0.5 if n < 400 else 1e-4 * n}, Verdict.PARTLY),
        # A square root is nearly straight, yet slower than a line; with a fixed cost as well.
        (LINEAR, {"variational": lambda n: 1e-3 * n**0.5}, Verdict.PARTLY),
        (LINEAR_MCMC, {"metropolis": lambda n: 1.0 + 0.5 * n**0.5}, Verdict.PARTLY),
        (LINEAR, {"variational": lambda n: 1e-4 * n}, Verdict.HOLDS),
        # Waves, which fall on the whole, and times that are always the same.
        (LINEAR, {"variational": lambda n: 0.1 + 0.05 * np.cos(n)}, Verdict.FAILS),
        (LINEAR, {"variational": lambda _: 0.1}, Verdict.OPEN),
        (LINEAR, {"variational": lambda n: 10.0 / n}, Verdict.FAILS),
        (TIMES, {"metropolis": lambda n: 50 * (0.01 + 1e-4 * n)}, Verdict.PARTLY),
        (
            TIMES,
            {
                "metropolis": lambda n: 50 * (0.01 + 1e-4 * n),
                "mcmc": lambda n: 90 * (0.01 + 1e-4 * n),
            },
            Verdict.FAILS,
        ),
        (DESCENT, {"least-squares": lambda n: 0.2 * (0.01 + 1e-4 * n)}, Verdict.FAILS),
        (DESCENT, {"least-squares": lambda n: 0.02 + 1e-5 * n}, Verdict.PARTLY),
        (SECONDS, {"variational": lambda n: 0.01 * n}, Verdict.PARTLY),
        (SECONDS, {"variational": lambda n: 10.0 + n}, Verdict.FAILS),
        (LINUCB, {"exact": lambda n: 0.01 * (0.01 + 1e-4 * n)}, Verdict.PARTLY),
    ],
)
def test_planted_times_change_the_verdict(
    claim: int, changes: dict[str, Callable[[int], float]], expected: Verdict
) -> None:
    assert verdicts(planted(changes))[claim] == expected


def test_a_square_root_is_told_from_a_line_by_its_exponent() -> None:
    root = planted({"variational": lambda n: 1e-3 * n**0.5})
    line, exponent = line_through(root, "variational"), root.power("variational", 400)
    assert line is not None
    assert line.r_squared > 0.95  # what a share of the variance cannot tell
    assert exponent is not None
    assert exponent.below(1.0)


@pytest.mark.parametrize(
    ("interval", "r_squared", "verdict"),
    [
        ((0.9, 1.1), 0.99, Verdict.HOLDS),
        ((0.9, 1.1), 0.80, Verdict.PARTLY),
        ((0.6, 0.9), 0.99, Verdict.PARTLY),
        ((1.05, 1.4), 0.99, Verdict.PARTLY),
        ((1.2, 1.4), 0.99, Verdict.FAILS),
        ((0.4, 1.2), 0.99, Verdict.OPEN),
        ((0.8, 1.6), 0.99, Verdict.OPEN),
    ],
)
def test_linear_is_told_by_the_interval_of_the_exponent(
    interval: tuple[float, float], r_squared: float, verdict: Verdict
) -> None:
    low, high = interval
    line = Line(slope=1.0, intercept=0.0, r_squared=r_squared, slope_standard_error=None)
    assert linear_verdict(Estimate(value=low, low=low, high=high), line) is verdict
    assert linear_verdict(None, line) is Verdict.OPEN


def test_one_round_can_only_tell_what_needs_no_interval() -> None:
    found = verdicts(planted(rounds=1))
    assert found[SECONDS] == Verdict.HOLDS
    assert {found[claim] for claim in range(6) if claim != SECONDS} == {Verdict.OPEN}


def test_one_size_cannot_tell_of_growth() -> None:
    found = verdicts(planted(sizes=(1_000,)))
    assert found[LINEAR_MCMC] == found[LINEAR] == Verdict.OPEN
    assert found[TIMES] == Verdict.HOLDS


def test_only_large_histories_cannot_tell_of_small_ones() -> None:
    assert verdicts(planted(sizes=(2_000, 3_000)))[SECONDS] == Verdict.OPEN


def test_wide_intervals_leave_a_claim_open() -> None:
    study = planted({"least-squares": AS_IN_THE_PAPER["variational"]}, noise=0.5, rounds=3)
    assert verdicts(study)[DESCENT] in {Verdict.OPEN, Verdict.PARTLY, Verdict.FAILS}
    answers = [each.above(1.0) for each in study.ratios("least-squares", "variational").values()]
    assert None in answers


def test_every_finding_states_its_rule_and_its_numbers() -> None:
    for finding in efficiency_findings(planted()):
        assert isinstance(finding, Finding)
        assert any(character.isdigit() for character in finding.measured)
        assert any(word in finding.why for word in ("holds if", "Linear is", "Slightly is"))
        assert "  " not in finding.measured + finding.why + finding.paper


@given(st.floats(-1.0, 3.0))
def test_the_exponent_of_planted_times_is_within_its_interval(exponent: float) -> None:
    study = planted({"exact": lambda n: 1e-3 * n**exponent}, noise=1e-6)
    estimate = study.exponent("exact")
    assert estimate is not None
    assert estimate.value == pytest.approx(exponent, abs=1e-5)
    assert estimate.low is not None
    assert estimate.low < estimate.value


# ── The chapter ──────────────────────────────────────────────────────────────────────────

PLAN = Plan(size="quick", seed=5)


@pytest.fixture(scope="module")
def real() -> dict[str, Any]:
    """Return what a small job answers, run as the frame runs it."""
    job = jobs(PLAN, columns=2)[0]
    answer = execute((job.function, {**job.arguments, "ratings": 20, "sampler_steps": 10}))
    measured: dict[str, Any] = json.loads(answer["text"])
    return measured


@pytest.fixture(scope="module")
def results(real: dict[str, Any]) -> dict[str, Any]:
    """Return results of the size of the real ones, most of them copies of one real run."""
    found = {}
    for number, job in enumerate(STUDY.jobs(PLAN)):
        size = job.arguments["ratings"]
        found[job.key] = {
            method: seconds * size * (1 + 0.01 * (number % 3)) for method, seconds in real.items()
        }
    return found


@pytest.fixture(scope="module")
def chapter(results: dict[str, Any]) -> Chapter:
    return STUDY.chapter(PLAN, json.loads(json.dumps(results)))


def test_a_job_measures_every_method(real: dict[str, Any]) -> None:
    assert set(real) == set(METHODS)
    assert min(real.values()) > 0


def test_the_jobs_have_names_of_their_own_and_run_alone() -> None:
    for plan in (PLAN, Plan(size="full")):
        all_jobs = jobs(plan)
        assert len({job.key for job in all_jobs}) == len(all_jobs)
        assert all(job.alone for job in all_jobs)
    assert len(STUDY.jobs(PLAN)) < len(STUDY.jobs(Plan(size="full")))


def test_the_chapter_judges_every_claim_and_names_every_method(chapter: Chapter) -> None:
    assert len(chapter.findings) == 6
    # All times were made to grow like N.
    assert chapter.findings[0].verdict == Verdict.HOLDS
    assert chapter.findings[1].verdict == Verdict.HOLDS
    times = chapter.tables[0]
    assert [row[0] for row in times.rows] == [look_of(method).label for method in METHODS]


def test_the_same_results_without_the_growth_change_the_verdict(results: dict[str, Any]) -> None:
    flat = {
        key: {method: seconds / int(key.split("-")[1]) for method, seconds in row.items()}
        for key, row in results.items()
    }
    assert STUDY.chapter(PLAN, flat).findings[0].verdict != Verdict.HOLDS


def test_the_chapter_is_whole_and_its_caption_says_what_is_seen(chapter: Chapter) -> None:
    assert_whole(chapter)
    (drawing,) = chapter.drawings
    assert "fastest" in drawing.caption
    assert "2,000 ratings" in drawing.caption


def test_the_method_says_how_many_steps_of_the_sampler_were_run(chapter: Chapter) -> None:
    assert "5,000 steps, of which 1,000 were run" in chapter.method
