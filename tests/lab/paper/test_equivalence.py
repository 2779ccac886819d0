"""Exact against MCMC: verdicts follow from the numbers, and the jobs measure what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bandstand_lab.paper.equivalence import EXACT, MCMC, STUDY, EquivalenceSize, regrets, step_times
from bandstand_lab.report.study import Chapter, Plan, Verdict
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.worlds import GaussianWorld
from tests.fixtures.lab.drawn_figures import assert_whole

PLAN = Plan(size="quick", seed=3)
REGRET, TIME = 0, 1
WORLD: dict[str, Any] = {"songs": 12, "features": 2, "scale": "entries"}


def invented(*, more: float = 0.0, noise: float = 0.01, faster: float = 50.0) -> dict[str, Any]:
    """Return results of an exact radio with so much more regret, and so much faster."""
    design = EquivalenceSize.of(PLAN)
    results: dict[str, Any] = {}
    for job in STUDY.jobs(PLAN):
        if job.alone:
            agreement = {"quantile_error": 0.02, "choice_shortfall": 0.01, "choice_rank": 2}
            seconds = {EXACT: 0.01, MCMC: 0.01 * faster}
            results[job.key] = {"seconds": seconds, "agreement": agreement}
            continue
        rng = np.random.default_rng(job.arguments["run"])
        curve = (1 + rng.random()) * np.sqrt(np.arange(1.0, design.steps + 1))
        each = [
            (curve * (1 + more + noise * rng.standard_normal())).tolist()
            for _ in range(job.arguments["repeats"])
        ]
        results[job.key] = {"together": 3, EXACT: each, MCMC: curve.tolist()}
    return results


def chapter(**changes: float) -> Chapter:
    made: Chapter = STUDY.chapter(PLAN, invented(**changes))
    return made


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"more": 0.0}, Verdict.HOLDS),
        ({"more": -0.2}, Verdict.HOLDS),
        ({"more": 0.2}, Verdict.FAILS),
        ({"more": 0.0, "noise": 0.5}, Verdict.OPEN),
    ],
)
def test_as_good_means_that_the_bound_is_below_the_margin(
    changes: dict[str, float], verdict: Verdict
) -> None:
    assert chapter(**changes).findings[REGRET].verdict is verdict


@pytest.mark.parametrize(
    ("faster", "verdict"), [(20.0, Verdict.HOLDS), (19.0, Verdict.FAILS), (0.5, Verdict.FAILS)]
)
def test_faster_means_twenty_times(faster: float, verdict: Verdict) -> None:
    # Twenty times as fast to the last bit is no question for binary fractions.
    assert chapter(faster=faster + 1e-9).findings[TIME].verdict is verdict


def test_the_chapter_is_whole() -> None:
    assert_whole(chapter())


def test_both_radios_meet_the_same_listener() -> None:
    found = regrets(world=WORLD, run=1, seed=2, steps=2, repeats=2)
    place = GaussianWorld(**WORLD)
    np.testing.assert_array_equal(found[MCMC], run_one(place, MCMC, run=1, seed=2, steps=2).regret)
    np.testing.assert_array_equal(
        found[EXACT][0], run_one(place, EXACT, run=1, seed=2, steps=2).regret
    )
    assert found[EXACT][1] != found[EXACT][0]
    assert 1 <= found["together"] <= 2


def test_steps_are_timed_after_the_same_ratings_and_choices_agree() -> None:
    found = step_times(world=WORLD, seed=2, ratings=8)
    assert found["seconds"][MCMC] > found["seconds"][EXACT] > 0
    # 2,000 effective draws: a few hundredths of a standard deviation.
    assert found["agreement"]["quantile_error"] < 0.3
    assert found["agreement"]["choice_shortfall"] < 0.5


def test_only_the_timed_jobs_want_to_be_alone() -> None:
    alone = [job.key for job in STUDY.jobs(PLAN) if job.alone]
    assert alone == ["time-0010", "time-0040"]
