"""The report of an experiment: by hand where that is possible, and where there is nothing."""

import io
import json
from collections.abc import Sequence

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from bandstand.types import frozen
from bandstand_lab.simulation.experiment import Experiment, ExperimentResult, run_experiment
from bandstand_lab.simulation.report import ExperimentReport, print_report
from bandstand_lab.simulation.session import Trace
from bandstand_lab.simulation.worlds import GaussianWorld

WORLD = GaussianWorld(songs=9, features=2)


def trace(shortfall: Sequence[float]) -> Trace:
    """Return a trace of songs that were short of the best by so much."""
    zeros = frozen(np.zeros(len(shortfall)))
    return Trace(
        rows=np.zeros(len(shortfall), dtype=np.intp),
        elapsed=zeros,
        ratings=zeros,
        expected=zeros,
        best=frozen(shortfall),
        choose_seconds=zeros,
        learn_seconds=zeros,
    )


def report_of(shortfalls: dict[str, list[list[float]]]) -> ExperimentReport:
    """Return the report of an experiment in which that was missed in each run and step."""
    traces = {name: tuple(map(trace, runs)) for name, runs in shortfalls.items()}
    lengths = next(iter(shortfalls.values()))
    experiment = Experiment(
        world=WORLD, algorithms=tuple(shortfalls), runs=len(lengths), steps=len(lengths[0])
    )
    return ExperimentReport(experiment=experiment, outcome=ExperimentResult(traces=traces))


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
    assert report.slopes("random") == pytest.approx([1.0] * 3)
    assert report.slopes("bayes-ucb-cn-x") == pytest.approx([0.0] * 3, abs=1e-12)


def test_differences_are_those_of_a_paired_t_test() -> None:
    first, middle, last = report_of(HAND).differences()
    assert [each.step for each in (first, middle, last)] == [1, 2, 4]
    assert last.algorithm == "random"
    reference = stats.ttest_rel([4.0, 12.0, 8.0], [1.0, 3.0, 2.0])
    assert last.estimate.mean == 6.0
    assert last.estimate.p_value == pytest.approx(reference.pvalue)
    smallest = min((first, middle, last), key=lambda each: each.estimate.p_value)
    assert smallest.corrected_p_value == pytest.approx(3 * smallest.estimate.p_value)


def test_the_reference_is_ours_or_the_last() -> None:
    assert report_of(HAND).reference == "bayes-ucb-cn-x"
    swapped = {"linucb-c": HAND["random"], "random": HAND["random"]}
    assert report_of(swapped).reference == "random"


@pytest.mark.parametrize(
    ("steps", "looked_at"), [(1, (1,)), (2, (1, 2)), (4, (1, 2, 4)), (11, (2, 5, 11))]
)
def test_it_looks_at_a_quarter_a_half_and_all_of_the_songs(
    steps: int, looked_at: tuple[int, ...]
) -> None:
    assert report_of({"random": [[1.0] * steps]}).steps == looked_at


# ── Where there is nothing to tell ───────────────────────────────────────────────────────


def test_one_listener_has_no_standard_error_and_no_difference() -> None:
    report = report_of({name: runs[:1] for name, runs in HAND.items()})
    assert report.regret("random", 4).standard_error is None
    assert report.differences() == []
    document = json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert document["regret"][0]["standard_error"] is None
    assert document["regret"][0]["interval"] is None
    assert document["differences"] == []
    assert document["curves"]["random"]["standard_error"] is None
    assert "±" not in printed(report).split("\n", 1)[1]


def test_a_listener_who_misses_nothing_has_no_slope() -> None:
    report = report_of({"random": [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]})
    assert report.slopes("random") is None
    assert report.as_json()["slopes"] == [{"algorithm": "random", "mean": None, "runs": None}]
    assert "none" in printed(report)


@pytest.mark.parametrize("steps", [1, 2])
def test_too_few_songs_have_no_slope(steps: int) -> None:
    report = report_of({name: [run[:steps] for run in runs] for name, runs in HAND.items()})
    assert report.slopes("random") is None


def test_equal_algorithms_do_not_differ() -> None:
    report = report_of({"random": HAND["random"], "linucb-c": HAND["random"]})
    assert [each.estimate.mean for each in report.differences()] == [0.0, 0.0, 0.0]
    assert {each.corrected_p_value for each in report.differences()} == {1.0}


# ── Words ───────────────────────────────────────────────────────────────────────────────


def test_the_least_regret_is_at_the_top() -> None:
    text = printed(report_of(HAND))
    first, second = text.index("bayes-ucb-cn-x"), text.index("random")
    assert first < second
    assert "3 listeners, 4 songs each, seed 0." in text
    assert "World: kind gaussian, songs 9, features 2, scale entries" in text


def test_the_json_holds_every_run() -> None:
    experiment = Experiment(world=WORLD, algorithms=("random", "linucb-c"), runs=3, steps=5)
    outcome = run_experiment(experiment)
    report = ExperimentReport(experiment=experiment, outcome=outcome)
    document = json.loads(json.dumps(report.as_json(), allow_nan=False))
    for name in experiment.algorithms:
        runs = [each for each in document["runs"] if each["algorithm"] == name]
        regret = [np.cumsum(np.subtract(each["best"], each["expected"])) for each in runs]
        assert np.array(regret).tolist() == outcome.regret(name).tolist()
        np.testing.assert_allclose(
            document["curves"][name]["mean"], np.mean(regret, axis=0), rtol=1e-12
        )
    assert document["experiment"]["world"] == WORLD.describe()
