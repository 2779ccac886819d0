"""The paper's efficiency study: how long it takes to learn from N ratings.

In every round a new simulated listener answers N times, and every method learns from the same
answers, one after the other. So each round gives one ratio for each pair of methods.

The reference is a Metropolis-within-Gibbs sampler of 5,000 steps, which is what one would
write first. It may be run with fewer steps and scaled up, since every step costs the same;
then the result says so.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.inference import metropolis
from bandstand.inference.exact import Exact
from bandstand.inference.least_squares import LeastSquares
from bandstand.inference.mcmc import Mcmc
from bandstand.inference.variational import Variational
from bandstand.model.factors import content_novelty, content_novelty_diversity
from bandstand.reports.timing import Spread, Timed, in_turn, paired_ratio, timed_again, undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bandstand.domain import History
    from bandstand.model.priors import ListenerPrior
    from bandstand.reports.bench_world import World

_ASKED_SIZE: Final = 1_000
REFERENCE: Final = "metropolis"
REFERENCE_STEPS: Final = 5_000
# From here on there are several ratings for each of 91 features, and growth is what counts.
LARGE: Final = 400

LABELS: Final = {
    "metropolis": "Metropolis, 5,000 steps",
    "mcmc": "collapsed MCMC",
    "variational-3": "variational, 3 factors",
    "variational-2": "variational, 2 factors",
    "exact": "exact",
    "least-squares": "L-BFGS-B, plain",
    "least-squares-map": "L-BFGS-B, MAP",
}
METHODS: Final = tuple(LABELS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTime:
    """How long one method took to learn from so many ratings, in each round."""

    world: str
    method: str
    ratings: int
    seconds: Spread
    converged_share: float | None  # None where a method does not say
    measured_steps: int | None = None  # of the reference

    @property
    def is_scaled(self) -> bool:
        """Whether fewer steps were run than the time is for."""
        return self.measured_steps not in {None, REFERENCE_STEPS}

    def as_json(self) -> dict[str, Any]:
        """Return what was measured."""
        steps = {}
        if self.measured_steps is not None:
            steps = {"measured_steps": self.measured_steps, "scaled": self.is_scaled}
        return {
            "world": self.world,
            "method": self.method,
            "ratings": self.ratings,
            "seconds": self.seconds.as_json(),
            "converged_share": self.converged_share,
            **steps,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStudy:
    """All training times of one world."""

    times: tuple[TrainingTime, ...]

    @property
    def sizes(self) -> list[int]:
        """The numbers of ratings, rising."""
        return sorted({time.ratings for time in self.times})

    @property
    def methods(self) -> list[str]:
        """The methods that were measured."""
        return list(dict.fromkeys(time.method for time in self.times))

    def seconds(self, method: str, ratings: int) -> Spread:
        """Return the time of one method at one size."""
        return next(
            time.seconds for time in self.times if time.method == method and time.ratings == ratings
        )

    def ratio(self, above: str, below: str, ratings: int) -> Spread:
        """Return how many times as long `above` took as `below`, round by round."""
        return paired_ratio(self.seconds(above, ratings).runs, self.seconds(below, ratings).runs)

    def growth(self, method: str, fewest: int = 0) -> float | None:
        """Return the exponent k of time ~ N^k, from sizes of at least `fewest`; None from one."""
        sizes = [size for size in self.sizes if size >= fewest]
        if len(sizes) < 2:
            return None
        medians = [self.seconds(method, size).median for size in sizes]
        return float(np.polyfit(np.log(sizes), np.log(medians), 1)[0])


def asked_size(sizes: Sequence[int]) -> int:
    """Return the size that figures are promised for, or the nearest one that is measured.

    >>> asked_size((100, 900, 3_000))
    900
    """
    return min(sizes, key=lambda size: abs(math.log(size / _ASKED_SIZE)))


def measure_training(
    world: World,
    *,
    sizes: Sequence[int],
    rounds: int,
    columns: int,
    seed: int,
    on_run: Callable[[str], None],
    methods: Sequence[str] = METHODS,
    sampler_steps: int = REFERENCE_STEPS,
) -> TrainingStudy:
    """Return the training times of `methods` in `world`; `on_run` hears of every run."""
    seconds: dict[tuple[str, int], list[float]] = defaultdict(list)
    converged: dict[tuple[str, int], list[bool]] = defaultdict(list)
    tasks = _tasks(world.prior_for(columns), columns, sampler_steps, seed)
    scale = {REFERENCE: REFERENCE_STEPS / sampler_steps}
    _warm_up(world, columns, seed, methods)
    for turn in range(rounds):
        for size in sizes:
            history = world.history(size, columns, np.random.default_rng([seed, size, turn]))
            for method, run in _one_turn(tasks, in_turn(methods, turn), history, on_run).items():
                seconds[method, size].append(run.seconds * scale.get(method, 1.0))
                if hasattr(run.result, "converged"):
                    converged[method, size].append(run.result.converged)
    return TrainingStudy(
        times=tuple(
            TrainingTime(
                world=world.name,
                method=method,
                ratings=size,
                seconds=Spread(runs=tuple(seconds[method, size])),
                converged_share=_share(converged[method, size]),
                measured_steps=sampler_steps if method == REFERENCE else None,
            )
            for method in methods
            for size in sizes
        )
    )


def _one_turn(
    tasks: Mapping[str, Callable[[History], Any]],
    order: Sequence[str],
    history: History,
    on_run: Callable[[str], None],
) -> dict[str, Timed]:
    """Return what each method made of `history`, and how long it took."""
    runs = {}
    for method in order:
        on_run(f"{LABELS[method]}, {len(history)} ratings")
        with undisturbed():
            runs[method] = timed_again(partial(tasks[method], history))
    return runs


def _tasks(
    prior: ListenerPrior, columns: int, steps: int, seed: int
) -> dict[str, Callable[[History], Any]]:
    """Return for each method how it learns from a history, from scratch."""

    def sampled(history: History) -> Any:
        rng = np.random.default_rng([seed, 1])
        return metropolis.sample(prior, history, steps=steps, rng=rng)

    def collapsed(history: History) -> Any:
        return Mcmc(prior=prior).fit(history, rng=np.random.default_rng([seed, 2]))

    return {
        "metropolis": sampled,
        "mcmc": collapsed,
        "variational-3": Variational(model=content_novelty_diversity(columns)).fit,
        "variational-2": Variational(model=content_novelty(columns)).fit,
        "exact": Exact(prior=prior).fit,
        "least-squares": LeastSquares().fit,
        "least-squares-map": LeastSquares(penalty=prior).fit,
    }


def _warm_up(world: World, columns: int, seed: int, methods: Sequence[str]) -> None:
    """Run everything once, so that no first round pays for loading a library."""
    history = world.history(20, columns, np.random.default_rng([seed, 3]))
    tasks = _tasks(world.prior_for(columns), columns, 10, seed)
    for method in methods:
        tasks[method](history)


def _share(answers: Sequence[bool]) -> float | None:
    return sum(answers) / len(answers) if answers else None
