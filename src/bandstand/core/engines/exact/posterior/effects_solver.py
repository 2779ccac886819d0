"""The mixed-effects model given each of many recovery times at once: (34) to (39).

Answers about artists none of whose songs was heard again do not depend on the recovery time. So
they are summed up once, and where there are no others one matrix serves all recovery times.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from bandstand.core.engines.exact.posterior import conjugate
from bandstand.core.engines.exact.posterior.covariance_stack import CovarianceStack
from bandstand.core.engines.exact.posterior.effects import Nesting, Statistics, curves_of
from bandstand.core.engines.exact.posterior.general_solver import ConditionalGrid
from bandstand.core.model.history import History
from bandstand.core.model.priors import EffectPrior, ListenerPrior
from bandstand.types import Indices, Matrix, Vector, frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectGrid:
    """p(θ, τ | s, D) and the parts of p(D | s) for each recovery time."""

    means: Matrix  # m, (G, p)
    factors: tuple[Matrix, ...]  # lower triangular, LL' = Λ: one for each, or one for all
    rates: Vector  # B, (G,)
    log_determinants: Vector  # log|Λ| and what effects add to it, (G,)

    def log_evidence(self, shape: float) -> Vector:
        """Return log p(D | s) (39) for each s, up to a constant; `shape` is A (10)."""
        return np.asarray(-0.5 * self.log_determinants - shape * np.log(self.rates))

    def beliefs(self) -> tuple[Matrix, CovarianceStack]:
        """Return m and Λ⁻¹ of each node."""
        grid = ConditionalGrid(means=self.means, factors=self.factors, rates=self.rates)
        if len(self.factors) == len(self.rates):
            return self.means, CovarianceStack.of(grid.covariances())
        return self.means, CovarianceStack.same(grid.covariances()[0], len(self.rates))


class _Sums(NamedTuple):
    """Some answers summed up for each recovery time."""

    statistics: Statistics
    ratings: Matrix  # f̂, (K, G)
    squares: Vector  # Σ w (r − u f̂)², (G,)


class _Answers:
    """All answers about some artists."""

    def __init__(self, history: History, rows: Indices, prior: EffectPrior) -> None:
        self._prior = prior
        self._nesting = nesting = Nesting.of(history.groups.take(rows))
        self.features = history.features[rows[nesting.order[nesting.songs]]]
        self._ratings, self._weights = history.ratings[rows], history.weights[rows]
        self._elapsed = history.elapsed[rows]

    def at(self, recovery_times: Vector) -> _Sums:
        """Return what they say for each s."""
        curves = curves_of(self._elapsed, recovery_times)
        statistics = Statistics.of(self._nesting, self._prior, self._weights, curves)
        ratings = statistics.ratings(self._ratings, self._weights, curves)
        rest = statistics.residuals(self._ratings, curves, ratings)
        weights = self._weights[self._nesting.order]
        return _Sums(statistics, ratings, weights @ np.square(rest))

    def weighted_rows(self, recovery_time: float) -> Matrix:
        """Return the pseudo rows (36) for one s, each times the root of its weight."""
        curves = curves_of(self._elapsed, np.array([recovery_time]))
        statistics = Statistics.of(self._nesting, self._prior, self._weights, curves)
        weights, rows = statistics.pseudo_rows(self.features)
        return np.asarray(rows * np.sqrt(weights)[:, np.newaxis])


class EffectSolver:
    """A history made ready to be conditioned on many recovery times."""

    def __init__(self, prior: ListenerPrior, history: History) -> None:
        self._prior = prior
        heard_again = np.isin(history.groups.artist, _artists_heard_again(history))
        new, again = (
            _Answers(history, np.flatnonzero(which), prior.effects)
            for which in (~heard_again, heard_again)
        )
        self._parts, self._again = (new, again), again if heard_again.any() else None
        self._new_rows = new.weighted_rows(1.0)
        # Only one triangle is filled; it is all that Cholesky reads.
        self._new_precision = dsyrk(
            1.0, self._new_rows.T, beta=1.0, c=prior.preference.precision, lower=1
        )
        self._prior_pull = prior.preference.precision @ prior.preference.mean

    @np.errstate(under="ignore")  # what is smaller than any number is zero
    def at(self, recovery_times: Vector) -> EffectGrid:
        """Return p(θ, τ | s, D) for each s."""
        count = len(recovery_times) if self._again else 1
        sums = [part.at(recovery_times) for part in self._parts]
        pulls = np.tile(self._prior_pull, (count, 1))
        for (statistics, ratings, _), part in zip(sums, self._parts, strict=True):
            pulls += statistics.pull(ratings).T @ part.features
        factors = self._factors(recovery_times)
        means = np.stack(
            [dpotrs(factor, pull, lower=1)[0] for factor, pull in zip(factors, pulls, strict=True)]
        )
        diagonals = np.array([np.diagonal(factor) for factor in factors])
        determinants = 2 * np.log(diagonals).sum(axis=1)
        determinants = sum((each.statistics.log_determinant for each in sums), determinants)
        each_time = np.ones(len(recovery_times))
        return EffectGrid(
            means=frozen(each_time[:, np.newaxis] * means),
            factors=factors,
            rates=frozen(each_time * self._rates(sums, means)),
            log_determinants=frozen(each_time * determinants),
        )

    def _factors(self, recovery_times: Vector) -> tuple[Matrix, ...]:
        """Return L with LL' = Λ (37) for each s, or one for all."""
        if self._again is None:
            return (self._factor(self._new_rows[:0]),)
        return tuple(self._factor(self._again.weighted_rows(s)) for s in recovery_times.tolist())

    def _factor(self, rows: Matrix) -> Matrix:
        precision = dsyrk(1.0, rows.T, beta=1.0, c=self._new_precision, lower=1)
        factor, failed = dpotrf(precision, lower=1, clean=1, overwrite_a=1)
        if failed or conjugate.is_ill_conditioned(factor):
            every = np.concatenate([self._new_rows, rows])
            return conjugate.factor_by_rows(self._prior.preference.precision, every)
        lower: Matrix = factor
        return lower

    def _rates(self, sums: list[_Sums], means: Matrix) -> Vector:
        """Return B (38): a sum of squares, never a difference."""
        start = self._prior.preference
        shifts = means - start.mean
        squares = np.einsum("gp,gp->g", shifts @ start.precision, shifts)
        for (statistics, ratings, within), part in zip(sums, self._parts, strict=True):
            deviations = ratings - part.features @ means.T
            squares = squares + within + statistics.squares(deviations)
        return np.asarray(self._prior.noise.rate + 0.5 * squares)


def _artists_heard_again(history: History) -> Indices:
    """Return the identities of artists of whom a song had been heard before its answer."""
    return np.asarray(np.unique(history.groups.artist[history.elapsed < np.inf]))
