"""Features of any scale, brought to the one that the priors expect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from bandstand.core.model.history import FEATURE_LIMIT
from bandstand.errors import InvalidInputError
from bandstand.types import AnyArray, Features, Matrix, Vector, blocks, frozen

# Larger numbers leave no room for a sum or a difference of two.
LARGEST_FEATURE: Final = 1e300
# A smaller range has no digits left in double precision.
_MIN_RANGE: Final = 1e-300
# A range of this many units in the last place is rounding, not information.
_ROUNDING: Final = 4 * float(np.finfo(np.float64).eps)
# Rows of a large table that are taken at a time.
_ROWS_PER_BLOCK: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Standardiser:
    """Subtracts the mean of each column, divides by its standard deviation, appends a 1.

    code                  shape  meaning
    `mean`                (p,)   of each column of the items it was fitted to
    `standard_deviation`  (p,)   the same; 0 marks a constant column, which becomes 0

    Features are then centred, so ratings far from 0 need the constant as one more feature.

    >>> items = [[1.0, 7.0], [3.0, 7.0]]
    >>> Standardiser.fit(items).apply(items).tolist()
    [[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    """

    mean: Vector
    standard_deviation: Vector

    @classmethod
    def fit(cls, items: ArrayLike) -> Standardiser:
        """Return the scales of `items`: one row per item, one column per feature."""
        matrix = _checked(items)
        if not len(matrix):
            nothing = np.zeros(matrix.shape[1])
            return cls(mean=frozen(nothing), standard_deviation=frozen(nothing))
        # First to [−1, 1] by middle and half range, whose squares are always in range.
        low = np.asarray(matrix.min(axis=0), dtype=np.float64)
        high = np.asarray(matrix.max(axis=0), dtype=np.float64)
        with np.errstate(under="ignore"):
            middle, reach = low / 2 + high / 2, high / 2 - low / 2
            largest = np.maximum(np.abs(low), np.abs(high))
            varies = (reach > _ROUNDING * largest) & (reach >= _MIN_RANGE)
            inner = _Scaled(matrix, middle, reach, varies)
            centre = inner.mean(lambda block: block)
            spread = np.sqrt(inner.mean(lambda block: np.square(block - centre)))
            return cls(
                mean=frozen(middle + reach * centre),
                standard_deviation=frozen(np.where(varies, reach * spread, 0.0)),
            )

    @property
    def varying(self) -> int:
        """The number of columns that are not constant."""
        return int(np.count_nonzero(self.standard_deviation))

    def apply(self, items: ArrayLike) -> Features:
        """Return `items` on the fitted scales, with the constant 1 as last column: (S, p + 1).

        An item so far from the fitted ones that the model could not hold it is brought to
        the edge of what it can. Items in single precision stay in single precision.
        """
        matrix = _checked(items)
        if matrix.shape[1] != len(self.mean):
            msg = f"items must have {len(self.mean)} features as before, got {matrix.shape[1]}"
            raise InvalidInputError(msg)
        extended: Features = np.ones((len(matrix), matrix.shape[1] + 1), dtype=matrix.dtype)
        varies = self.standard_deviation > 0
        with np.errstate(over="ignore", under="ignore"):
            for rows in blocks(len(matrix), _ROWS_PER_BLOCK):
                scaled = _divided(matrix[rows] - self.mean, self.standard_deviation, varies)
                extended[rows, :-1] = np.clip(scaled, -FEATURE_LIMIT, FEATURE_LIMIT)
        return extended


@dataclass(frozen=True, slots=True)
class _Scaled:
    """Items brought to [−1, 1], some rows at a time: a large table is never copied whole."""

    matrix: Features
    middle: Vector
    reach: Vector
    varies: AnyArray

    def mean(self, function: Callable[[Matrix], Matrix]) -> Vector:
        """Return the mean of a function of the rows."""
        total = np.zeros(self.matrix.shape[1])
        for rows in blocks(len(self.matrix), _ROWS_PER_BLOCK):
            block = _divided(self.matrix[rows] - self.middle, self.reach, self.varies)
            total += function(block).sum(axis=0)
        return total / len(self.matrix)


def _divided(matrix: Matrix, by: Vector, where: AnyArray) -> Matrix:
    """Return `matrix` divided column by column, and 0 in the columns that are not in `where`."""
    quotient: Matrix = np.divide(matrix, by, out=np.zeros_like(matrix), where=where)
    return quotient


def _checked(items: ArrayLike) -> Features:
    if isinstance(items, np.ndarray) and items.dtype == np.float32 and items.ndim == 2:
        _check_size(items)
        return items
    try:
        matrix = np.asarray(items, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        msg = "items must be numbers in rows of equal length, got something else"
        raise InvalidInputError(msg) from problem
    if matrix.ndim != 2:
        msg = f"items must be a table with one row per item, got {matrix.ndim} dimension(s)"
        raise InvalidInputError(msg)
    _check_size(matrix)
    return matrix


def _check_size(matrix: Features) -> None:
    for rows in blocks(len(matrix), _ROWS_PER_BLOCK):
        bad = ~(np.abs(matrix[rows]) <= np.float64(LARGEST_FEATURE))  # also true for NaN
        if bad.any():
            row, column = np.argwhere(bad)[0]
            msg = (
                f"features must be finite and at most {LARGEST_FEATURE:g} in size, "
                f"got {matrix[rows][row, column]} in row {rows.start + row}, column {column}"
            )
            raise InvalidInputError(msg)
