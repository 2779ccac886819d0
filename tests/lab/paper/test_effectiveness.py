"""The chapter on effectiveness: every verdict follows from the regrets that it is given."""

import json
from typing import Any

import numpy as np
import pytest

from bandstand_lab.paper.effectiveness import (
    ALGORITHMS,
    EXACT,
    GREEDY,
    LONG_ONES,
    PLACES,
    QUIET_ONES,
    STUDY,
    VARIATIONAL,
    jobs,
    play,
    size_of,
)
from bandstand_lab.report.study import Chapter, Plan, Verdict
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.worlds import GaussianWorld
from tests.fixtures.lab.drawn_figures import assert_whole

PLAN = Plan(size="quick", seed=3)
# Regret after n songs is level · n^power: an order as in the paper.
LEVELS = {
    "random": 30.0,
    "linucb-c": 22.0,
    "linucb-cn": 20.0,
    GREEDY: 16.0,
    "greedy-cn-map": 13.0,
    "thompson-cn-x": 12.0,
    VARIATIONAL: 11.0,
    EXACT: 10.0,
}
RANDOM, LINUCB, BAYES, VARIATIONAL_BELOW, EARLY, ACCURATE, MAP, THOMPSON, SLOPE = range(9)


def invented(
    levels: dict[str, float] | None = None, *, powers: dict[str, float] | None = None
) -> dict[str, Any]:
    """Return results as if every radio had the regret of its level, more or less."""
    height = LEVELS | (levels or {})
    bend = {"random": 1.0} | (powers or {})
    results: dict[str, Any] = {}
    for job in jobs(PLAN):
        run, steps = job.arguments["run"], job.arguments["steps"]
        n = np.arange(1.0, steps + 1)
        results[job.key] = {}
        for place, name in enumerate(job.arguments["algorithms"]):
            rng = np.random.default_rng([run, place, steps])
            person = 1 + 0.1 * np.random.default_rng(run).random() + 0.002 * rng.standard_normal()
            regret = person * height[name] * n ** bend.get(name, 0.5)
            results[job.key][name] = regret.tolist()
    return results


def chapter(levels: dict[str, float] | None = None, **powers: dict[str, float]) -> Chapter:
    made: Chapter = STUDY.chapter(PLAN, invented(levels, **powers))
    return made


def verdicts(levels: dict[str, float] | None = None, **powers: dict[str, float]) -> list[Verdict]:
    return [finding.verdict for finding in chapter(levels, **powers).findings]


def test_the_papers_order_holds_where_it_is_seen_in_every_world() -> None:
    found = verdicts()
    for claim in (RANDOM, LINUCB, BAYES, VARIATIONAL_BELOW, EARLY, MAP, THOMPSON, SLOPE):
        assert found[claim] is Verdict.HOLDS, claim
    assert found[ACCURATE] is Verdict.PARTLY or found[ACCURATE] is Verdict.OPEN


@pytest.mark.parametrize(
    ("levels", "claim"),
    [
        ({EXACT: 17.0}, BAYES),
        ({VARIATIONAL: 17.0}, VARIATIONAL_BELOW),
        ({"linucb-c": 15.0, "linucb-cn": 15.0}, LINUCB),
        ({EXACT: 13.5}, MAP),
        ({EXACT: 12.5}, THOMPSON),
        ({VARIATIONAL: 14.0}, ACCURATE),
    ],
)
def test_an_order_the_other_way_round_does_not_hold(levels: dict[str, float], claim: int) -> None:
    assert verdicts(levels)[claim] is Verdict.FAILS


def test_random_is_not_the_worst_where_another_radio_is_worse() -> None:
    powers = {"linucb-c": 1.0}
    found = chapter({"linucb-c": 31.0}, powers=powers).findings[RANDOM]
    assert found.verdict is not Verdict.HOLDS
    assert "LinUCB-C" in found.measured


@pytest.mark.parametrize(
    ("powers", "verdict"),
    [
        ({EXACT: 0.9}, Verdict.PARTLY),
        ({EXACT: 1.1}, Verdict.FAILS),
        ({"random": 0.9}, Verdict.OPEN),
    ],
)
def test_the_slope_is_judged_by_its_rule(powers: dict[str, float], verdict: Verdict) -> None:
    assert verdicts(powers=powers)[SLOPE] is verdict


def test_the_chapter_is_whole() -> None:
    made = chapter()
    assert_whole(made)
    for table in made.tables:
        assert len(set(table.columns)) == len(table.columns)


@pytest.mark.parametrize("size", ["quick", "full"])
def test_every_radio_meets_every_listener_in_every_world_once(size: Any) -> None:
    plan = Plan(size=size)
    met = [
        (json.dumps(job.arguments["world"]), name, job.arguments["run"])
        for job in STUDY.jobs(plan)
        for name in job.arguments["algorithms"]
        if name in ALGORITHMS
    ]
    radios = len(PLACES) * len(ALGORITHMS) + len(QUIET_ONES)
    assert len(met) == len(set(met)) == radios * size_of(plan)["listeners"]
    keys = [job.key for job in STUDY.jobs(plan)]
    assert len(keys) == len(set(keys))
    assert all(job.arguments["seed"] == plan.seed for job in STUDY.jobs(plan))


def test_the_full_size_is_the_one_that_was_promised() -> None:
    full = size_of(Plan(size="full"))
    assert (full["songs"], full["features"], full["steps"]) == (10_000, 91, 200)
    assert full["listeners"] >= 20
    assert full["long_steps"] == 500
    assert set(LONG_ONES) <= set(ALGORITHMS)


def test_a_job_follows_every_radio_as_any_experiment_does() -> None:
    world: dict[str, Any] = {"songs": 20, "features": 2, "scale": "norm"}
    names = ["random", GREEDY, EXACT]
    found = play(world=world, algorithms=names, run=1, seed=2, steps=4)
    for name in names:
        trace = run_one(GaussianWorld(**world), name, run=1, seed=2, steps=4)
        assert found[name] == trace.regret.tolist()
