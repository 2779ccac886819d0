"""Simulation-based calibration: a truth is of any rank among draws of its posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.fixtures.statistical import mutants
from tests.fixtures.statistical.checks import SMALLEST_ESS, calibration, independence, passes
from tests.fixtures.statistical.factor_world import GibbsWorld
from tests.fixtures.statistical.worlds import CollapsedWorld, MetropolisWorld, Sampled

# Samplers that are not collapsed need thousands of steps for 99 independent draws.
QUICK_WORLDS = {"engine": CollapsedWorld()}
LONG_WORLDS = {**QUICK_WORLDS, "reference": MetropolisWorld(), "Gibbs": GibbsWorld()}
SEED = 20130702


@pytest.mark.statistical
@pytest.mark.parametrize("world", QUICK_WORLDS.values(), ids=QUICK_WORLDS)
def test_the_ranks_of_the_truth_are_uniform(world: Sampled[Any]) -> None:
    p_values = calibration(world, simulations=100, rng=np.random.default_rng(SEED))
    assert passes(p_values), p_values


@pytest.mark.statistical
@pytest.mark.parametrize("world", LONG_WORLDS.values(), ids=LONG_WORLDS)
def test_the_draws_that_a_truth_is_ranked_among_are_independent(world: Sampled[Any]) -> None:
    found = independence(world, data_sets=10, rng=np.random.default_rng(SEED))
    assert found >= SMALLEST_ESS


@pytest.mark.statistical
def test_a_planted_error_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    mutants.shape_and_rate_swapped(monkeypatch)
    p_values = calibration(CollapsedWorld(), simulations=40, rng=np.random.default_rng(SEED))
    assert not passes(p_values)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("world", LONG_WORLDS.values(), ids=LONG_WORLDS)
def test_the_ranks_of_the_truth_are_uniform_in_the_long_run(
    world: Sampled[Any], fresh_rng: np.random.Generator
) -> None:
    simulations = 400 if isinstance(world, MetropolisWorld) else 1_000
    p_values = calibration(world, simulations=simulations, rng=fresh_rng)
    print(p_values)
    assert passes(p_values), p_values
