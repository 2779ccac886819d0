"""The sampler leaves the joint law as it is, its draws are calibrated, and errors are seen."""

import numpy as np
import pytest

from tests.fixtures.statistical import factor_joint, joint, mutants
from tests.fixtures.statistical.checks import (
    SMALLEST_ESS,
    calibration,
    geweke,
    independence,
    passes,
)
from tests.fixtures.statistical.mutants import CHECKS, MUTANTS, RELATIVE_ERROR, WORLD

SEED = 20130701
LONG_EFFORT = 3.0


@pytest.fixture
def fresh_rng() -> np.random.Generator:
    """Return a generator whose seed is shown with a failure."""
    seed = np.random.SeedSequence().generate_state(1)[0]
    print(f"seed {seed}")
    return np.random.default_rng(seed)


# ── No chance ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "disagreement",
    [joint.chain_disagreement, joint.reference_disagreement, factor_joint.gibbs_disagreement],
)
def test_conditionals_are_those_of_the_joint_at_any_point(
    disagreement: mutants.Disagreement,
) -> None:
    assert disagreement(300, np.random.default_rng(SEED)) < RELATIVE_ERROR


def test_a_gibbs_sampler_with_one_dimension_too_few_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutants.one_dimension_too_few(monkeypatch)
    assert factor_joint.gibbs_disagreement(50, np.random.default_rng(SEED)) > RELATIVE_ERROR


# ── Geweke's test and calibration ────────────────────────────────────────────────────────


@pytest.mark.statistical
def test_the_sampler_leaves_the_joint_law_as_it_is() -> None:
    p_values = geweke(WORLD, draws=1_000, steps=6, rng=np.random.default_rng(SEED))
    assert passes(p_values), p_values


@pytest.mark.statistical
def test_the_ranks_of_the_truth_are_uniform() -> None:
    p_values = calibration(WORLD, simulations=60, rng=np.random.default_rng(SEED))
    assert passes(p_values), p_values


@pytest.mark.statistical
def test_the_draws_that_a_truth_is_ranked_among_are_independent() -> None:
    assert independence(WORLD, data_sets=10, rng=np.random.default_rng(SEED)) >= SMALLEST_ESS


@pytest.mark.long
@pytest.mark.statistical
def test_the_sampler_is_right_in_the_long_run(fresh_rng: np.random.Generator) -> None:
    for p_values in (
        geweke(WORLD, draws=20_000, steps=6, rng=fresh_rng),
        calibration(WORLD, simulations=1_000, rng=fresh_rng),
    ):
        print(p_values)
        assert passes(p_values), p_values


# ── Planted errors ───────────────────────────────────────────────────────────────────────


def is_seen(
    name: str, check: str, effort: float, monkeypatch: pytest.MonkeyPatch, seed: int = SEED
) -> bool:
    """Return whether a check fails once an error is planted."""
    with monkeypatch.context() as planted:
        MUTANTS[name](planted)
        return not CHECKS[check](effort, np.random.default_rng(seed))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "check", "effort"),
    [
        ("missing prior term", "joint", 1.0),
        ("wrong sign", "joint", 1.0),
        ("time not transformed", "joint", 1.0),
        ("variance for sd", "Geweke", 0.5),
        ("stale cache", "Geweke", 0.5),
        ("shape and rate swapped", "calibration", 0.4),
    ],
)
def test_a_planted_error_is_seen(
    name: str, check: str, effort: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_seen(name, check, effort, monkeypatch)


@pytest.mark.long
@pytest.mark.statistical
def test_every_planted_error_is_seen_in_the_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {
        name: [check for check in CHECKS if is_seen(name, check, LONG_EFFORT, monkeypatch)]
        for name in MUTANTS
    }
    print("\n".join(f"{name:24} seen by {', '.join(checks)}" for name, checks in found.items()))
    assert all(found.values())
