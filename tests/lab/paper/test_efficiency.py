"""The efficiency study: small jobs that really run, and the chapter made of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bandstand_lab.paper.efficiency import STUDY, EfficiencyStudy
from bandstand_lab.report.figures import new_figure, png, style
from bandstand_lab.report.jobs import execute
from bandstand_lab.report.study import Plan, Verdict
from bandstand_lab.speed.training import LABELS, METHODS

if TYPE_CHECKING:
    from bandstand_lab.report.study import Chapter

PLAN = Plan(size="quick", seed=5)


@pytest.fixture(scope="module")
def real() -> dict[str, Any]:
    """Return what a small job answers, run as the frame runs it."""
    job = EfficiencyStudy(columns=2).jobs(PLAN)[0]
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
            method: {**run, "seconds": run["seconds"] * size * (1 + 0.01 * (number % 3))}
            for method, run in real.items()
        }
    return found


@pytest.fixture(scope="module")
def chapter(results: dict[str, Any]) -> Chapter:
    return STUDY.chapter(PLAN, json.loads(json.dumps(results)))


def test_a_job_measures_every_method(real: dict[str, Any]) -> None:
    assert set(real) == set(METHODS)
    for method, run in real.items():
        assert run["seconds"] > 0
        assert (run["iterations"] is None) == (method in {"exact", "ridge"})


def test_the_jobs_have_names_of_their_own_and_run_alone() -> None:
    for plan in (PLAN, Plan(size="full")):
        jobs = STUDY.jobs(plan)
        assert len({job.key for job in jobs}) == len(jobs)
        assert all(job.alone for job in jobs)
    assert len(STUDY.jobs(PLAN)) < len(STUDY.jobs(Plan(size="full")))


def test_the_chapter_judges_every_claim_and_names_every_method(chapter: Chapter) -> None:
    assert len(chapter.findings) == 7
    # All times were made to grow like N.
    assert chapter.findings[0].verdict == Verdict.HOLDS
    assert chapter.findings[1].verdict == Verdict.HOLDS
    times = chapter.tables[0]
    assert [row[0] for row in times.rows] == [LABELS[method] for method in METHODS]
    for table in chapter.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_the_same_results_without_the_growth_change_the_verdict(results: dict[str, Any]) -> None:
    flat = {
        key: {
            method: {**run, "seconds": run["seconds"] / int(key.split("-")[1])}
            for method, run in row.items()
        }
        for key, row in results.items()
    }
    assert STUDY.chapter(PLAN, flat).findings[0].verdict != Verdict.HOLDS


def test_the_data_hold_every_run(chapter: Chapter) -> None:
    data = json.loads(json.dumps(chapter.data, allow_nan=False))
    assert len(data["training"]) == len(METHODS) * 5
    assert all(len(time["seconds"]["runs"]) == 3 for time in data["training"])
    assert {row["above"] for row in data["ratios"]} >= {"metropolis", "variational-3"}
    assert set(data["growth"]) == set(METHODS)


def test_the_figure_can_be_drawn_and_its_caption_says_what_is_seen(chapter: Chapter) -> None:
    (drawing,) = chapter.drawings
    with style():
        figure = new_figure(drawing.width, drawing.height)
        drawing.draw(figure)
        assert png(figure).startswith(b"\x89PNG")
    assert "fastest" in drawing.caption
    assert "2,000 ratings" in drawing.caption


def test_the_method_says_how_many_steps_of_the_sampler_were_run(chapter: Chapter) -> None:
    assert "5,000 steps, of which 1,000 were run" in chapter.method
