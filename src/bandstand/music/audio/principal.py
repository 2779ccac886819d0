"""The moments of a table of descriptors, and its principal components.

code                  maths  shape     meaning
`matrix`              d      (S, c)    one row per song, at least one row
`mean`                m      (c,)
`standard_deviation`  σ      (c,)      population form; 0 marks a constant column
`correlation`         R      (c, c)    the covariance of the z-scores; 0 for constant columns
`components`          C      (p, c)    orthonormal rows: R = C' diag(λ) C, as far as p goes
`variances`           λ      (p,)      falling

Everything is computed on columns brought to [−1, 1] first, whose squares are always in range, and
a few thousand rows at a time, so that a large library is not in memory twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.arrays import AnyArray, Matrix, Vector

# Larger numbers leave no room for a difference of two.
LARGEST: Final = 1e300
# A narrower column has no digits left in double precision.
_NARROWEST: Final = 1e-300
# A spread below this part of a column's size is rounding.
_CONSTANT: Final = 1e-9
# Shares, and entries of a component, that differ by less are equal but for rounding.
_ROUNDING: Final = 1e-9
_ROWS_AT_ONCE: Final = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """What PCA needs to know of a table."""

    mean: Vector
    standard_deviation: Vector
    furthest: Vector  # the largest |z-score| in each column
    correlation: Matrix


def moments(matrix: Matrix) -> Moments:
    """Return the moments of a table with at least one row."""
    low, high = extremes(matrix)
    with np.errstate(under="ignore"):
        middle, reach = low / 2 + high / 2, high / 2 - low / 2
        wide = reach >= _NARROWEST
        inner = [
            divided(matrix[rows] - middle, reach, wide).mean(axis=0) * (rows.stop - rows.start)
            for rows in portions(len(matrix))
        ]
        centre = np.sum(inner, axis=0) / len(matrix)
        covariance = np.zeros((matrix.shape[1], matrix.shape[1]))
        for rows in portions(len(matrix)):
            part = divided(matrix[rows] - middle, reach, wide) - centre
            covariance += part.T @ part / len(matrix)
        spread = np.sqrt(np.diag(covariance))
        varies = wide & (reach * spread > _CONSTANT * np.maximum(np.abs(low), np.abs(high)))
        mean, standard_deviation = middle + reach * centre, np.where(varies, reach * spread, 0.0)
        side = np.maximum(high - mean, mean - low)
        return Moments(
            mean=mean,
            standard_deviation=standard_deviation,
            furthest=divided(side, standard_deviation, varies),
            correlation=_correlation(covariance, np.where(varies, spread, 0.0)),
        )


def _correlation(covariance: Matrix, spread: Vector) -> Matrix:
    varies = spread > 0
    correlation = divided(covariance, spread, varies)
    correlation = divided(correlation.T, spread, varies)
    np.fill_diagonal(correlation, varies)
    return correlation


def principal_components(correlation: Matrix, share: float) -> tuple[Matrix, Vector]:
    """Return the fewest components that hold `share` of the variance, and their variances.

    There is always at least one. Of the two signs of a component, its largest entry (the first
    of several) is positive: so the answer does not depend on the library that computes it.

    >>> components, variances = principal_components(np.array([[1.0, 0.5], [0.5, 1.0]]), 0.7)
    >>> components.round(3).tolist(), variances.round(3).tolist()
    ([[0.707, 0.707]], [1.5])
    """
    rising, vectors = np.linalg.eigh(correlation)
    variances = np.maximum(rising[::-1], 0.0)
    enough = np.cumsum(variances) >= (share - _ROUNDING) * variances.sum()
    count = int(np.argmax(enough)) + 1
    components = vectors.T[::-1][:count]
    sizes = np.abs(components)
    first = np.argmax(sizes >= (1 - _ROUNDING) * sizes.max(axis=1, keepdims=True), axis=1)
    signs = np.where(components[np.arange(count), first] < 0, -1.0, 1.0)
    return np.ascontiguousarray(components * signs[:, None]), variances[:count].copy()


def extremes(matrix: Matrix) -> tuple[Vector, Vector]:
    """Return the smallest and the largest of each column; refuse what is not a number."""
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    if not ((low >= -LARGEST) & (high <= LARGEST)).all():  # also true for NaN
        row, column = np.argwhere(~(np.abs(matrix) <= LARGEST))[0]
        msg = (
            f"descriptors must be finite and at most {LARGEST:g} in size, "
            f"got {matrix[row, column]} in row {row}, column {column}"
        )
        raise InvalidInputError(msg)
    return low, high


def divided(matrix: AnyArray, by: Vector, where: AnyArray) -> AnyArray:
    """Return `matrix` divided column by column, and 0 in the columns that are not in `where`."""
    quotient: AnyArray = np.divide(matrix, by, out=np.zeros_like(matrix), where=where)
    return quotient


def portions(count: int) -> Iterator[slice]:
    """Yield slices of a few thousand rows each that together are all `count` rows."""
    for start in range(0, count, _ROWS_AT_ONCE):
        yield slice(start, min(start + _ROWS_AT_ONCE, count))
