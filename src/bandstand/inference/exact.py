"""The exact engine: quadrature over the recovery time, everything else in closed form.

Given s the model is conjugate linear regression, so only s has to be integrated
numerically: (8) to (13). Deterministic, online, and it has no sampling error.

code                    maths   shape      meaning, for each node g of a grid in y = log s
`grid`                  y_g     (G,)       the nodes, in rising order
`means`                 m_g     (G, p)     expected preference given s_g
`covariances`           Λ_g⁻¹   (G, p, p)  covariance of θ given s_g, in units of the noise variance
`log_determinants`              (G,)       log|Λ_g|
`rates`                 B_g     (G,)       rate of the noise precision given s_g
`shape`                 A                  its shape, the same for all nodes

An answer is a rank-one update of every node (14). The grid is placed anew from the
history when it no longer resolves the posterior, about each time the history doubles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from scipy.linalg.blas import dger
from scipy.special import gammaln

from bandstand.arrays import frozen
from bandstand.errors import InvalidInputError
from bandstand.inference import conjugate, recovery_grid
from bandstand.inference.conjugate_grid import GridSolver
from bandstand.inference.engine import Summary
from bandstand.inference.exact_prediction import ExactPrediction
from bandstand.inference.search_memory import SearchMemory
from bandstand.inference.song_table import SongTable
from bandstand.model.novelty import novelty

if TYPE_CHECKING:
    from bandstand.arrays import Matrix, Stack, Vector
    from bandstand.domain import History, Songs
    from bandstand.inference.recovery_grid import RecoveryGrid
    from bandstand.model.priors import ListenerPrior

# What is smaller than any number is zero, here and below.
_tiny_is_zero: Final = np.errstate(under="ignore")
# Rounding grows with every rank-one update; a fresh factorisation now and then removes it.
_MOST_UPDATES: Final = 512
# An answer that shrinks a variance by more than this factor loses too many digits online.
_LARGEST_SHRINKAGE: Final = 1e6


@dataclass(frozen=True, kw_only=True)
class ExactBelief:
    """The posterior of (θ, s, τ) as a mixture over the nodes of a grid in log s."""

    prior: ListenerPrior
    history: History
    shape: float
    grid: RecoveryGrid
    means: Matrix
    covariances: Stack
    log_determinants: Vector
    rates: Vector
    resolved: bool = True  # whether the grid holds the posterior to the promised digits
    updates: int = 0  # rank-one updates since the last factorisation
    # Songs heard in thought only (`plan`): what it was before, and by which a/√q Λ⁻¹ has shrunk.
    unplanned: ExactBelief | None = None
    planned: tuple[Matrix, ...] = ()

    @cached_property
    def log_density(self) -> Vector:
        """The logarithm of the posterior density at the nodes, up to a constant: (12).

        It is a density of v, in which the grid is even.
        """
        prior = self.prior.recovery.log_density(self.log_recovery_times)
        evidence = -0.5 * self.log_determinants - self.shape * np.log(self.rates)
        return np.asarray(prior + evidence + self.grid.log_stretch())

    @cached_property
    def weights(self) -> Vector:
        """The weight of each node in the mixture: (G,), they sum to one."""
        return recovery_grid.weights(self.log_density)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of every component, 2A."""
        return 2 * self.shape

    @cached_property
    def log_recovery_times(self) -> Vector:
        """The nodes y = log s: (G,)."""
        return self.grid.log_times(self.grid.places)

    @cached_property
    def recovery_times(self) -> Vector:
        """The recovery time of each node in minutes: (G,)."""
        return recovery_grid.times(self.log_recovery_times)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """The exact engine; its prior may have any mean and covariance.

    >>> from bandstand.domain import History, Songs
    >>> from bandstand.model.priors import paper_prior
    >>> history = History.of(features=[[1.0], [2.0], [1.5]], elapsed=43_200, ratings=[2, 4, 3.1])
    >>> engine = Exact(prior=paper_prior(1))
    >>> belief = engine.fit(history)
    >>> engine.predict(belief, Songs.of(features=[[1.0]], elapsed=43_200)).mean().round(2)
    array([1.99])
    """

    online: ClassVar[bool] = True
    prior: ListenerPrior

    @_tiny_is_zero
    def fit(self, history: History, *, rng: np.random.Generator | None = None) -> ExactBelief:
        """Return the belief after `history`; nothing is drawn, so `rng` is not used."""
        del rng
        self._check(history)
        return _place(self.prior, history)

    @_tiny_is_zero
    def update(
        self, belief: ExactBelief, history: History, *, rng: np.random.Generator | None = None
    ) -> ExactBelief:
        """Return the belief after one more answer, by a rank-one update of every node (14)."""
        if len(history) != len(belief.history) + 1 or belief.unplanned is not None:
            return self.fit(history, rng=rng)
        updated = _absorb(belief, history)
        if updated is None or updated.updates >= _MOST_UPDATES:
            return _place(belief.prior, history)
        if recovery_grid.serves(updated.grid, updated.log_density):
            return updated
        return _place(belief.prior, history)

    def predict(
        self, belief: ExactBelief, songs: Songs, *, memory: SearchMemory | None = None
    ) -> ExactPrediction:
        """Return the prediction of `songs`: mixtures of Student t distributions (13)."""
        if songs.features.shape[1] != self.prior.preference.columns:
            msg = (
                f"songs must have {self.prior.preference.columns} features, "
                f"got {songs.features.shape[1]}"
            )
            raise InvalidInputError(msg)
        return ExactPrediction(belief=belief, songs=songs, memory=memory)

    @_tiny_is_zero
    def plan(self, belief: ExactBelief, song: Songs) -> ExactBelief:
        """Return the belief as if `song` had been heard: only Λ grows, what is expected stays."""
        rows = _rows(belief, song.features[0], float(song.elapsed[0]))
        towards, shrinkage = _direction(belief, rows, 1.0)
        return replace(
            belief,
            covariances=_shrunk(belief.covariances, towards, shrinkage, 1.0),
            unplanned=belief.unplanned or belief,
            planned=(*belief.planned, frozen(towards / np.sqrt(shrinkage)[:, np.newaxis])),
        )

    def remember(self, songs: Songs, *, shared: SongTable | None = None) -> SearchMemory:
        """Return room for bounds on the songs' variances, which spare most of the work."""
        return SearchMemory(shared or SongTable.of(songs.features))

    @_tiny_is_zero
    def summary(self, belief: ExactBelief) -> Summary:
        """Return mean and standard deviation of the recovery time, and E[σ | D]."""
        times, share = belief.recovery_times, belief.weights
        mean = float(share @ times)
        away = np.abs(times - mean)
        unit = float(away.max()) or 1.0  # so that no square overflows
        spread = unit * float(np.sqrt(share @ (away / unit) ** 2))
        if belief.shape <= 0.5:
            return Summary(recovery_time_mean=mean, recovery_time_sd=spread)
        ratio = np.exp(gammaln(belief.shape - 0.5) - gammaln(belief.shape))
        noise = float(share @ np.sqrt(belief.rates) * ratio)
        return Summary(recovery_time_mean=mean, recovery_time_sd=spread, noise_sd=noise)

    def _check(self, history: History) -> None:
        if history.columns != self.prior.preference.columns:
            msg = (
                f"the history must have {self.prior.preference.columns} features "
                f"as the prior has, got {history.columns}"
            )
            raise InvalidInputError(msg)


