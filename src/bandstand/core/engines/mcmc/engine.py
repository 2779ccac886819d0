"""MCMC on the exact model: the paper's Bayes-UCB-CN.

Four chains (see `collapsed_chain`) run until there are as many effective draws as were
asked for and the gate of Vehtari et al. is passed, for the recovery time and for the
expected ratings of a few songs. A belief that does not pass says `converged = False`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.engines.exact.posterior import conjugate
from bandstand.core.engines.mcmc import diagnostics, slice_sampling
from bandstand.core.engines.mcmc.collapsed_chain import Draws, collapsed_density, joined, run
from bandstand.core.engines.mcmc.sample_prediction import SamplePrediction
from bandstand.core.model.novelty import novelty
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.core.engines.exact.posterior.conjugate import Conditional
    from bandstand.core.engines.mcmc.diagnostics import Convergence
    from bandstand.core.engines.mcmc.slice_sampling import LogDensity
    from bandstand.core.model.history import History
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.core.model.songs import Songs
    from bandstand.types import Matrix, Vector

CHAINS: Final = 4
# The chains start anywhere in a table of this many log recovery times, …
_PILOTS: Final = 32
# … each with this power of its posterior density: spread out, but not lost.
_TEMPER: Final = 0.25
# Slice sampling spends least on a window of about four standard deviations.
_WIDTH_IN_DEVIATIONS: Final = 4.0
# Songs whose expected rating is watched beside the recovery time.
_PROBES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class McmcBelief:
    """The posterior of (θ, s, τ) as draws, and how far they can be trusted."""

    history: History
    shape: float
    draws: Draws
    convergence: Mapping[str, Convergence]

    @property
    def converged(self) -> bool:
        """Whether every watched quantity passed: split R-hat < 1.01, both ESS at least 400."""
        return all(one.reached for one in self.convergence.values())

    @property
    def effective_draws(self) -> float:
        """The smallest bulk effective sample size of what is watched."""
        return min(one.bulk_ess for one in self.convergence.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Mcmc(Engine[McmcBelief]):
    """The sampling engine: four chains, until `effective_draws` are in and R-hat is below 1.01.

    At most `most_draws` are drawn; a belief that has not converged by then says so.

    >>> from bandstand import History, Songs
    >>> from bandstand.core.model.priors import paper_prior
    >>> history = History.of(features=[[1.0], [2.0], [1.5]], elapsed=43_200, ratings=[2, 4, 3.1])
    >>> engine = Mcmc(prior=paper_prior(1))
    >>> belief = engine.fit(history, rng=np.random.default_rng(1))
    >>> belief.converged
    True
    >>> engine.predict(belief, Songs.of(features=[[1.0]], elapsed=43_200)).mean().round(1)
    array([2.])
    """

    online: ClassVar[bool] = False
    prior: ListenerPrior
    effective_draws: int = 2_000
    most_draws: int = 20_000
    warm_up: int = 25  # draws of each chain that are thrown away

    def __post_init__(self) -> None:
        """Refuse settings that leave nothing to look at."""
        if self.effective_draws < 1 or self.warm_up < 2:
            msg = (
                "effective_draws must be at least 1 and warm_up at least 2, "
                f"got {self.effective_draws} and {self.warm_up}"
            )
            raise InvalidInputError(msg)
        if self.most_draws < CHAINS * diagnostics.FEWEST_DRAWS:
            fewest = CHAINS * diagnostics.FEWEST_DRAWS
            msg = f"most_draws must be at least {fewest}, got {self.most_draws}"
            raise InvalidInputError(msg)

    def fit(self, history: History, *, rng: np.random.Generator) -> McmcBelief:
        """Return the belief after `history`; the chains start far apart."""
        columns = self.prior.preference.columns
        if history.columns != columns:
            msg = (
                f"the history must have {columns} features as the prior has, got {history.columns}"
            )
            raise InvalidInputError(msg)
        density = collapsed_density(self.prior, history)
        starts, width = _starts(self.prior, density, rng)
        return self._sample(history, starts, width, self.warm_up, rng)

    def update(
        self, belief: McmcBelief, history: History, *, rng: np.random.Generator
    ) -> McmcBelief:
        """Return the belief after `history`; the chains start where the belief's ended."""
        if len(history) != len(belief.history) + 1:
            return self.fit(history, rng=rng)
        places = belief.draws.log_recovery_times
        # One answer moves the posterior by a fraction of its width: a few draws forget it.
        warm_up = max(2, self.warm_up // 5)
        return self._sample(history, places[:, -1], _width(places), warm_up, rng)

    def predict(self, belief: McmcBelief, songs: Songs, *, memory: None = None) -> SamplePrediction:
        """Return the prediction of `songs`, made of the belief's draws."""
        del memory
        columns = self.prior.preference.columns
        if songs.features.shape[1] != columns:
            msg = f"songs must have {columns} features, got {songs.features.shape[1]}"
            raise InvalidInputError(msg)
        preferences = belief.draws.preferences
        return SamplePrediction(
            songs=songs,
            preferences=None if preferences is None else preferences.reshape(-1, columns),
            recovery_times=belief.draws.recovery_times.ravel(),
            degrees_of_freedom=2 * belief.shape,
        )

    def plan(self, belief: McmcBelief, song: Songs) -> McmcBelief:
        """Return the belief itself: draws cannot grow certain without a rating."""
        del song
        return belief

    def summary(self, belief: McmcBelief) -> Summary:
        """Return mean and standard deviation of the recovery time, and E[σ | D]."""
        times, precisions = belief.draws.recovery_times, belief.draws.noise_precisions
        noise = None
        if precisions is not None and belief.shape > 0.5:
            noise = float((1 / np.sqrt(precisions)).mean())
        return Summary(
            recovery_time_mean=float((times / times.size).sum()),
            recovery_time_sd=diagnostics.spread(times),
            noise_sd=noise,
        )

    def _sample(
        self, history: History, starts: Vector, width: float, warm_up: int, rng: np.random.Generator
    ) -> McmcBelief:
        """Return the belief of four chains that run on until there are enough draws."""
        density = collapsed_density(self.prior, history)
        shape = conjugate.shape(self.prior, len(history))
        states = [slice_sampling.init(float(start), density) for start in starts]
        states, draws = run(states, density, shape=shape, length=warm_up, width=width, rng=rng)
        width = _width(draws.log_recovery_times[:, warm_up // 2 :])

        wanted = math.ceil(self.effective_draws / CHAINS)
        length = min(max(wanted, diagnostics.FEWEST_DRAWS), self.most_draws // CHAINS)
        states, draws = run(states, density, shape=shape, length=length, width=width, rng=rng)
        while True:
            belief = McmcBelief(
                history=history, shape=shape, draws=draws, convergence=_assess(draws, history)
            )
            length = self._missing(belief)
            if not length:
                return belief
            states, more = run(states, density, shape=shape, length=length, width=width, rng=rng)
            draws = joined(draws, more)

    def _missing(self, belief: McmcBelief) -> int:
        """Return how many more draws each chain should make."""
        length = belief.draws.log_recovery_times.shape[1]
        shortfall = self.effective_draws / belief.effective_draws - 1
        if shortfall <= 0 and belief.converged:
            return 0
        wanted = math.ceil(length * min(max(1.1 * shortfall, 0.1), 1.0))
        return min(wanted, self.most_draws // CHAINS - length)


def _starts(
    prior: ListenerPrior, density: LogDensity[Conditional], rng: np.random.Generator
) -> tuple[Vector, float]:
    """Return log recovery times to start at, further apart than draws would be, and a width."""
    low, high = prior.recovery.interval()
    spacing = (high - low) / _PILOTS
    places = low + spacing * (np.arange(_PILOTS) + 0.5)
    values = np.array([density(float(place))[0] for place in places])
    with np.errstate(under="ignore"):
        shares = np.exp(_TEMPER * (values - values.max()))
    picked = rng.choice(places, CHAINS, p=shares / shares.sum())
    return picked + spacing * rng.uniform(-0.5, 0.5, CHAINS), spacing


def _width(log_recovery_times: Matrix) -> float:
    """Return the width that slice sampling spends least on, judged by some draws."""
    deviation = diagnostics.spread(log_recovery_times - log_recovery_times.mean())
    # Draws that agree to the last bit still need a window to move in.
    return max(_WIDTH_IN_DEVIATIONS * deviation, 1e-12)


def _assess(draws: Draws, history: History) -> dict[str, Convergence]:
    """Return the diagnostics of the recovery time and of a few of the listener's songs."""
    # Ranks of s are the ranks of log s, which never overflows.
    convergence = {"recovery_time": diagnostics.assess(draws.log_recovery_times)}
    if draws.preferences is None:
        return convergence
    rows = np.unique(np.linspace(0, len(history) - 1, _PROBES).astype(np.intp))
    for row in rows if len(history) else ():
        content = draws.preferences @ history.features[row]
        with np.errstate(under="ignore"):
            ratings = content * novelty(history.elapsed[row], draws.recovery_times)
        convergence[f"rating {row}"] = diagnostics.assess(ratings)
    return convergence
