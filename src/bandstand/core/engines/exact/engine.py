"""The exact engine: quadrature over the recovery time, everything else in closed form.

Given s the model is conjugate linear regression, so only s has to be integrated
numerically: (8) to (13). Deterministic, online, and it has no sampling error.

An answer is a rank-one update of every node (14). The grid is placed again from the
history when it no longer resolves the posterior, about each time the history doubles. That costs
N·p², so `rebuilt` does it ahead of time, for those who can wait.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Final

import numpy as np
from scipy.special import gammaln

from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.engines.exact import scales
from bandstand.core.engines.exact.posterior import conjugate, recovery_grid
from bandstand.core.engines.exact.posterior.belief import ExactBelief, PlannedPlay
from bandstand.core.engines.exact.posterior.covariance_stack import Diagonal
from bandstand.core.engines.exact.posterior.effects_solver import EffectGrid, EffectSolver
from bandstand.core.engines.exact.posterior.general_solver import (
    ConditionalGrid,
    GridSolver,
    most_common,
)
from bandstand.core.engines.exact.posterior.shared_elapsed_solver import CommonGrid, CommonSolver
from bandstand.core.engines.exact.prediction import ExactPrediction
from bandstand.core.engines.exact.search.candidate_list import SearchCache
from bandstand.core.engines.exact.search.equal_songs import kinds_of
from bandstand.core.engines.song_table import SongTable
from bandstand.core.model.history import History, Songs
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import ListenerPrior
from bandstand.errors import InvalidInputError
from bandstand.types import Features, Vector, frozen

__all__ = ["Exact", "ExactBelief"]

# What is smaller than any number is zero, here and below.
_tiny_is_zero: Final = np.errstate(under="ignore")
# Rounding grows with every rank-one update; a fresh factorisation now and then removes it.
_MAX_UPDATES: Final = 512
# With these shares used up the grid will soon have to move: how well it must resolve the
# posterior, which one answer may change a good deal, and how many answers it may take.
_REBUILD_ERROR: Final = 0.2
_REBUILD_LENGTH: Final = 0.5
# Where matrices are not written out each answer since makes every look at a song dearer, and a
# fresh grid is cheap.
_MAX_UPDATES_OF_SMALL: Final = 6
_REBUILD_UPDATES: Final = 1
# Up to this number of songs all quantiles are computed: that takes less than a search.
_COMPUTED_UP_TO: Final = 64
# A grid that is off by this much tells nothing about where the posterior is.
_MAX_KNOWN_ERROR: Final = 100.0
# An answer that shrinks a variance by more than this factor loses too many digits online.
_LARGEST_SHRINKAGE: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact(Engine[ExactBelief]):
    """The exact engine; its prior may have any mean and covariance.

    >>> from bandstand import History, Songs
    >>> from bandstand.core.model.priors import paper_prior
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
        return _place(scales.scaled(self.prior, history), history)

    @_tiny_is_zero
    def update(
        self, belief: ExactBelief, history: History, *, rng: np.random.Generator | None = None
    ) -> ExactBelief:
        """Return the belief after one more answer, by a rank-one update of every node (14)."""
        is_next = len(history) == len(belief.history) + 1 and not belief.has_planned_plays
        if not is_next or scales.are_due(self.prior, history):
            return self.fit(history, rng=rng)
        updated = _absorb(belief, history)
        if updated is None:
            return _place(belief.prior, history)
        return updated if max(_grid_error(updated), _length(updated)) <= 1 else _replaced(updated)

    @_tiny_is_zero
    def needs_rebuild(self, belief: ExactBelief) -> bool:
        """Return whether the grid will soon not serve; this takes microseconds."""
        if belief.has_planned_plays or not belief.updates:
            return False
        if isinstance(belief.learned.base, Diagonal) and belief.updates >= _REBUILD_UPDATES:
            return True
        return _grid_error(belief) > _REBUILD_ERROR or _length(belief) > _REBUILD_LENGTH

    @_tiny_is_zero
    def rebuilt(self, belief: ExactBelief) -> ExactBelief:
        """Return the same belief on a fresh grid if the present one will soon not serve.

        A fresh grid takes as long as `fit`, so this is for the time between two answers: the next
        `update` then need not do it.
        """
        return _replaced(belief) if self.needs_rebuild(belief) else belief

    def is_converged(self, belief: ExactBelief) -> bool:
        """Return whether the grid holds the posterior to the promised digits."""
        return belief.is_converged

    def shares_arrays(self, belief: ExactBelief, earlier: ExactBelief) -> bool:
        """Return whether both differ by rank-one updates of the same matrices."""
        same: bool = belief.learned.base is earlier.learned.base
        return same

    def predict(
        self, belief: ExactBelief, songs: Songs, *, memory: SearchCache | None = None
    ) -> ExactPrediction:
        """Return the prediction of `songs`: mixtures of Student t distributions (13)."""
        songs.require_columns(belief.means.shape[1])
        return ExactPrediction(belief=belief, songs=songs, memory=memory)

    def plan(self, belief: ExactBelief, song: Songs) -> ExactBelief:
        """Return the belief as if `song` had been heard: only Λ grows, what is expected stays."""
        features = np.asarray(song.features[0], dtype=np.float64)
        elapsed, groups = float(song.elapsed[0]), song.groups_of([0])
        return belief.with_planned_play(
            PlannedPlay(features=features, elapsed=elapsed, groups=groups)
        )

    def new_cache(
        self, features: Features, *, table: SongTable | None = None
    ) -> SearchCache | None:
        """Return an empty cache for searches of one catalogue; None if it is too small for any."""
        if len(features) <= _COMPUTED_UP_TO:
            return None
        if table is not None:
            return SearchCache(table)
        return SearchCache(SongTable.of(features), kinds=kinds_of(features))

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


