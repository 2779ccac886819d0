"""The variational engine: the paper's Bayes-UCB-CN-V.

The posterior of the approximate model, (16) and (17), is approximated by independent parts,

    q(β, τ) = q(τ) Π_f q(β_f),    q(β_f) = N(m_f, Λ_f⁻¹),    q(τ) = Gamma(a_N, rate b_N)

found by coordinate ascent on the lower bound (22). It is deterministic. Taken one by one
the factors know too little of each other, so it is somewhat too sure of itself while there
are few ratings; docs/model.md has the measured coverage.

Under q each factor β_f'v_f of a song is normal, with mean v'm_f and standard deviation |L_f⁻¹v|.
Mean and standard deviation of their product have closed forms, and quantiles are those of (24).

code                    maths    shape      meaning
`means`                 m_f      (d_f,)     expected coefficients, one vector per factor
`precision_roots`       L_f      (d_f,d_f)  lower triangles, LL' = Λ_f; no covariance is stored
`shape`, `rate`         a_N, b_N            of the noise precision τ
`bounds`                L        (sweeps,)  the lower bound after each sweep
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from scipy.special import gammaln

from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.engines.variational.ascent import Ascent, State, row_moments, search
from bandstand.core.engines.variational.equations import (
    triangular_inverse,
    triangular_root,
)
from bandstand.core.model import product_normal
from bandstand.core.model.candidates import allowed_of
from bandstand.core.model.history import SONGS_PER_BLOCK
from bandstand.types import blocks, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.core.model.candidates import Choice
    from bandstand.core.model.factors import Factor, FactorModel
    from bandstand.core.model.history import History, Songs
    from bandstand.types import Indices, Matrix, Vector

# ── Predictions ──────────────────────────────────────────────────────────────────────────

# The square of a length below this has lost digits to underflow; its row is scaled first.
_SMALLEST_LENGTH: Final = 1e-145
_NO_SCALE: Final = 1e-12


@dataclass(frozen=True, kw_only=True)
class FactorPrediction:
    """p(U | D) of each song as a product of independent normals.

    Every number of a song is computed from its own row alone, in the same order wherever the
    row stands: songs that are equal have equal quantiles to the last digit.
    """

    factors: tuple[Factor, ...] = field(repr=False)
    means: tuple[Vector, ...] = field(repr=False)
    precision_roots: tuple[Matrix, ...] = field(repr=False)
    songs: Songs

    def __len__(self) -> int:
        return len(self.songs)

    def mean(self) -> Vector:
        """Return E[U | D], the product of the factors' means."""
        with np.errstate(under="ignore"):
            return np.asarray(np.prod(self.factor_means, axis=0))

    def standard_deviation(self) -> Vector:
        """Return the square root of Π(m² + s²) − Πm², without the difference."""
        return product_normal.standard_deviation(self.factor_means, self.factor_deviations)

    def quantile(self, level: float) -> Vector:
        """Return the value that U stays below with probability `level`, for each song."""
        return product_normal.quantile(level, self.factor_means, self.factor_deviations)

    def sample(self, rng: np.random.Generator, size: int) -> Matrix:
        """Return `size` draws of all expected ratings, each from one draw of all coefficients."""
        drawn = [
            # LL' = Λ, so L'⁻¹z has the covariance Λ⁻¹.
            mean + rng.standard_normal((size, len(mean))) @ triangular_inverse(root)
            for mean, root in zip(self.means, self.precision_roots, strict=True)
        ]
        draws = np.ones((size, len(self)))
        with np.errstate(under="ignore"):
            for rows in self._blocks():
                for design, coefficients in zip(self._designs_of(rows), drawn, strict=True):
                    draws[:, rows] *= coefficients @ design.T
        return draws

    def parts(self) -> dict[str, Vector]:
        """Return the mean of each factor; only their product is known, so the curve is scaled.

        It is 1 at its reference, the longest time, and content carries the scale of both.
        """
        content, novelty = self.factors
        with np.errstate(under="ignore"):
            scale = 1.0 if novelty.reference is None else float(novelty.reference @ self.means[1])
            # A curve that is 0 at its reference has no scale to be shown in.
            if abs(scale) <= _NO_SCALE * float(np.abs(self.means[1]).max()):
                scale = 1.0
            return {
                content.name: self.factor_means[0] * scale,
                novelty.name: self.factor_means[1] / scale,
            }

    def best_by_quantile(self, level: float, count: int, allowed: Choice) -> Indices:
        """Return the rows of the `count` largest quantiles among `allowed`, best first."""
        rows = allowed_of(allowed, len(self)).rows()
        best, values = rows[:0], np.empty(0)
        for block in blocks(len(rows), SONGS_PER_BLOCK):
            some = rows[block]
            which, found = product_normal.largest_quantiles(level, count, *self.normals_of(some))
            best, values = _largest(
                np.concatenate([best, some[which]]), np.concatenate([values, found]), count
            )
        return best

    def normals_of(self, rows: Indices | slice) -> tuple[Matrix, Matrix]:
        """Return mean and standard deviation of each factor of the songs in `rows`: (F, n) each."""
        designs = self._designs_of(rows)
        with np.errstate(under="ignore"):
            means = [_means(each, mean) for each, mean in zip(designs, self.means, strict=True)]
        deviations = [
            _deviations(each, root) for each, root in zip(designs, self.inverse_roots, strict=True)
        ]
        return np.stack(means), np.stack(deviations)

    @cached_property
    def factor_means(self) -> Matrix:
        """The mean of each factor of each song: (F, S)."""
        values = np.empty((len(self.factors), len(self)))
        with np.errstate(under="ignore"):
            for rows in self._blocks():
                for place, design in enumerate(self._designs_of(rows)):
                    values[place, rows] = _means(design, self.means[place])
        return values

    @cached_property
    def factor_deviations(self) -> Matrix:
        """The standard deviation of each factor of each song: (F, S)."""
        values = np.empty((len(self.factors), len(self)))
        for rows in self._blocks():
            for place, design in enumerate(self._designs_of(rows)):
                values[place, rows] = _deviations(design, self.inverse_roots[place])
        return values

    @cached_property
    def inverse_roots(self) -> tuple[Matrix, ...]:
        """L_f⁻¹ of each factor."""
        return tuple(triangular_inverse(root) for root in self.precision_roots)

    def _blocks(self) -> Iterator[slice]:
        return blocks(len(self), SONGS_PER_BLOCK)

    def _designs_of(self, rows: Indices | slice) -> list[Matrix]:
        some = self.songs.take(rows)
        return [factor.design(some) for factor in self.factors]


