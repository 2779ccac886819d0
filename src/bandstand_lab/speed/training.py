"""Training times from N ratings, on listeners and songs of two kinds.

`PAPER`  features, taste and recovery time as in the paper's simulation, its prior; the noise,
         which the paper does not tell, has a standard deviation of 1
`STARS`  what the radio meets: standardised features with an intercept, whole stars from 1 to 5,
         the prior for real listeners; the data say less, so the posterior is wider
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.least_squares import LeastSquares, plain
from bandstand.core.engines.mcmc.engine import Mcmc
from bandstand.core.engines.ridge import Ridge
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model.factors import content_novelty
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import ListenerPrior, paper_prior, radio_prior
from bandstand.types import MONTH, Matrix, Vector
from bandstand_lab.simulation.listener import Listener, SimulatedListener, StarListener
from bandstand_lab.speed import metropolis
from bandstand_lab.speed.timing import (
    Estimate,
    Spread,
    geometric_mean,
    growth,
    in_turn,
    paired_ratio,
    power_of,
    timed_again,
    undisturbed,
)

# Songs that were heard before were heard at most this many minutes ago: about two days.
_LONGEST_AGO: Final = 3_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedWorld:
    """A kind of listener, the songs that are played to it, and the prior that fits them."""

    name: str
    prior_for: Callable[[int], ListenerPrior]
    listener_for: Callable[[int, np.random.Generator], Listener]
    intercept: bool

    def features(self, songs: int, columns: int, rng: np.random.Generator) -> Matrix:
        """Return the features of a catalogue: (songs, columns)."""
        features = rng.standard_normal((songs, columns))
        if self.intercept:
            features[:, -1] = 1.0
        return features

    def history(self, ratings: int, columns: int, rng: np.random.Generator) -> History:
        """Return the answers of a new listener: half of the songs are new, half heard lately."""
        listener = self.listener_for(columns, rng)
        lately = rng.uniform(1.0, _LONGEST_AGO, ratings)
        songs = Songs.of(
            features=self.features(ratings, columns, rng),
            elapsed=np.where(rng.uniform(size=ratings) < 0.5, MONTH, lately),
        )
        return History.of(
            features=songs.features,
            elapsed=songs.elapsed,
            ratings=listener.rate(songs, rng),
        )


PAPER: Final = SpeedWorld(
    name="paper",
    prior_for=paper_prior,
    listener_for=SimulatedListener.drawn,
    intercept=False,
)
STARS: Final = SpeedWorld(
    name="stars",
    prior_for=radio_prior,
    listener_for=StarListener.drawn,
    intercept=True,
)


# ── Training times ───────────────────────────────────────────────────────────────────────
# In every round a new simulated listener answers N times, and every method learns from the same
# answers, one after the other. So each round gives one ratio for each pair of methods.
#
# The reference, `metropolis`, is Metropolis within Gibbs with 5,000 steps, which is what one would
# write first. It may be run with fewer steps and scaled up, since every step costs the same;
# then the result says so. L-BFGS-B is there with its gradient, and once more without: by finite
# differences, one evaluation for each coefficient. `ridge` is what LinUCB learns.


REFERENCE: Final = "metropolis"
REFERENCE_STEPS: Final = 5_000
METHODS: Final = (
    *("metropolis", "mcmc", "variational", "exact"),
    *("least-squares", "least-squares-map", "least-squares-differences", "ridge"),
)
# From here on there are several ratings for each of 91 features, and growth is what counts.
LARGE: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStudy:
    """All training times: the rounds by method and number of ratings."""

    runs: Mapping[tuple[str, int], Sequence[float]]  # seconds

    @property
    def sizes(self) -> list[int]:
        """The numbers of ratings, rising."""
        return sorted({size for _, size in self.runs})

    @property
    def methods(self) -> list[str]:
        """The methods that were measured."""
        return [method for method in METHODS if any(method == name for name, _ in self.runs)]

    def seconds(self, method: str, ratings: int) -> Spread:
        """Return the time of one method at one size."""
        return Spread(runs=tuple(self.runs[method, ratings]))

    def ratios(self, above: str, below: str) -> dict[int, Estimate]:
        """Return how many times as long one method takes as another, at each size."""
        return {
            size: geometric_mean(paired_ratio(self.runs[above, size], self.runs[below, size]))
            for size in self.sizes
        }

    def exponent(self, method: str, fewest: int = 0) -> Estimate | None:
        """Return the exponent k of time ~ N^k over the rounds, from sizes of at least `fewest`.

        None from one size.
        """
        times = {size: self.seconds(method, size) for size in self.sizes if size >= fewest}
        return growth(times) if len(times) > 1 else None

    def power(self, method: str, fewest: int = 0) -> Estimate | None:
        """Return the k of a + b·N^k with its interval; None from fewer than three sizes."""
        return power_of({size: self.seconds(method, size) for size in self.sizes if size >= fewest})


def train(
    *, ratings: int, turn: int, seed: int, columns: int, sampler_steps: int
) -> dict[str, float]:
    """Return how long each method learned from one listener of the paper, in seconds; a job."""
    warm_up(columns, seed)
    history = PAPER.history(ratings, columns, np.random.default_rng([seed, ratings, turn]))
    tasks = learners(PAPER.prior_for(columns), columns, sampler_steps, seed)
    scale = {REFERENCE: REFERENCE_STEPS / sampler_steps}
    found = {}
    for method in in_turn(METHODS, turn):
        with undisturbed():
            seconds = timed_again(partial(tasks[method], history)).seconds
        found[method] = seconds * scale.get(method, 1.0)
    return found


def warm_up(columns: int, seed: int) -> None:
    """Run everything once, so that no first round pays for loading a library."""
    history = PAPER.history(20, columns, np.random.default_rng([seed, 3]))
    tasks = learners(PAPER.prior_for(columns), columns, 10, seed, effective_draws=100)
    for method in METHODS:
        tasks[method](history)


# ── Methods ──────────────────────────────────────────────────────────────────────────────


def learners(
    prior: ListenerPrior, columns: int, steps: int, seed: int, effective_draws: int = 2_000
) -> dict[str, Callable[[History], Any]]:
    """Return for each method how it learns from a history, from scratch."""

    def sampled(history: History) -> Any:
        rng = np.random.default_rng([seed, 1])
        return metropolis.sample(prior, history, steps=steps, rng=rng)

    def collapsed(history: History) -> Any:
        engine = Mcmc(prior=prior, effective_draws=effective_draws)
        return engine.fit(history, rng=np.random.default_rng([seed, 2]))

    return {
        "metropolis": sampled,
        "mcmc": collapsed,
        "variational": Variational(model=content_novelty(columns)).fit,
        "exact": Exact(prior=prior).fit,
        "least-squares": LeastSquares().fit,
        "least-squares-map": LeastSquares(penalty=prior).fit,
        "least-squares-differences": _without_gradient,
        "ridge": Ridge().fit,
    }


def _without_gradient(history: History) -> Any:
    """Return what L-BFGS-B finds with its usual tolerances if it has to work out the gradient."""
    from scipy.optimize import minimize  # noqa: PLC0415  (as in `LeastSquares`: slow to import)

    unit = float(np.abs(history.ratings).max()) or 1.0
    both = plain(history, unit)

    def objective(place: Vector) -> float:
        return both(place)[0]

    free: list[tuple[float | None, float | None]] = [(None, None)] * history.columns
    return minimize(
        objective,
        np.append(np.zeros(history.columns), math.log(300.0)),
        method="L-BFGS-B",
        bounds=[*free, (0.0, 17 * math.log(2.0))],
        options={"maxfun": 1_000_000},
    )
