"""The report of an experiment: by hand where that is possible, and where there is nothing."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from bandstand.errors import InvalidInputError
from bandstand.types import frozen
from bandstand_lab.simulation.experiment import Experiment, ExperimentResult, run_experiment
from bandstand_lab.simulation.plot import draw, headline, picture
from bandstand_lab.simulation.report import ExperimentReport, default_steps, print_report
from bandstand_lab.simulation.session import Trace
from bandstand_lab.simulation.worlds import GaussianWorld

if TYPE_CHECKING:
    from collections.abc import Sequence

WORLD = GaussianWorld(songs=9, features=2)


def trace(algorithm: str, run: int, shortfall: Sequence[float]) -> Trace:
    """Return a trace of songs that were short of the best by so much."""
    zeros = frozen(np.zeros(len(shortfall)))
    return Trace(
        algorithm=algorithm,
        run=run,
        rows=np.zeros(len(shortfall), dtype=np.intp),
        elapsed=zeros,
        ratings=zeros,
        expected=zeros,
        best=frozen(shortfall),
        choose_seconds=zeros,
        learn_seconds=zeros,
    )


def report_of(shortfalls: dict[str, list[list[float]]], **settings: Any) -> ExperimentReport:
    """Return the report of an experiment in which that was missed in each run and step."""
    traces = [
        trace(name, run, each) for name, runs in shortfalls.items() for run, each in enumerate(runs)
    ]
    lengths = next(iter(shortfalls.values()))
    experiment = Experiment(
        world=WORLD, algorithms=tuple(shortfalls), runs=len(lengths), steps=len(lengths[0])
    )
    return ExperimentReport.of(experiment, ExperimentResult.of(traces), **settings)


HAND = {
    "random": [[1.0, 1.0, 1.0, 1.0], [3.0, 3.0, 3.0, 3.0], [2.0, 2.0, 2.0, 2.0]],
    "bayes-ucb-cn-x": [[1.0, 0.0, 0.0, 0.0], [2.0, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]],
}


def printed(report: ExperimentReport) -> str:
    screen = Console(file=io.StringIO(), width=120)
    print_report(report, screen)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


# ── Numbers ──────────────────────────────────────────────────────────────────────────────


def test_regrets_are_means_with_standard_errors() -> None:
    report = report_of(HAND)
    regret = report.regret("random", 4)
    assert (regret.mean, regret.count) == (8.0, 3)
    assert regret.standard_error == pytest.approx(4 / np.sqrt(3))
    assert report.regret("bayes-ucb-cn-x", 1).mean == pytest.approx(5 / 3)


def test_constant_disappointment_has_slope_one_and_no_more_of_it_slope_zero() -> None:
    report = report_of(HAND)
    slope, flat = report.slope("random"), report.slope("bayes-ucb-cn-x")
    assert slope is not None
    assert flat is not None
    assert slope.mean == pytest.approx(1.0)
    assert slope.standard_error == pytest.approx(0.0, abs=1e-12)
    assert flat.mean == pytest.approx(0.0, abs=1e-12)


def test_differences_are_those_of_a_paired_t_test() -> None:
    (first, last) = report_of(HAND, steps=(2, 4)).differences()
    assert (first.algorithm, first.reference, first.step, last.step) == (
        *("random", "bayes-ucb-cn-x"),
        *(2, 4),
    )
    reference = stats.ttest_rel([4.0, 12.0, 8.0], [1.0, 3.0, 2.0])
    assert last.estimate.mean == 6.0
    assert last.estimate.p_value == pytest.approx(reference.pvalue)
    smaller = min(first.estimate.p_value, last.estimate.p_value)
    assert min(first.corrected_p_value, last.corrected_p_value) == pytest.approx(2 * smaller)


def test_the_reference_is_ours_or_the_last_or_the_one_that_was_asked_for() -> None:
    assert report_of(HAND).reference == "bayes-ucb-cn-x"
    assert report_of(HAND, reference="random").reference == "random"
    swapped = {"linucb-c": HAND["random"], "random": HAND["random"]}
    assert report_of(swapped).reference == "random"


@pytest.mark.parametrize("steps", range(1, 12))
def test_default_steps_rise_to_the_last(steps: int) -> None:
    chosen = default_steps(steps)
    assert chosen[-1] == steps
    assert chosen[0] >= 1
    assert all(one < other for one, other in pairwise(chosen))


# ── Where there is nothing to tell ───────────────────────────────────────────────────────


def test_one_listener_has_no_standard_error_and_no_difference() -> None:
    report = report_of({name: runs[:1] for name, runs in HAND.items()})
    assert report.regret("random", 4).standard_error is None
    assert report.differences() == ()
    document = json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert document["regret"][0]["standard_error"] is None
    assert document["regret"][0]["interval"] is None
    assert document["differences"] == []
    assert document["curves"]["random"]["standard_error"] is None
    assert "±" not in printed(report).split("\n", 1)[1]
    assert picture(report, "png").startswith(b"\x89PNG")


def test_a_listener_who_misses_nothing_has_no_slope() -> None:
    report = report_of({"random": [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]})
    assert report.slope("random") is None
    assert report.as_json()["slopes"] == [{"algorithm": "random", "mean": None, "runs": None}]
    assert "none" in printed(report)


@pytest.mark.parametrize("steps", [1, 2])
def test_too_few_songs_have_no_slope(steps: int) -> None:
    report = report_of({name: [run[:steps] for run in runs] for name, runs in HAND.items()})
    assert report.slope("random") is None
    assert picture(report, "png").startswith(b"\x89PNG")


def test_equal_algorithms_do_not_differ() -> None:
    report = report_of({"random": HAND["random"], "linucb-c": HAND["random"]})
    assert [each.estimate.mean for each in report.differences()] == [0.0, 0.0, 0.0]
    assert {each.corrected_p_value for each in report.differences()} == {1.0}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": (5,)}, "steps to look at must be from 1 to 4, got 5"),
        ({"steps": (0,)}, "steps to look at must be from 1 to 4, got 0"),
        ({"steps": ()}, "steps to look at must be from 1 to 4, got none"),
        ({"reference": "greedy-cn"}, "reference must be one of random, .*, got 'greedy-cn'"),
    ],
)
def test_what_was_not_run_cannot_be_told(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        report_of(HAND, **settings)


# ── Words and pictures ───────────────────────────────────────────────────────────────────


def test_the_least_regret_is_at_the_top() -> None:
    text = printed(report_of(HAND))
    first, second = text.index("bayes-ucb-cn-x"), text.index("random")
    assert first < second
    assert "3 listeners, 4 songs each, seed 0." in text
    assert "World: kind gaussian, songs 9, features 2, scale entries" in text


def test_the_headline_has_the_least_regret() -> None:
    clear = report_of({"random": [[5.0], [6.0], [7.5]], "bayes-ucb-cn-x": [[1.0], [2.0], [3.0]]})
    assert headline(clear) == (
        "Least regret after 1 song: Bayes-UCB-CN, exact, 2.00 ± 0.58, 3 listeners"
    )


def test_the_figure_has_a_second_panel_where_there_is_another_to_compare_with() -> None:
    assert len(draw(report_of(HAND)).axes) == 2
    assert len(draw(report_of({"random": HAND["random"]})).axes) == 1


def test_the_json_holds_every_run() -> None:
    experiment = Experiment(world=WORLD, algorithms=("random", "linucb-c"), runs=3, steps=5)
    outcome = run_experiment(experiment)
    report = ExperimentReport.of(experiment, outcome)
    document = json.loads(json.dumps(report.as_json(), allow_nan=False))
    for name in experiment.algorithms:
        runs = [each for each in document["runs"] if each["algorithm"] == name]
        regret = [np.cumsum(np.subtract(each["best"], each["expected"])) for each in runs]
        assert np.array(regret).tolist() == outcome.regret(name).tolist()
        np.testing.assert_allclose(
            document["curves"][name]["mean"], np.mean(regret, axis=0), rtol=1e-12
        )
    assert document["experiment"]["world"] == WORLD.describe()
