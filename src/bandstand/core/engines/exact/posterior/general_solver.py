"""The exact model given each of many recovery times at once: (8) to (12) with shared work.

The same formulas as `conjugate.py`, arranged so that a grid costs little more than its
matrix products: songs heard equally long ago share one matrix Σ w xx', right-hand
sides and residuals of all nodes are single products, and nothing is allocated per node
but what is kept.

code          maths  shape   meaning
`shared`             (p, p)  Σ w xx' over the answers with the most common elapsed time
`other`       x√w    (M, p)  features times √w of all other answers
`curves`      u      (N, G)  novelty of each answer at each recovery time
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from bandstand.core.engines.exact.posterior import conjugate
from bandstand.core.engines.exact.posterior.covariance_stack import CovarianceStack
from bandstand.core.model import interpolation
from bandstand.core.model.history import History
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import ListenerPrior
from bandstand.types import Matrix, Stack, Vector, frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalGrid:
    """p(θ, τ | s, D) and the parts of p(D | s) for each recovery time."""

    means: Matrix  # m, (G, p)
    factors: tuple[Matrix, ...]  # lower triangular, LL' = Λ
    rates: Vector  # B, (G,)

    @property
    def log_determinants(self) -> Vector:
        """log|Λ| of each node: (G,)."""
        diagonals = np.array([np.diagonal(factor) for factor in self.factors])
        return np.asarray(2 * np.log(diagonals).sum(axis=1))

    def log_evidence(self, shape: float) -> Vector:
        """Return log p(D | s) (12) for each s, up to a constant; `shape` is A (10)."""
        return np.asarray(-0.5 * self.log_determinants - shape * np.log(self.rates))

    def beliefs(self) -> tuple[Matrix, CovarianceStack]:
        """Return m and Λ⁻¹ of each node."""
        return self.means, CovarianceStack.of(self.covariances())

    def covariances(self) -> Stack:
        """Return Λ⁻¹ of each node, symmetric to the last bit: (G, p, p)."""
        stack = np.empty((len(self.factors), *self.factors[0].shape))
        for inverse, factor in zip(stack, self.factors, strict=True):
            lower, _ = dpotri(factor, lower=1)  # the other triangle holds the factor's zeros
            np.add(lower, lower.T, out=inverse)
            np.fill_diagonal(inverse, np.diagonal(lower))
        inverses: Stack = frozen(stack)
        return inverses


class GridSolver:
    """A history made ready to be conditioned on many recovery times."""

    def __init__(self, prior: ListenerPrior, history: History) -> None:
        self._prior, self._history = prior, history
        self._root_weights = np.sqrt(history.weights)
        weighted = history.features * self._root_weights[:, np.newaxis]
        common = most_common(history.elapsed)
        self._common_elapsed = common
        self._differ = np.flatnonzero(history.elapsed != common)
        # Only one triangle is filled; it is all that Cholesky reads.
        self._shared = dsyrk(1.0, weighted[history.elapsed == common].T, lower=1)
        self._other = weighted[self._differ]
        self._room = np.empty_like(self._other)
        self._prior_pull = prior.preference.precision @ prior.preference.mean

    @np.errstate(under="ignore")  # what is smaller than any number is zero
    def at(self, recovery_times: Vector) -> ConditionalGrid:
        """Return p(θ, τ | s, D) for each s."""
        history = self._history
        curves = novelty(history.elapsed[:, np.newaxis], recovery_times)
        pulls = (curves * (history.weights * history.ratings)[:, np.newaxis]).T @ history.features
        factors = tuple(
            self._factor(gram, curve)
            for gram, curve in zip(self._grams(recovery_times), curves.T, strict=True)
        )
        means = np.stack(
            [
                dpotrs(factor, self._prior_pull + pull, lower=1)[0]
                for factor, pull in zip(factors, pulls, strict=True)
            ]
        )
        return ConditionalGrid(
            means=frozen(means),
            factors=factors,
            rates=frozen(self._rates(means, curves)),
        )

    def _grams(self, recovery_times: Vector) -> Iterable[Matrix]:
        """Return the upper triangle of Σ w zz' for each recovery time.

        As a function of log s it is analytic within π/2 of the real axis, so where the times
        are close together fewer matrices determine all of them to full precision.
        """
        nodes, between = interpolation.chebyshev(np.log(recovery_times), 0.45 * np.pi)
        if len(nodes) >= len(recovery_times):
            return map(self._gram, recovery_times)
        few = np.stack([self._gram(s) for s in np.exp(nodes)])
        return (between @ few.reshape(len(nodes), -1)).reshape(-1, *few.shape[1:])

    def _gram(self, recovery_time: float) -> Matrix:
        gram: Matrix = self._shared * float(novelty(self._common_elapsed, recovery_time)) ** 2
        if len(self._other):
            curve = novelty(self._history.elapsed[self._differ], recovery_time)
            np.multiply(self._other, curve[:, np.newaxis], out=self._room)
            gram = dsyrk(1.0, self._room.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
        # Fortran's lower triangle is our upper one: so nothing is copied back and forth.
        return gram.T

    def _factor(self, gram: Matrix, curve: Vector) -> Matrix:
        """Return lower-triangular L with LL' = Λ (8)."""
        precision = gram + self._prior.preference.precision
        factor, failed = dpotrf(precision.T, lower=1, clean=1, overwrite_a=1)
        if failed or conjugate.is_ill_conditioned(factor):
            rows = self._history.features * (self._root_weights * curve)[:, np.newaxis]
            return conjugate.factor_by_rows(self._prior.preference.precision, rows)
        lower: Matrix = factor
        return lower

    def _rates(self, means: Matrix, curves: Matrix) -> Vector:
        """Return B (11): a sum of squares, never a difference."""
        start = self._prior.preference
        residuals = self._history.ratings[:, np.newaxis] - curves * (
            self._history.features @ means.T
        )
        residuals *= self._root_weights[:, np.newaxis]
        shifts = means - start.mean
        squares = np.einsum("ng,ng->g", residuals, residuals)
        squares += np.einsum("gp,gp->g", shifts @ start.precision, shifts)
        return np.asarray(self._prior.noise.rate + 0.5 * squares)


def most_common(elapsed: Vector) -> float:
    """Return the elapsed time that most answers share; most songs have never been heard."""
    if not elapsed.size:
        return 0.0
    values, counts = np.unique(elapsed, return_counts=True)
    return float(values[np.argmax(counts)])
