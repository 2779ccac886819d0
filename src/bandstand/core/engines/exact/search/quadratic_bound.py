"""A quadratic form x'Fx bounded from a few products.

With eigenvalues λ_i and eigenvectors e_i of F, some of them kept, λ* ≥ all that are not:

    x'Fx = Σ_i λ_i (e_i'x)² ≤ λ*|x|² + Σ_kept (λ_i − λ*)(e_i'x)²

Kept are some of the largest, or for a listener of few answers some of the smallest: as many
of each as make the sum over all directions least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.types import frozen, read_only

if TYPE_CHECKING:
    from bandstand.core.engines.song_table import SingleMatrix, SingleVector
    from bandstand.types import Matrix, Vector

_KEPT: Final = 9
# Directions without spread get this share of the largest.
_LEAST: Final = 1e-12
# A difference of sums of squares is off by at most so much of λ*|x|²: 64 roundings.
_ROUNDINGS: Final = 64 * 2.0**-24


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuadraticBound:
    """F by its eigenvectors.

    code       maths     shape
    `level`    λ*
    `above`    λ_i − λ*  (a,)        of the kept ones above λ*
    `below`    λ* − λ_i  (b,)        of the kept ones below
    `kept`     e_i       (p, a + b)
    `root`     R         (p, p)      F = RR', in single precision
    `largest`  λ_max
    """

    level: float
    above: Vector
    below: Vector
    kept: Matrix
    root: SingleMatrix
    largest: float

    @classmethod
    def of(cls, form: Matrix) -> QuadraticBound:
        """Return F for a symmetric, positive semi-definite matrix whose largest entry is near 1."""
        rising, vectors = np.linalg.eigh(form)
        # A little more in each direction covers the rounding of the eigenvectors.
        values = np.maximum(rising, 0.0) + max(float(rising[-1]), _LEAST) * _LEAST
        values, vectors = values[::-1], vectors[:, ::-1]
        first, last = _left_out(values)
        level = float(values[first]) if first < last else 0.0
        return cls(
            level=level,
            above=frozen(values[:first] - level),
            below=frozen(level - values[last:]),
            kept=frozen(np.concatenate([vectors[:, :first], vectors[:, last:]], axis=1)),
            root=read_only(np.ascontiguousarray(vectors * np.sqrt(values), dtype=np.float32)),
            largest=float(values[0]),
        )

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        return int(self.kept.nbytes + self.root.nbytes)

    def upper(self, products: SingleMatrix, norms: SingleVector, rounding: float) -> SingleVector:
        """Return what x'Fx does not exceed but for rounding, from e_i'x (a + b, n).

        Squares that are taken away are made smaller first, by what a product may be off.
        """
        squares = np.square(norms)
        squares *= np.float32(self.level * (1 + _ROUNDINGS if len(self.below) else 1))
        split = len(self.above)
        if split:
            squares += self.above.astype(np.float32) @ np.square(products[:split])
        if len(self.below):
            sure = np.abs(products[split:]) - np.float32(rounding) * norms
            sure = np.square(np.maximum(sure, 0, out=sure), out=sure)
            squares -= self.below.astype(np.float32) @ sure
        result: SingleVector = np.maximum(squares, 0, out=squares)
        return result


def _left_out(values: Vector) -> tuple[int, int]:
    """Return where those that are left out begin and end, in falling order of eigenvalues."""
    count = len(values)
    if count <= _KEPT:
        return count, count
    left_out = count - _KEPT
    # What is left out counts with the largest of them: Σ (λ* − λ_i) is to be least.
    sums = np.concatenate([[0.0], np.cumsum(values)])
    first = np.arange(_KEPT + 1)
    waste = left_out * values[first] - (sums[first + left_out] - sums[first])
    best = int(np.argmin(waste))
    return best, best + left_out
