"""Errors that have been made in samplers of this kind, each planted by one patch.

A check that misses them proves nothing; `test_mutants.py` shows which check sees which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from bandstand.inference import collapsed_chain, conjugate, gibbs, slice_sampling
from tests.statistical import checks, factor_joint, joint
from tests.statistical.factor_world import GibbsWorld
from tests.statistical.worlds import CollapsedWorld, MetropolisWorld, Sampled, Stepped

if TYPE_CHECKING:
    import pytest

    from bandstand.domain import History
    from bandstand.inference.conjugate import Conditional
    from bandstand.inference.factor_equations import Observations
    from bandstand.inference.slice_sampling import LogDensity, SliceInfo, SliceState
    from bandstand.model.factors import FactorModel
    from bandstand.model.priors import ListenerPrior
    from bandstand.types import AnyArray, Vector

# A check with some effort, 1 in the quick run: whether it finds the sampler right.
Check: TypeAlias = Callable[[float, np.random.Generator], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """An error, and the checks of the sampler that it is planted in."""

    name: str
    plant: Callable[[pytest.MonkeyPatch], None]
    checks: dict[str, Check]

    def caught_by(self, check: str, effort: float, seed: int, patch: pytest.MonkeyPatch) -> bool:
        """Say whether `check` fails once the error is planted."""
        with patch.context() as planted:
            self.plant(planted)
            return not self.checks[check](effort, np.random.default_rng(seed))


def agrees(
    disagreement: Callable[[int, np.random.Generator], float],
    effort: float,
    rng: np.random.Generator,
) -> bool:
    """Say whether conditionals agree with the joint; planted errors show at any point."""
    return disagreement(int(50 * effort), rng) < 1e-9


def stays(world: Stepped[Any], effort: float, rng: np.random.Generator) -> bool:
    """Say whether the sampler passes Geweke's test."""
    return checks.passes(checks.geweke(world, draws=int(1_000 * effort), steps=6, rng=rng))


def is_calibrated(
    world: Sampled[Any], effort: float, rng: np.random.Generator, *, simulations: int = 100
) -> bool:
    """Say whether the sampler passes simulation-based calibration."""
    count = int(simulations * effort)
    return checks.passes(checks.calibration(world, simulations=count, rng=rng))


def is_independent(world: Sampled[Any], effort: float, rng: np.random.Generator) -> bool:
    """Say whether the draws that a truth is ranked among are as good as independent."""
    return checks.independence(world, data_sets=int(10 * effort), rng=rng) >= checks.SMALLEST_ESS


def one_dimension_too_few(patch: pytest.MonkeyPatch) -> None:
    right = gibbs.noise_conditional

    def planted(
        model: FactorModel, observations: Observations, coefficients: tuple[Vector, ...]
    ) -> tuple[float, float]:
        shape, rate = right(model, observations, coefficients)
        return shape - 0.5, rate  # the paper's K where K + 1 is meant

    patch.setattr(gibbs, "noise_conditional", planted)


def missing_prior_term(patch: pytest.MonkeyPatch) -> None:
    right = conjugate.condition_on

    def planted(prior: ListenerPrior, history: History, recovery_time: float) -> Conditional:
        found = right(prior, history, recovery_time)
        shift = found.mean - prior.preference.mean
        missing = 0.5 * float(shift @ prior.preference.precision @ shift)
        return replace(found, rate=found.rate - missing)

    patch.setattr(conjugate, "condition_on", planted)


def variance_for_deviation(patch: pytest.MonkeyPatch) -> None:
    right = collapsed_chain.draw_preference

    def planted(
        conditional: Conditional, noise_precision: float, rng: np.random.Generator
    ) -> Vector:
        return right(conditional, noise_precision**2, rng)

    patch.setattr(collapsed_chain, "draw_preference", planted)


def shape_and_rate_swapped(patch: pytest.MonkeyPatch) -> None:
    def planted(conditional: Conditional, shape: float, rng: np.random.Generator) -> float:
        return float(rng.standard_gamma(conditional.rate)) / shape

    patch.setattr(collapsed_chain, "draw_noise_precision", planted)


def wrong_sign(patch: pytest.MonkeyPatch) -> None:
    right = conjugate.log_evidence

    def planted(conditional: Conditional, shape: float) -> float:
        return right(conditional, shape) + conditional.log_determinant

    patch.setattr(conjugate, "log_evidence", planted)


def time_not_transformed(patch: pytest.MonkeyPatch) -> None:
    def planted(elapsed: Vector, recovery_time: float) -> AnyArray:
        return np.asarray(elapsed / recovery_time)

    patch.setattr(conjugate, "novelty", planted)


def stale_cache(patch: pytest.MonkeyPatch) -> None:
    right = slice_sampling.step

    def planted(
        state: SliceState[Conditional],
        log_density: LogDensity[Conditional],
        *,
        width: float,
        rng: np.random.Generator,
    ) -> tuple[SliceState[Conditional], SliceInfo]:
        after, info = right(state, log_density, width=width, rng=rng)
        return replace(after, detail=state.detail), info

    patch.setattr(slice_sampling, "step", planted)


def nothing_to_patch(patch: pytest.MonkeyPatch) -> None:
    """Leave the code alone: the error is in the way its draws are used."""


OF_THE_CHAINS: Final[dict[str, Check]] = {
    "joint": partial(agrees, joint.chain_disagreement),
    "Geweke": partial(stays, CollapsedWorld()),
    "calibration": partial(is_calibrated, CollapsedWorld()),
}
OF_THE_GIBBS_SAMPLER: Final[dict[str, Check]] = {
    "joint": partial(agrees, factor_joint.gibbs_disagreement),
    "Geweke": partial(stays, GibbsWorld()),
    "calibration": partial(is_calibrated, GibbsWorld()),
}
MUTANTS: Final = [
    Mutant(name="K for K + 1", plant=one_dimension_too_few, checks=OF_THE_GIBBS_SAMPLER),
    Mutant(name="missing prior term", plant=missing_prior_term, checks=OF_THE_CHAINS),
    Mutant(name="variance for sd", plant=variance_for_deviation, checks=OF_THE_CHAINS),
    Mutant(name="shape and rate swapped", plant=shape_and_rate_swapped, checks=OF_THE_CHAINS),
    Mutant(name="wrong sign", plant=wrong_sign, checks=OF_THE_CHAINS),
    Mutant(name="time not transformed", plant=time_not_transformed, checks=OF_THE_CHAINS),
    Mutant(name="stale cache", plant=stale_cache, checks=OF_THE_CHAINS),
    Mutant(
        name="thin = 1",
        plant=nothing_to_patch,
        checks={
            # A small error to see, but ranks without thinning are cheap.
            "calibration": partial(is_calibrated, MetropolisWorld(thin=1), simulations=500),
            "independence": partial(is_independent, MetropolisWorld(thin=1)),
        },
    ),
]
