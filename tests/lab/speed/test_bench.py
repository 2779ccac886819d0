"""The benchmark measures what it says, side by side; how fast anything is, is no test."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bandstand.domain import History
from bandstand.errors import InvalidInputError
from bandstand.inference.ridge import Ridge
from bandstand_lab.speed import bench
from bandstand_lab.speed import plot as bench_plot
from bandstand_lab.speed.asked import Figure, asked_figures
from bandstand_lab.speed.bench import (
    BenchRequest,
    BenchResult,
    count_of_runs,
    measure,
    quick_request,
)
from bandstand_lab.speed.import_time import unwanted_among
from bandstand_lab.speed.linucb_reference import PlainLinUcb, RankOneLinUcb
from bandstand_lab.speed.online_step import StepPlan, measure_random
from bandstand_lab.speed.step_times import CONTENDERS
from bandstand_lab.speed.table import print_tables
from bandstand_lab.speed.timing import Spread
from bandstand_lab.speed.training import METHODS, TrainingStudy, TrainingTime
from bandstand_lab.speed.world import PAPER, STARS

if TYPE_CHECKING:
    from pathlib import Path

SMALL = BenchRequest(
    sizes=(20, 40),
    repeats=2,
    features=4,
    songs=120,
    step_ratings=(6, 15),
    step_ratings_stars=(8,),
    steps=4,
    checks=2,
    imports=1,
    sampler_steps=50,
)


@pytest.fixture(scope="module")
def heard() -> list[str]:
    """Return the list that `result` fills: every part as it began."""
    return []


@pytest.fixture(scope="module")
def result(heard: list[str]) -> BenchResult:
    return measure(SMALL, heard.append)


@pytest.fixture(scope="module")
def document(result: BenchResult) -> dict[str, Any]:
    text = json.dumps(result.as_json(), allow_nan=False)
    parsed: dict[str, Any] = json.loads(text)
    return parsed


# ── The references and the worlds ────────────────────────────────────────────────────────


def test_both_plain_forms_of_linucb_are_the_ridge_regression_of_the_package() -> None:
    rng = np.random.default_rng(5)
    catalogue, ratings = rng.standard_normal((60, 4)), rng.standard_normal(9)
    history = History.of(features=catalogue[:8], elapsed=0.0, ratings=ratings[:8])
    longer = history.append(features=catalogue[8], elapsed=0.0, rating=ratings[8])
    engine = Ridge(regularisation=1.0)
    belief = engine.fit(longer)
    scores = catalogue @ belief.coefficients + np.sqrt(
        np.einsum("sp,pq,sq->s", catalogue, belief.covariance(), catalogue)
    )
    for kind in (PlainLinUcb, RankOneLinUcb):
        linucb = kind(catalogue, history)
        linucb.absorb(catalogue[8], float(ratings[8]))
        assert linucb.covariance == pytest.approx(belief.covariance(), rel=1e-9)
        assert linucb.choose() == int(np.argmax(scores))


def test_half_of_the_songs_of_a_world_are_new_and_the_others_were_heard_lately() -> None:
    for world in (PAPER, STARS):
        history = world.history(400, 5, np.random.default_rng(2))
        new = history.elapsed == 43_200
        assert 150 < new.sum() < 250
        assert history.elapsed[~new].min() >= 1
        assert history.elapsed[~new].max() <= 3_000
    assert set(history.ratings) <= {1.0, 2.0, 3.0, 4.0, 5.0}


# ── The whole measurement ────────────────────────────────────────────────────────────────


def test_every_method_is_measured_at_every_size_in_every_round(result: BenchResult) -> None:
    assert {(time.method, time.ratings) for time in result.training.times} == {
        (method, size) for method in METHODS for size in SMALL.sizes
    }
    for time in (*result.training.times, *result.training_stars.times):
        assert len(time.seconds.runs) == SMALL.repeats
        assert time.seconds.minimum > 0


def test_a_reference_of_fewer_steps_is_scaled_and_says_so(document: dict[str, Any]) -> None:
    for row in document["training"]:
        if row["method"] == "metropolis":
            assert (row["measured_steps"], row["scaled"]) == (50, True)
        else:
            assert "scaled" not in row


def test_ratios_of_training_times_are_medians_of_paired_rounds(document: dict[str, Any]) -> None:
    runs = {
        (row["method"], row["ratings"]): np.array(row["seconds"]["runs"])
        for row in document["training"]
        if row["world"] == "paper"
    }
    assert document["training_ratios"]
    for row in document["training_ratios"]:
        paired = runs[row["above"], row["ratings"]] / runs[row["below"], row["ratings"]]
        assert row["ratio"]["median"] == pytest.approx(np.median(paired), rel=1e-12)


def test_every_claim_of_the_paper_is_judged(document: dict[str, Any]) -> None:
    assert len(document["claims"]) == 7
    for claim in document["claims"]:
        assert set(claim) == {"paper", "place", "measured", "verdict", "why"}
        assert claim["verdict"] in {"holds", "holds partly", "does not hold", "cannot be told"}


def test_ratios_and_growth_come_with_their_intervals(document: dict[str, Any]) -> None:
    for row in document["training_ratios"]:
        mean = row["geometric_mean"]
        assert mean["low"] <= mean["value"] <= mean["high"]
        assert mean["value"] == pytest.approx(np.exp(np.mean(np.log(row["ratio"]["runs"]))))
    for one in document["growth"].values():
        by_round = one["exponent_by_round"]
        assert by_round["low"] <= by_round["value"] <= by_round["high"]
        assert one["exponent_from_400_ratings_by_round"] is None


def test_every_contender_takes_every_step(result: BenchResult) -> None:
    situations = [(step.world, step.picks, step.ratings) for step in result.steps]
    assert situations == [
        *(("paper", picks, ratings) for picks in ("own", "random") for ratings in (6, 15)),
        *(("stars", picks, 8) for picks in ("own", "random")),
    ]
    for step in result.steps:
        assert set(step.phases) == set(CONTENDERS)
        assert all(len(phases) == SMALL.steps for phases in step.phases.values())
        assert step.grid.steps == SMALL.steps


def test_ratios_of_steps_are_medians_of_paired_steps(document: dict[str, Any]) -> None:
    for step in document["online_step"]:
        seconds = {name: np.array(one["step"]["runs"]) for name, one in step["seconds"].items()}
        for pair, ratio in step["ratios"].items():
            above, below = pair.split(" / ")
            expected = np.median(seconds[above] / seconds[below])
            assert ratio["median"] == pytest.approx(expected, rel=1e-12)


def test_a_step_is_the_sum_of_learning_and_choosing(document: dict[str, Any]) -> None:
    for step in document["online_step"]:
        for one in step["seconds"].values():
            parts = np.array(one["absorb"]["runs"]) + np.array(one["choose"]["runs"])
            assert one["step"]["runs"] == pytest.approx(parts, rel=1e-12)


def test_every_checked_choice_is_that_of_brute_force(result: BenchResult) -> None:
    for step in result.steps:
        assert step.checked == SMALL.checks
        assert step.agreed == step.checked


def test_a_wrong_choice_is_found_by_brute_force() -> None:
    plan = StepPlan(world=PAPER, songs=120, columns=4, seed=1, ratings=(15,), steps=1, checks=0)
    session = plan.session(0)
    for row in range(15):
        session.hear(row, 10.0 * row)
    session.catch_up()
    now = session.now(200.0)
    choice = session.exact.choose(now)
    assert session.exact.agrees(choice, now)
    assert not session.exact.agrees((choice + 1) % 120, now)


def test_the_whole_run_counts_every_step_from_the_first_song_on(result: BenchResult) -> None:
    paper, stars = result.runs
    assert len(paper.seconds.runs) == paper.grid.steps == 15 + SMALL.steps
    assert len(stars.seconds.runs) == stars.grid.steps == 8 + SMALL.steps
    for run in result.runs:
        counts = [len(part.runs) for part in (run.grid.moved, run.grid.others) if part is not None]
        assert sum(counts) == run.grid.steps


def test_the_random_listener_hears_songs_again() -> None:
    plan = StepPlan(world=PAPER, songs=500, columns=3, seed=2, ratings=(100,), steps=2, checks=0)
    (step,) = measure_random(plan, lambda _: None)
    assert 40 <= step.heard <= 60


def test_as_many_parts_are_reported_as_were_announced(
    result: BenchResult, heard: list[str]
) -> None:
    assert result.request == SMALL
    assert len(heard) == count_of_runs(SMALL)


def test_no_engine_loads_a_framework(result: BenchResult) -> None:
    assert result.imports.unwanted == ()
    assert unwanted_among(["numpy", "jax.numpy", "torch"]) == ("jax", "torch")


def test_every_promise_is_judged_by_its_median(document: dict[str, Any]) -> None:
    figures = document["asked"]
    names = [figure["what"] for figure in figures]
    for part in ("step, own", "step, random", "brute force", "sampler / exact"):
        assert any(part in name for name in names)
    for part in ("variational / exact", "variational inference", "import", "JAX"):
        assert any(part in name for name in names)
    for figure in figures:
        if figure["asked"] == "≤ 1.0 × LinUCB":
            assert figure["holds"] == (figure["median"] <= 1.0)
        if figure["asked"] == "≥ 50 ×":
            assert figure["holds"] == (figure["median"] >= 50)


def test_a_figure_shows_median_and_quartiles() -> None:
    figure = Figure(
        what="step",
        world=None,
        asked="≤ 1.0 × LinUCB",
        unit="×",
        measured=Spread(runs=(0.74, 0.81, 0.95)),
        holds=True,
    )
    assert figure.shown() == "0.81 × (0.78–0.88)"


# ── Growth ───────────────────────────────────────────────────────────────────────────────


@given(st.floats(-1.0, 3.0), st.floats(1e-4, 10.0))
def test_the_exponent_of_a_power_law_is_found(exponent: float, scale: float) -> None:
    study = TrainingStudy(
        times=tuple(
            TrainingTime(
                world="paper",
                method="exact",
                ratings=size,
                seconds=Spread(runs=(scale * (size / 100) ** exponent,)),
                converged_share=None,
            )
            for size in (100, 400, 1_000, 3_000)
        )
    )
    assert study.growth("exact") == pytest.approx(exponent, abs=1e-9)
    assert study.growth("exact", 400) == pytest.approx(exponent, abs=1e-9)
    assert study.growth("exact", 3_000) is None


# ── What is shown and written ────────────────────────────────────────────────────────────


def test_the_tables_name_every_method_and_every_promise(result: BenchResult) -> None:
    screen = Console(width=140, file=io.StringIO())
    print_tables(result, screen)
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "collapsed MCMC" in text
    assert "variational, 3 factors" in text
    assert "Metropolis, 5,000 steps (scaled)" in text
    assert "What is faster than what, with 40 ratings" in text
    assert "cannot be told" in text
    for figure in asked_figures(result):
        assert figure.what in text


def test_the_plot_is_a_png(result: BenchResult, tmp_path: Path) -> None:
    file = tmp_path / "bench.png"
    bench_plot.plot(result, file)
    content = file.read_bytes()
    assert content.startswith(b"\x89PNG\r\n")
    assert len(content) > 10_000


def test_the_program_prints_tables_and_writes_files(
    result: BenchResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bench, "measure", lambda *_: result)
    files = {"json": str(tmp_path / "bench.json"), "plot": str(tmp_path / "bench.png")}
    bench.main(json.dumps({"quick": True, "sizes": [10, 20], **files}))
    assert "What was asked" in capsys.readouterr().out
    assert json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))["asked"]
    assert (tmp_path / "bench.png").exists()


def test_a_plot_of_an_unknown_kind_is_refused(result: BenchResult, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="ends as a picture does"):
        bench_plot.plot(result, tmp_path / "bench.txt")


# ── Requests ─────────────────────────────────────────────────────────────────────────────


def test_the_default_is_the_study_of_the_paper() -> None:
    request = BenchRequest()
    assert request.sizes == (100, 200, 400, 700, 1_000, 2_000, 3_000)
    assert (request.features, request.songs, request.sampler_steps) == (91, 10_000, 5_000)
    assert {500, 1_000} <= set(request.step_ratings)


def test_a_quick_request_is_smaller_and_can_be_changed() -> None:
    quick = quick_request(features=7)
    assert quick.features == 7
    assert count_of_runs(quick) < count_of_runs(BenchRequest()) / 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"repeats": 0}, "repeats must be at least 1, got 0"),
        ({"songs": 10}, "songs must be at least 50, got 10"),
        ({"features": 1}, "features must be at least 2, got 1"),
        ({"sizes": ()}, "each at least 5, got none"),
        ({"sizes": (100, 100)}, "different numbers of ratings, each at least 5, got 100, 100"),
        ({"sizes": (4,)}, "each at least 5, got 4"),
    ],
)
def test_what_cannot_be_measured_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        BenchRequest(**changes)
