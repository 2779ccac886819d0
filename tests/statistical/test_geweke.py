"""Drawing truth and data in turn never leaves the prior, if each sampler is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.fixtures.statistical import mutants
from tests.fixtures.statistical.checks import geweke, passes
from tests.fixtures.statistical.factor_world import GibbsWorld
from tests.fixtures.statistical.worlds import CollapsedWorld, Stepped

WORLDS = {"collapsed chain": CollapsedWorld(), "Gibbs sampler": GibbsWorld()}
SEED = 20130701


@pytest.mark.statistical
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_sampler_leaves_the_joint_law_as_it_is(world: Stepped[Any]) -> None:
    p_values = geweke(world, draws=1_500, steps=6, rng=np.random.default_rng(SEED))
    assert passes(p_values), p_values


@pytest.mark.statistical
def test_a_planted_error_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    mutants.variance_for_deviation(monkeypatch)
    p_values = geweke(CollapsedWorld(), draws=500, steps=6, rng=np.random.default_rng(SEED))
    assert not passes(p_values)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_sampler_leaves_the_joint_law_as_it_is_in_the_long_run(
    world: Stepped[Any], fresh_rng: np.random.Generator
) -> None:
    p_values = geweke(world, draws=20_000, steps=6, rng=fresh_rng)
    print(p_values)
    assert passes(p_values), p_values