def _place(prior: ListenerPrior, history: History) -> ExactBelief:
    """Return the belief after `history` on a grid that fits it."""
    shape, solver = conjugate.shape(prior, len(history)), GridSolver(prior, history)

    def log_density(nodes: Vector) -> Vector:
        return prior.recovery.log_density(nodes) + solver.at(
            recovery_grid.times(nodes)
        ).log_evidence(shape)

    resolved = False
    for grid, learn in recovery_grid.candidates(log_density, prior.recovery.interval()):
        found = solver.at(recovery_grid.times(grid.log_times(grid.places)))
        density = prior.recovery.log_density(grid.log_times(grid.places)) + found.log_evidence(
            shape
        )
        resolved = recovery_grid.serves(grid, density + grid.log_stretch())
        if resolved:
            break
        learn(density)
    return ExactBelief(
        prior=prior,
        history=history,
        shape=shape,
        grid=grid,
        means=found.means,
        covariances=found.covariances(),
        log_determinants=frozen(found.log_determinants),
        rates=found.rates,
        resolved=resolved,
    )


def _absorb(belief: ExactBelief, history: History) -> ExactBelief | None:
    """Return the belief after the last answer (14), or None if digits would be lost."""
    weight, rating = float(history.weights[-1]), float(history.ratings[-1])
    rows = _rows(belief, history.features[-1], float(history.elapsed[-1]))
    towards, growth = _direction(belief, rows, weight)  # a = Λ⁻¹z and q
    if growth.max() > _LARGEST_SHRINKAGE:
        return None
    error = rating - np.einsum("gp,gp->g", rows, belief.means)  # e
    step = weight * error / growth
    return replace(
        belief,
        history=history,
        shape=belief.shape + 0.5,
        means=frozen(belief.means + towards * step[:, np.newaxis]),
        covariances=_shrunk(belief.covariances, towards, growth, weight),
        log_determinants=frozen(belief.log_determinants + np.log(growth)),
        rates=frozen(belief.rates + 0.5 * step * error),
        updates=belief.updates + 1,
    )


def _rows(belief: ExactBelief, features: Vector, elapsed: float) -> Matrix:
    """Return z = x·u(t; s_g) for each node: (G, p)."""
    heard: Matrix = novelty(elapsed, belief.recovery_times)[:, np.newaxis] * features
    return heard


def _direction(belief: ExactBelief, rows: Matrix, weight: float) -> tuple[Matrix, Vector]:
    """Return a = Λ⁻¹z and q = 1 + w z'Λ⁻¹z for each node."""
    towards = np.matmul(belief.covariances, rows[:, :, np.newaxis])[:, :, 0]
    return towards, 1 + weight * np.einsum("gp,gp->g", rows, towards)


def _shrunk(covariances: Stack, towards: Matrix, growth: Vector, weight: float) -> Stack:
    """Return Λ⁻¹ − w aa'/q, symmetric to the last bit."""
    scaled = towards * np.sqrt(weight / growth)[:, np.newaxis]
    result = covariances.copy()
    for covariance, direction in zip(result, scaled, strict=True):
        # In place: the transpose is what Fortran expects, and the matrix is symmetric.
        dger(-1.0, direction, direction, a=covariance.T, overwrite_a=1)
    shrunk: Stack = frozen(result)
    return shrunk
