"""Three ways to find out whether a sampler is right, and the law by which they judge.

    joint agreement  differences of the log joint are those of the conditionals   (no chance)
    Geweke           truth → data → step → truth … never leaves the prior
    calibration      a truth is as likely to be of any rank among draws of its posterior

Geweke, "Getting it right", JASA 99 (2004); Talts, Betancourt, Simpson, Vehtari and Gelman,
"Validating Bayesian inference algorithms with simulation-based calibration" (2018).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from scipy import stats

from bandstand.inference import diagnostics
from tests.statistical.worlds import RANKED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.types import Vector
    from tests.statistical.worlds import Sampled, Stepped

TruthT = TypeVar("TruthT")

# How often a right sampler may fail a test, all the comparisons of that test together.
FAILURE_RATE: Final = 1e-3
# Of the 99 draws that a truth is ranked among, this many must count.
SMALLEST_ESS: Final = 90.0
_BINS: Final = 20


def passes(p_values: dict[str, float]) -> bool:
    """Say whether no p-value is smaller than so many of them allow (Bonferroni)."""
    return min(p_values.values()) > FAILURE_RATE / len(p_values)


def geweke(
    world: Stepped[TruthT], *, draws: int, steps: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return p-values for "the sampler leaves the joint law of truth and data as it is".

    Each draw is a short chain of its own, which starts in the joint law and has to stay in
    it: draws are independent, so no p-value leans on an estimated autocorrelation.
    """
    forward = _columns([_chained(world, 0, rng) for _ in range(draws)])
    successive = _columns([_chained(world, steps, rng) for _ in range(draws)])
    p_values = {}
    for name, free in forward.items():
        chained = successive[name]
        p_values[f"{name}: mean"] = _same_mean(free, chained)
        p_values[f"{name}: square"] = _same_mean(free**2, chained**2)
        p_values[f"{name}: law"] = float(stats.ks_2samp(free, chained).pvalue)
    return p_values


def calibration(
    world: Sampled[TruthT], *, simulations: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return p-values for "every rank of the truth is equally likely"."""
    ranks = _columns([_ranks(world, rng) for _ in range(simulations)])
    p_values = {}
    for name, rank in ranks.items():
        # A rank is one of 100; a random place within it makes it a number from 0 to 1.
        places = (rank + rng.random(simulations)) / (RANKED + 1)
        counts, _ = np.histogram(places, bins=_BINS, range=(0, 1))
        p_values[f"{name}: ecdf"] = float(stats.kstest(places, "uniform").pvalue)
        p_values[f"{name}: bins"] = float(stats.chisquare(counts).pvalue)
    return p_values


def independence(world: Sampled[TruthT], *, data_sets: int, rng: np.random.Generator) -> float:
    """Return how many of the draws that a truth is ranked among count, for the worst quantity."""
    tables = []
    for _ in range(data_sets):
        data = world.draw_data(world.draw_truth(rng), rng)
        table = _columns([world.quantities(one, data) for one in world.posterior(data, rng)])
        # In units of their own spread, draws given different data are chains of one law.
        tables.append({name: stats.zscore(draws) for name, draws in table.items()})
    return min(
        diagnostics.bulk_ess([table[name] for table in tables]) / data_sets for name in tables[0]
    )


def _chained(world: Stepped[TruthT], steps: int, rng: np.random.Generator) -> dict[str, float]:
    """Return the quantities of a truth and its data after they were drawn in turn."""
    truth = world.draw_truth(rng)
    data = world.draw_data(truth, rng)
    for at in range(steps):
        if at:
            data = world.draw_data(truth, rng)
        truth = world.step(truth, data, rng)
    return world.quantities(truth, data)


def _ranks(world: Sampled[TruthT], rng: np.random.Generator) -> dict[str, float]:
    truth = world.draw_truth(rng)
    data = world.draw_data(truth, rng)
    known = world.quantities(truth, data)
    table = _columns([world.quantities(one, data) for one in world.posterior(data, rng)])
    return {name: float((draws < known[name]).sum()) for name, draws in table.items()}


def _same_mean(first: Vector, second: Vector) -> float:
    """Return the p-value of a z-test; the samples are large."""
    error = np.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second))
    return float(2 * stats.norm.sf(abs(first.mean() - second.mean()) / error))


def _columns(rows: Sequence[dict[str, float]]) -> dict[str, Vector]:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}
