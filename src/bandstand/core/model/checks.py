"""What songs and answers are made of, checked where it comes in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.types import AnyArray, Features, Matrix, Vector

# Features are squared and compared with a prior of unit scale; beyond this size
# double precision cannot hold both. Standardised features are far below it.
FEATURE_LIMIT: Final = 1e6
# Ratings are squared and summed; this keeps the sum far from overflow.
RATING_LIMIT: Final = 1e30
# Large tables are checked so many rows at a time.
_BLOCK: Final = 16_384


def checked_features(features: ArrayLike) -> Matrix:
    """Return `features` as a matrix of finite numbers of a size the model can hold."""
    matrix = _numbers("features", features)
    _check_table(matrix)
    return matrix


def checked_table(features: ArrayLike) -> Features:
    """Return `features` checked in the same way, but left in single precision if they are."""
    if isinstance(features, np.ndarray) and features.dtype == np.float32:
        table: Features = np.ascontiguousarray(features)
        _check_table(table)
        return table
    return checked_features(features)


def _check_table(matrix: Features) -> None:
    if matrix.ndim != 2:
        msg = f"features must be a table with one row per song, got {matrix.ndim} dimension(s)"
        raise InvalidInputError(msg)
    if not matrix.shape[1]:
        msg = "songs must have at least one feature, got none"
        raise InvalidInputError(msg)
    for start in range(0, len(matrix), _BLOCK):
        block = matrix[start : start + _BLOCK]
        _check_size("features", block, FEATURE_LIMIT, "; standardise them", first=start)


def _numbers(name: str, values: ArrayLike) -> Matrix:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        msg = f"{name} must be numbers in rows of equal length, got {_shown(values)}"
        raise InvalidInputError(msg) from problem


def _shown(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_size(
    name: str, values: AnyArray, limit: float, advice: str = "", *, first: int = 0
) -> None:
    """Refuse what is not finite or too large, and say which row it is in."""
    bad = ~(np.abs(values) <= limit)  # also true for NaN
    if bad.any():
        where = np.argwhere(bad)[0]
        msg = (
            f"{name} must be finite and at most {limit:g} in size, "
            f"got {values[tuple(where)]} in row {first + where[0]}{advice}"
        )
        raise InvalidInputError(msg)


def _column(name: str, values: ArrayLike, count: int) -> Vector:
    column: AnyArray = _numbers(name, values)
    if column.ndim == 0:
        return np.full(count, float(column))
    if column.shape != (count,):
        msg = f"{name} must be one number per song ({count}), got shape {column.shape}"
        raise InvalidInputError(msg)
    return column


def not_negative(name: str, values: ArrayLike, count: int) -> Vector:
    """Return one number per song, none below zero; a single one is for all of them."""
    column = _column(name, values, count)
    _check_size(name, column, 1e30)
    if (column < 0).any():
        row = int(np.argmax(column < 0))
        msg = f"{name} must not be negative, got {column[row]} in row {row}"
        raise InvalidInputError(msg)
    return column


def checked_ratings(ratings: ArrayLike, count: int) -> Vector:
    """Return one finite rating per song."""
    column = _column("ratings", ratings, count)
    _check_size("ratings", column, RATING_LIMIT)
    return column
