"""MCMC on the exact model: the paper's Bayes-UCB-CN.

Four chains (`chains`) run until there are as many effective draws as were asked for and R-hat and
the effective sample sizes are as Vehtari et al. require, for the recovery time and for the
expected ratings of a few songs. A belief that does not reach this says `converged = False`. The
prediction is what U would be under each drawn listener.

code                 maths  shape   meaning
`preferences`        θ      (D, p)  one drawn listener per row; None where none can be drawn
`recovery_times`     s      (D,)    of the same listeners, in minutes
`degrees_of_freedom` 2A             of the tails of p(U | D), which say what exists

Draws are always finite, but the averages that they stand for may not exist: the mean
needs more than one degree of freedom, the standard deviation more than two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.engines.exact.posterior import conjugate
from bandstand.core.engines.mcmc import diagnostics
from bandstand.core.engines.mcmc.chains import Draws, collapsed_density, joined, run, start_chain
from bandstand.core.model.candidates import allowed_of, best_rows
from bandstand.core.model.history import SONGS_PER_BLOCK
from bandstand.core.model.novelty import novelty
from bandstand.errors import InvalidInputError
from bandstand.types import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bandstand.core.engines.exact.posterior.conjugate import Conditional
    from bandstand.core.engines.mcmc.chains import LogDensity
    from bandstand.core.engines.mcmc.diagnostics import Convergence
    from bandstand.core.model.candidates import Choice
    from bandstand.core.model.history import History, Songs
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import Indices, Matrix, Rows, Vector

CHAINS: Final = 4
# The chains start anywhere in a table of this many log recovery times, …
_START_POINTS: Final = 32
# … each with this power of its posterior density: spread out, but not lost.
_TEMPERING_POWER: Final = 0.25
# Slice sampling spends least on a window of about four standard deviations.
_WIDTH_IN_DEVIATIONS: Final = 4.0
# Songs whose expected rating is watched beside the recovery time.
_WATCHED_SONGS: Final = 3
# Numbers held at a time for each table of songs by draws: 16 MB, whatever the catalogue.
_MAX_ENTRIES: Final = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePrediction:
    """p(U | D) of each song as draws."""

    songs: Songs
    preferences: Matrix | None = field(repr=False)
    recovery_times: Vector = field(repr=False)
    degrees_of_freedom: float

    def __len__(self) -> int:
        return len(self.songs)

    def mean(self) -> Vector | None:
        """Return the mean of the draws, where p(U | D) has one."""
        if self.preferences is None or self.degrees_of_freedom <= 1:
            return None
        return self._for_each_song(self.preferences, lambda table: table.mean(axis=1))

    def standard_deviation(self) -> Vector | None:
        """Return the standard deviation of the draws, where p(U | D) has one."""
        if self.preferences is None or self.degrees_of_freedom <= 2:
            return None
        return self._for_each_song(self.preferences, lambda table: table.std(axis=1))

    def quantile(self, level: float) -> Vector | None:
        """Return the empirical quantile of the draws."""
        if self.preferences is None:
            return None
        return self._for_each_song(self.preferences, _quantile(level))

    def sample(self, rng: np.random.Generator, size: int) -> Matrix | None:
        """Return the expected ratings of `size` listeners picked among the drawn: (size, S)."""
        if self.preferences is None:
            return None
        picked = rng.integers(len(self.recovery_times), size=size)
        drawn = np.empty((size, len(self)))
        for rows in blocks(len(self), _songs_at_a_time(size)):
            drawn[:, rows] = _ratings(
                self.songs, rows, self.preferences[picked], self.recovery_times[picked]
            ).T
        return drawn

    def parts(self) -> dict[str, Vector]:
        """Return the expected liking of the content alone and the expected novelty now."""
        parts: dict[str, Vector] = {}
        if self.preferences is not None and self.degrees_of_freedom > 1:
            parts["content"] = self.songs.content(self.preferences.mean(axis=0))
        # All songs that were not heard lately have one novelty.
        curves = np.full(len(self), self._novelty(self.songs.longest))
        heard = self.songs.heard
        times, which = np.unique(self.songs.elapsed_of(heard), return_inverse=True)
        curves[heard] = np.array([self._novelty(time) for time in times])[which]
        return {**parts, "novelty": curves}

    def best_by_quantile(self, level: float, count: int, allowed: Choice) -> Indices:
        """Return the rows of the `count` largest quantiles among `allowed`, best first."""
        rows = allowed_of(allowed, len(self)).rows()
        if self.preferences is None:
            return rows[:0]
        scores = self._for_each_song(self.preferences, _quantile(level), rows)
        return rows[best_rows(scores, count, np.arange(len(rows)))]

    def _novelty(self, elapsed: float) -> float:
        return float(novelty(elapsed, self.recovery_times).mean())

    def _for_each_song(
        self,
        preferences: Matrix,
        function: Callable[[Matrix], Vector],
        rows: Indices | None = None,
    ) -> Vector:
        """Return `function` of the draws of each song, or of those in `rows`, some at a time."""
        count = len(self) if rows is None else len(rows)
        values = np.empty(count)
        for places in blocks(count, _songs_at_a_time(len(self.recovery_times))):
            some = places if rows is None else rows[places]
            with np.errstate(under="ignore"):
                values[places] = function(
                    _ratings(self.songs, some, preferences, self.recovery_times)
                )
        return values


def _quantile(level: float) -> Callable[[Matrix], Vector]:
    return lambda table: np.quantile(table, level, axis=1, overwrite_input=True)


def _songs_at_a_time(draws: int) -> int:
    return min(max(1, _MAX_ENTRIES // max(draws, 1)), SONGS_PER_BLOCK)


def _ratings(songs: Songs, rows: Rows, preferences: Matrix, recovery_times: Vector) -> Matrix:
    """Return U (3) of the songs in `rows` under each drawn listener: (n, D)."""
    # Most songs of a catalogue share an elapsed time: never heard.
    times, which = np.unique(songs.elapsed_of(rows), return_inverse=True)
    with np.errstate(under="ignore"):
        ratings: Matrix = songs.features_of(rows) @ preferences.T
        ratings *= novelty(times[:, np.newaxis], recovery_times)[which]
    return ratings


@dataclass(frozen=True, slots=True, kw_only=True)
class McmcBelief:
    """The posterior of (θ, s, τ) as draws, and how far they can be trusted."""

    history: History
    shape: float
    draws: Draws = field(repr=False)
    convergence: Mapping[str, Convergence] = field(repr=False)

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
        if self.most_draws < CHAINS * diagnostics.MIN_DRAWS:
            fewest = CHAINS * diagnostics.MIN_DRAWS
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
        songs.require_columns(columns)
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
        states = [start_chain(float(start), density) for start in starts]
        states, draws = run(states, density, shape=shape, length=warm_up, width=width, rng=rng)
        width = _width(draws.log_recovery_times[:, warm_up // 2 :])

        wanted = math.ceil(self.effective_draws / CHAINS)
        length = min(max(wanted, diagnostics.MIN_DRAWS), self.most_draws // CHAINS)
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
    spacing = (high - low) / _START_POINTS
    places = low + spacing * (np.arange(_START_POINTS) + 0.5)
    values = np.array([density(float(place))[0] for place in places])
    with np.errstate(under="ignore"):
        shares = np.exp(_TEMPERING_POWER * (values - values.max()))
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
    rows = np.unique(np.linspace(0, len(history) - 1, _WATCHED_SONGS).astype(np.intp))
    for row in rows if len(history) else ():
        content = draws.preferences @ history.features[row]
        with np.errstate(under="ignore"):
            ratings = content * novelty(history.elapsed[row], draws.recovery_times)
        convergence[f"rating {row}"] = diagnostics.assess(ratings)
    return convergence
