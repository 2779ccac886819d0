"""The prediction of a model of factors: U is a product of independent normals.

Under q each factor β_f'v_f of a song is normal, with mean v'm_f and standard deviation
|L_f⁻¹v|. Mean and standard deviation of their product have closed forms. Quantiles are
deterministic: (24) for two factors, and a sum over it for more.

code              maths       shape      meaning
`means`           m_f         (d_f,)     expected coefficients of each factor
`precision_roots` L_f         (d_f,d_f)  lower triangle of each precision, LL' = Λ_f
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.engines.variational.equations import triangular_inverse
from bandstand.core.model import product_normal
from bandstand.core.model.candidates import allowed_of
from bandstand.core.model.history import SONGS_PER_BLOCK
from bandstand.types import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.core.model.candidates import Choice
    from bandstand.core.model.factors import Factor
    from bandstand.core.model.history import Songs
    from bandstand.types import Indices, Matrix, Vector

# The square of a length below this has lost digits to underflow; its row is scaled first.
_SMALLEST_LENGTH: Final = 1e-145
_NO_SCALE: Final = 1e-12


@dataclass(frozen=True, kw_only=True)
class FactorPrediction:
    """p(U | D) of each song as a product of independent normals.

    Every number of a song is computed from its own row alone, in the same order wherever the
    row stands: songs that are equal have equal quantiles to the last digit.
    """

    factors: tuple[Factor, ...]
    means: tuple[Vector, ...]
    precision_roots: tuple[Matrix, ...]
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
        """Return the mean of each factor; only their product is known, so curves are scaled.

        Each curve is 1 at its reference (novelty: the longest time; diversity: the typical
        distance), and the first factor carries the scale of all.
        """
        first, *curves = self.factors
        parts = {first.name: self.factor_means[0]}
        with np.errstate(under="ignore"):
            for factor, mean, values in zip(
                curves, self.means[1:], self.factor_means[1:], strict=True
            ):
                scale = 1.0 if factor.reference is None else float(factor.reference @ mean)
                # A curve that is 0 at its reference has no scale to be shown in.
                if abs(scale) <= _NO_SCALE * float(np.abs(mean).max()):
                    scale = 1.0
                parts[factor.name] = values / scale
                parts[first.name] = parts[first.name] * scale
        return parts

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