def _means(design: Matrix, coefficients: Vector) -> Vector:
    # Not a product of matrices, whose rounding depends on the row's place.
    means: Vector = np.einsum("ij,j->i", design, coefficients)
    return means


def _deviations(design: Matrix, inverse_root: Matrix) -> Vector:
    """Return |L⁻¹v| of each row v, also where its square is too small for a number."""
    with np.errstate(under="ignore"):
        deviations = _lengths(design, inverse_root)
        (small,) = np.nonzero(deviations < _SMALLEST_LENGTH)
        largest = np.abs(design[small]).max(axis=1, initial=0.0)
        scale = np.where(largest > 0, largest, 1.0)
        deviations[small] = scale * _lengths(design[small] / scale[:, np.newaxis], inverse_root)
    return deviations


def _lengths(design: Matrix, inverse_root: Matrix) -> Vector:
    half = np.einsum("ij,kj->ik", design, inverse_root)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", half, half)))


def _largest(rows: Indices, values: Vector, count: int) -> tuple[Indices, Vector]:
    """Return the rows of the `count` largest values and these, best first; equal ones by row."""
    order = np.lexsort((rows, -values))[: max(count, 0)]
    return rows[order], values[order]


# ── The engine ───────────────────────────────────────────────────────────────────────────

# The bound is settled when it changes by less than this, relative to its size.
_BOUND_TOLERANCE: Final = 1e-9
# A posterior mean closer to zero than this many standard deviations is no start for a search.
_MIN_SCORE: Final = 1e-2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VariationalBelief:
    """q(β, τ), with the history behind it and the way it was found."""

    model: FactorModel = field(repr=False)
    history: History
    means: tuple[Vector, ...] = field(repr=False)
    precision_roots: tuple[Matrix, ...] = field(repr=False)
    shape: float
    rate: float
    bounds: Vector = field(repr=False)
    converged: bool

    @property
    def noise_precision(self) -> float:
        """E[τ]."""
        return self.shape / self.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Variational(Engine[VariationalBelief]):
    """The variational engine.

    >>> from bandstand import History, Songs
    >>> from bandstand.core.model.factors import content_novelty
    >>> history = History.of(features=[[1.0], [2.0], [1.5]], elapsed=43_200, ratings=[2, 4, 3.1])
    >>> engine = Variational(model=content_novelty(1))
    >>> belief = engine.fit(history)
    >>> engine.predict(belief, Songs.of(features=[[1.0]], elapsed=43_200)).mean().round(2)
    array([2.02])
    """

    online: ClassVar[bool] = False
    model: FactorModel
    most_sweeps: int = 1_000

    def fit(self, history: History, *, rng: np.random.Generator | None = None) -> VariationalBelief:
        """Return the belief after `history`; nothing is drawn, so `rng` is not used."""
        del rng
        with np.errstate(under="ignore"):
            ascent = Ascent.of(self.model, history)
            return self._climb(ascent, ascent.cold_start(), history)

    def update(
        self, belief: VariationalBelief, history: History, *, rng: np.random.Generator | None = None
    ) -> VariationalBelief:
        """Return the belief after `history`, by a search that starts from `belief`.

        With fewer ratings than coefficients the bound often has several peaks, and which one
        is found would depend on the order of the ratings: there it is a fit from scratch.
        """
        with np.errstate(under="ignore"):
            if len(belief.history) < self.model.dimension or not _is_away_from_zero(belief):
                return self.fit(history, rng=rng)
            ascent = Ascent.of(self.model, history)
            start = ascent.warm_start(belief.means, belief.precision_roots, belief.noise_precision)
            return self._climb(ascent, start, history)

    def predict(
        self, belief: VariationalBelief, songs: Songs, *, memory: None = None
    ) -> FactorPrediction:
        """Return the prediction of `songs`: products of independent normals."""
        songs.require_columns(self.model.columns)
        return FactorPrediction(
            factors=self.model.factors,
            means=belief.means,
            precision_roots=belief.precision_roots,
            songs=songs,
        )

    def plan(self, belief: VariationalBelief, song: Songs) -> VariationalBelief:
        """Return the belief as if `song` had been heard: content grows more certain.

        Its precision grows by E[τ] E[(β't)²] xx' (18); every mean stays.
        """
        with np.errstate(under="ignore"):
            content, novelty = (factor.design(song) for factor in self.model.factors)
            root, curve = belief.precision_roots
            moments = row_moments(novelty, belief.means[1], triangular_inverse(curve))
            weights = belief.noise_precision * moments.square
            rows = content * np.sqrt(weights)[:, np.newaxis]
            surer = triangular_root(root @ root.T + rows.T @ rows)
        return replace(belief, precision_roots=(frozen(surer), curve))

    def summary(self, belief: VariationalBelief) -> Summary:
        """Return E[σ | D] = √b_N Γ(a_N − ½)/Γ(a_N); a piecewise curve has no recovery time."""
        ratio = math.exp(float(gammaln(belief.shape - 0.5) - gammaln(belief.shape)))
        return Summary(noise_sd=math.sqrt(belief.rate) * ratio)

    def _climb(self, ascent: Ascent, start: State, history: History) -> VariationalBelief:
        """Return the belief at the end of the search from `start`."""
        bounds: list[float] = []
        for progress in islice(search(ascent, start), self.most_sweeps):
            bounds.append(progress.bound)
            if progress.is_settled and _is_settled(bounds):
                break
        state = progress.state
        return VariationalBelief(
            model=self.model,
            history=history,
            means=tuple(frozen(block.mean) for block in state.blocks),
            precision_roots=tuple(frozen(block.precision_root) for block in state.blocks),
            shape=state.shape,
            rate=state.rate,
            bounds=frozen(bounds),
            converged=progress.is_settled and _is_settled(bounds),
        )


def _is_settled(bounds: list[float]) -> bool:
    if len(bounds) < 2:
        return False
    return abs(bounds[-1] - bounds[-2]) <= _BOUND_TOLERANCE * (1 + abs(bounds[-1]))


def _is_away_from_zero(belief: VariationalBelief) -> bool:
    """Return whether the curve, which is not updated first, is known well enough to start from.

    A belief from no ratings, or from ratings of 0, has its means at zero; a search that started
    there would never leave.
    """
    return float(np.sum((belief.precision_roots[1].T @ belief.means[1]) ** 2)) > _MIN_SCORE**2