def _replaced(belief: ExactBelief) -> ExactBelief:
    """Return the same belief on a fresh grid; where it lies is mostly known by the old one."""
    known = None
    if _grid_error(belief) < _MAX_KNOWN_ERROR:
        known = (belief.grid.log_nodes, belief.log_density - belief.grid.log_stretch)
    return _place(belief.prior, belief.history, known)


def _place(
    prior: ListenerPrior, history: History, known: tuple[Vector, Vector] | None = None
) -> ExactBelief:
    """Return the belief after `history` on a grid that fits it."""
    shape = conjugate.shape(prior, history.weights)
    density = _Density(prior, _solver(prior, history), shape)
    grid, is_converged = recovery_grid.place(density, prior.recovery.interval(), known)
    means, spread = density.found.beliefs()
    return ExactBelief(
        prior=prior,
        history=history,
        shape=shape,
        grid=grid,
        means=means,
        learned=spread,
        log_determinants=frozen(density.found.log_determinants),
        rates=frozen(density.found.rates),
        is_converged=is_converged,
    )


def _solver(prior: ListenerPrior, history: History) -> GridSolver | CommonSolver | EffectSolver:
    """Return what conditions on recovery times soonest without losing digits."""
    if prior.effects.total > 0:
        return EffectSolver(prior, history)
    common = most_common(history.elapsed)
    if CommonSolver.suits(history, common):
        solver = CommonSolver(prior, history, common)
        if solver.is_safe:
            return solver
    return GridSolver(prior, history)


class _Density:
    """The log density of y, up to a constant; it keeps what it found at the last nodes."""

    found: ConditionalGrid | CommonGrid | EffectGrid

    def __init__(
        self,
        prior: ListenerPrior,
        solver: GridSolver | CommonSolver | EffectSolver,
        shape: float,
    ) -> None:
        self._prior, self._solver, self._shape = prior, solver, shape

    def __call__(self, nodes: Vector) -> Vector:
        self.found = self._solver.at(recovery_grid.times(nodes))
        return self._prior.recovery.log_density(nodes) + self.found.log_evidence(self._shape)


def _grid_error(belief: ExactBelief) -> float:
    """Return how badly the grid resolves the posterior; above 1 it has to be placed again."""
    return recovery_grid.grid_error(belief.grid, belief.log_density)


def _length(belief: ExactBelief) -> float:
    """Return how many answers the grid has taken, as a share of all that it may take."""
    is_small = isinstance(belief.learned.base, Diagonal)
    return belief.updates / (_MAX_UPDATES_OF_SMALL if is_small else _MAX_UPDATES)


def _absorb(belief: ExactBelief, history: History) -> ExactBelief | None:
    """Return the belief after the last answer (14), or None if digits would be lost."""
    weight, rating = float(history.weights[-1]), float(history.ratings[-1])
    song = history.songs.take([len(history) - 1])
    curve: Vector = novelty(float(song.elapsed[0]), belief.grid.nodes)
    features, groups = song.features_of([0])[0], song.groups_of([0])
    towards, variance = belief.towards(belief.learned, features, groups)
    towards = curve[:, np.newaxis] * towards
    growth = 1 + weight * curve**2 * variance  # w q
    # No variance grows with an answer, unless digits are lost already.
    if not (growth.min() > 0.5 and growth.max() <= _LARGEST_SHRINKAGE):
        return None
    error = rating - curve * belief.contents_of(song.features_of([0]), groups)[0]  # e
    step = weight * error / growth
    return replace(
        belief,
        history=history,
        shape=belief.shape + 0.5 * belief.prior.noise.count(history.weights[-1:]),
        means=frozen(belief.means + towards * step[:, np.newaxis]),
        learned=belief.learned.without(towards * np.sqrt(weight / growth)[:, np.newaxis]),
        log_determinants=frozen(belief.log_determinants + np.log(growth)),
        rates=frozen(belief.rates + 0.5 * step * error),
        updates=belief.updates + 1,
    )
