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

from bandstand.inference.factor_equations import triangular_inverse
from bandstand.model import product_normal_many

if TYPE_CHECKING:
    from bandstand.arrays import Indices, Matrix, Vector
    from bandstand.domain import Songs
    from bandstand.model.factors import Factor

# Squares below this have lost digits to underflow; their row is scaled and squared again.
_SMALLEST_SQUARE: Final = 1e-290
_NO_SCALE: Final = 1e-12


@dataclass(frozen=True, kw_only=True)
class FactorPrediction:
    """p(U | D) of each song as a product of independent normals."""

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
        return product_normal_many.standard_deviation(self.factor_means, self.factor_deviations)

    def quantile(self, level: float) -> Vector:
        """Return the value that U stays below with probability `level`, for each song."""
        return product_normal_many.quantile(level, self.factor_means, self.factor_deviations)

    def sample(self, rng: np.random.Generator, size: int) -> Matrix:
        """Return `size` draws of all expected ratings, each from one draw of all coefficients."""
        with np.errstate(under="ignore"):
            draws = np.ones((size, len(self)))
            triples = zip(self._designs, self.means, self.precision_roots, strict=True)
            for design, mean, root in triples:
                normals = rng.standard_normal((size, len(mean)))
                # LL' = Λ, so L'⁻¹z has the covariance Λ⁻¹.
                coefficients = mean + normals @ triangular_inverse(root)
                draws *= coefficients @ design.T
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

    def best_by_quantile(self, level: float, count: int, allowed: Indices) -> Indices:
        """Return the rows of the `count` largest quantiles among `allowed`, best first."""
        rows = np.unique(np.asarray(allowed, dtype=np.intp))
        best, _ = product_normal_many.largest_quantiles(
            level, count, self.factor_means[:, rows], self.factor_deviations[:, rows]
        )
        return rows[best]

    @cached_property
    def factor_means(self) -> Matrix:
        """The mean of each factor of each song: (F, S)."""
        with np.errstate(under="ignore"):
            pairs = zip(self._designs, self.means, strict=True)
            return np.stack([design @ mean for design, mean in pairs])

    @cached_property
    def factor_deviations(self) -> Matrix:
        """The standard deviation of each factor of each song: (F, S)."""
        pairs = zip(self._designs, self.precision_roots, strict=True)
        return np.stack([_deviations(design, triangular_inverse(root)) for design, root in pairs])

    @cached_property
    def _designs(self) -> list[Matrix]:
        return [factor.design(self.songs) for factor in self.factors]


def _deviations(design: Matrix, inverse_root: Matrix) -> Vector:
    """Return |L⁻¹v| of each row v, also where its square is too small for a number."""
    with np.errstate(under="ignore"):
        half = design @ inverse_root.T
        squares = np.einsum("ij,ij->i", half, half)
        deviations = np.sqrt(squares)
        (small,) = np.nonzero(squares < _SMALLEST_SQUARE)
        largest = np.abs(design[small]).max(axis=1, initial=0.0)
        scale = np.where(largest > 0, largest, 1.0)
        again = (design[small] / scale[:, np.newaxis]) @ inverse_root.T
        deviations[small] = scale * np.sqrt(np.einsum("ij,ij->i", again, again))
    return np.asarray(deviations)
