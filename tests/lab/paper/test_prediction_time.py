"""Prediction time: both ways to a quantile agree, and verdicts follow from the numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.model import product_normal
from bandstand_lab.paper.prediction_time import STUDY
from bandstand_lab.paper.prediction_time.contenders import (
    KEPT,
    LABELS,
    MOMENTS,
    SAMPLED,
    SEARCHED,
    SOLVED,
    contenders,
    scene_of,
)
from bandstand_lab.paper.prediction_time.measuring import accuracy
from bandstand_lab.paper.prediction_time.quantiles import (
    monte_carlo_quantile,
    quadrature_quantile,
)
from bandstand_lab.paper.prediction_time.results import accuracy_of
from bandstand_lab.paper.prediction_time.study import PredictionTimeStudy
from bandstand_lab.report.figures import new_figure, png, style
from bandstand_lab.report.jobs import execute
from bandstand_lab.report.study import Plan, Verdict

if TYPE_CHECKING:
    from bandstand_lab.report.study import Chapter

PLAN = Plan(size="quick", seed=4)
# A right Monte Carlo quantile is further off than the test allows about once in a million seeds.
FAILURE_RATE: Final = 1e-6
SLOWER, SAMPLING, PRODCLIN, LARGE = range(4)


# ── Quantiles ────────────────────────────────────────────────────────────────────────────


@settings(max_examples=40)
@given(
    st.floats(0.02, 0.998),
    st.floats(-50.0, 50.0),
    st.floats(0.1, 2.0),
    st.floats(-3.0, 3.0),
    st.floats(0.1, 2.0),
)
def test_quadrature_and_the_package_agree(
    level: float, mean_x: float, deviation_x: float, mean_y: float, deviation_y: float
) -> None:
    value = float(product_normal.quantile(level, mean_x, deviation_x, mean_y, deviation_y))
    spread = float(product_normal.standard_deviation(mean_x, deviation_x, mean_y, deviation_y))
    found = quadrature_quantile(level, (mean_x, mean_y), (deviation_x, deviation_y), value)
    assert found == pytest.approx(value, abs=1e-8 * spread)


def test_quadrature_does_not_miss_the_step_of_a_narrow_factor() -> None:
    # 75.3 ± 0.4 hardly changes its sign or size; over the other factor it is a step.
    means, deviations = (-0.18, 75.3), (0.12, 0.38)
    value = float(product_normal.quantile(0.95, means[0], deviations[0], means[1], deviations[1]))
    found = quadrature_quantile(0.95, means, deviations, value)
    assert found == pytest.approx(value, abs=1e-9)
    turned = quadrature_quantile(0.95, means[::-1], deviations[::-1], value)
    assert turned == pytest.approx(found, abs=1e-9)


def test_quadrature_finds_its_way_from_a_wrong_start() -> None:
    right = quadrature_quantile(0.9, (1.0, 2.0), (0.5, 0.3), 2.9)
    assert quadrature_quantile(0.9, (1.0, 2.0), (0.5, 0.3), -5.0) == pytest.approx(right, abs=1e-9)


def _share_below(level: float, *, planted: float) -> float:
    """Return the probability below a Monte Carlo quantile, moved by `planted`: 40,000 draws."""
    means, deviations = np.array([[1.5], [0.8]]), np.array([[0.7], [0.2]])
    found = monte_carlo_quantile(level, means, deviations, 40_000, np.random.default_rng(2))
    return float(product_normal.cdf(found[0] + planted, 1.5, 0.7, 0.8, 0.2))


def test_monte_carlo_has_the_level_that_it_was_asked_for() -> None:
    # 4.9 standard errors of a binomial share: FAILURE_RATE, two-sided.
    margin = 4.9 * np.sqrt(0.95 * 0.05 / 40_000)
    assert abs(_share_below(0.95, planted=0.0) - 0.95) < margin


def test_a_planted_shift_of_the_quantile_is_found() -> None:
    margin = 4.9 * np.sqrt(0.95 * 0.05 / 40_000)
    assert abs(_share_below(0.95, planted=0.15) - 0.95) > margin


def test_monte_carlo_takes_songs_in_portions_that_do_not_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    means, deviations = np.array([[1.0] * 7, [2.0] * 7]), np.zeros((2, 7))
    monkeypatch.setattr("bandstand_lab.paper.prediction_time.quantiles._TABLE", 20)
    found = monte_carlo_quantile(0.5, means, deviations, 10, np.random.default_rng(1))
    assert found.tolist() == [2.0] * 7


# ── Measuring ────────────────────────────────────────────────────────────────────────────


def test_all_ways_to_the_same_quantile_choose_the_same_song() -> None:
    whole = scene_of(songs=80, ratings=30, columns=3, seed=2, turn=0)
    ready = contenders(replace(whole, effective_draws=100))
    assert set(ready) == {*LABELS, MOMENTS}
    assert ready[SOLVED]() == ready[SEARCHED]()
    last = [ready[KEPT]() for _ in range(6)][-1]
    assert last == ready["bayes-ucb-cn-x"]()
    assert all(0 <= choose() < 80 for choose in ready.values())


def test_songs_that_were_rated_were_heard_lately_and_the_others_never() -> None:
    scene = scene_of(songs=100, ratings=30, columns=3, seed=2, turn=1)
    assert (scene.songs.elapsed < 43_200).sum() == 30
    assert scene.step == 31
    assert scene.level == pytest.approx(1 - 1 / 31)


def test_more_draws_are_nearer_and_the_solved_quantile_is_right() -> None:
    found = accuracy(songs=60, ratings=15, turn=0, seed=3, columns=2, draws=[50, 5_000], checked=5)
    few, many = found["sampled"]
    assert many["error"] < few["error"] / 5
    assert found["solved"]["largest_error"] < 1e-9
    assert few["loss"] >= 0
    assert many["same_song"] or many["loss"] > 0


# ── The chapter ──────────────────────────────────────────────────────────────────────────


def planted(changes: dict[str, float] | None = None, *, error: float = 1e-12) -> dict[str, Any]:
    """Return results in which each contender takes so many microseconds a song."""
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
            results[job.key] = {
                "level": 0.95,
                "solved": {"seconds": 0.004, "largest_error": error},
                "sampled": [
                    {
                        "draws": draws,
                        "seconds": 3e-5 * draws * wobble,
                        "error": 2 / draws**0.5,
                        "same_song": draws >= 1_000,
                        "loss": 0.0 if draws >= 1_000 else 0.2,
                    }
                    for draws in job.arguments["draws"]
                ],
            }
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


def test_accuracy_falls_as_the_root_of_the_draws() -> None:
    results = [job for key, job in planted().items() if key.startswith("accuracy-20-")]
    found = accuracy_of(20, results)
    assert found.draws_for(0.002) == pytest.approx(1e6)
    # 0.004 s are 133 draws, by the median wobble of 1 %.
    assert found.error_in_the_same_time() == pytest.approx(2 / (4_000 / 30.3) ** 0.5, rel=0.02)
    assert [one.same_song for one in found.sampled] == [0.0, 1.0, 1.0]


def test_tables_and_data_are_whole(chapter: Chapter) -> None:
    times, errors = chapter.tables
    assert [row[0] for row in times.rows] == list(LABELS.values())
    assert len(errors.rows) == 8
    for table in chapter.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    data = json.loads(json.dumps(chapter.data, allow_nan=False))
    assert set(data["seconds"]) == {"1000", "10000"}
    assert len(data["accuracy"]["200"]) == 5


def test_the_figures_can_be_drawn(chapter: Chapter) -> None:
    for drawing in chapter.drawings:
        with style():
            figure = new_figure(drawing.width, drawing.height)
            drawing.draw(figure)
            assert png(figure).startswith(b"\x89PNG")
        assert drawing.caption.endswith(".")


def test_jobs_run_as_the_frame_runs_them() -> None:
    jobs = PredictionTimeStudy(columns=2).jobs(PLAN)
    assert len({job.key for job in jobs}) == len(jobs)
    assert all(job.alone for job in jobs)
    time = next(job for job in jobs if job.key.startswith("time"))
    small = {**time.arguments, "songs": 70, "ratings": 8}
    seconds = json.loads(execute((time.function, small))["text"])
    assert set(seconds) == {*LABELS, MOMENTS}
    assert min(seconds.values()) > 0
    exact = next(job for job in jobs if job.key.startswith("accuracy"))
    small = {**exact.arguments, "songs": 60, "ratings": 8, "draws": [10], "checked": 2}
    assert "text" in execute((exact.function, small))
