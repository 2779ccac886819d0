"""Exact against MCMC: verdicts follow from the numbers."""

from typing import Any

import numpy as np
import pytest

from bandstand_lab.paper.equivalence import EXACT, MCMC, STUDY, regrets, size_of
from bandstand_lab.report.study import Chapter, Plan, Verdict
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.worlds import GaussianWorld
from tests.fixtures.lab.drawn_figures import assert_whole

PLAN = Plan(size="quick", seed=3)
WORLD: dict[str, Any] = {"songs": 12, "features": 2, "scale": "entries"}


def invented(*, more: float = 0.0, noise: float = 0.01) -> dict[str, Any]:
    """Return results of an exact radio with so much more regret,."""
    steps = size_of(PLAN)["steps"]
    results: dict[str, Any] = {}
    for job in STUDY.jobs(PLAN):
        rng = np.random.default_rng(job.arguments["run"])
        curve = (1 + rng.random()) * np.sqrt(np.arange(1.0, steps + 1))
        exact = curve * (1 + more + noise * np.mean(rng.standard_normal(job.arguments["repeats"])))
        results[job.key] = {"together": 3, EXACT: exact.tolist(), MCMC: curve.tolist()}
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
    assert chapter(**changes).findings[0].verdict is verdict


def test_the_chapter_is_whole() -> None:
    assert_whole(chapter())


def test_both_radios_meet_the_same_listener() -> None:
    found = regrets(world=WORLD, run=1, seed=2, steps=2, repeats=2)
    place = GaussianWorld(**WORLD)
    alone = {name: run_one(place, name, run=1, seed=2, steps=2).regret for name in (EXACT, MCMC)}
    np.testing.assert_array_equal(found[MCMC], alone[MCMC])
    # The first repeat is the usual one, and the second has another first song or noise.
    once = regrets(world=WORLD, run=1, seed=2, steps=2, repeats=1)[EXACT]
    np.testing.assert_array_equal(once, alone[EXACT])
    assert found[EXACT] != once
    assert 1 <= found["together"] <= 2
