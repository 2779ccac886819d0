"""The product U = XY of two independent normals, for many songs at once (24).

code                    maths      meaning
`mean_x`, `mean_y`      μ_x, μ_y   the mean of each factor
`standard_deviation_x`  σ_x        its standard deviation; 0 is a point mass (also `_y`)
`level`                 α          the probability of a quantile

Under the variational model a song's expected rating is such a product. Everything here is
deterministic: one integral per probability, a root of it per quantile, no Monte Carlo.
Arguments broadcast against each other and may be of any scale: `product_normal_rows` brings
each product to standard form, `product_normal_standard` integrates that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.product_normal_rows import Products
from bandstand.core.model.product_normal_standard import WIDEST_RADIUS
from bandstand.core.model.ranking import best_rows
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.types import Indices, Vector

_LEAST_LEVEL: Final = 1e-300
# How many of the most promising songs are solved before the others are put to the test.
_FIRST: Final = 32


def mean(
    mean_x: ArrayLike,
    standard_deviation_x: ArrayLike,
    mean_y: ArrayLike,
    standard_deviation_y: ArrayLike,
) -> Vector:
    """Return E[U] = μ_x μ_y."""
    x, _, y, _ = _checked(mean_x, standard_deviation_x, mean_y, standard_deviation_y)
    with np.errstate(under="ignore", over="ignore"):
        return np.asarray(x * y)


def variance(
    mean_x: ArrayLike,
    standard_deviation_x: ArrayLike,
    mean_y: ArrayLike,
    standard_deviation_y: ArrayLike,
) -> Vector:
    """Return the variance of U: μ_x² σ_y² + μ_y² σ_x² + σ_x² σ_y²."""
    with np.errstate(under="ignore", over="ignore"):
        return np.square(
            standard_deviation(mean_x, standard_deviation_x, mean_y, standard_deviation_y)
        )


def standard_deviation(
    mean_x: ArrayLike,
    standard_deviation_x: ArrayLike,
    mean_y: ArrayLike,
    standard_deviation_y: ArrayLike,
) -> Vector:
    """Return the square root of the variance of U, also where that is too large for a number."""
    x, sx, y, sy = _checked(mean_x, standard_deviation_x, mean_y, standard_deviation_y)
    with np.errstate(under="ignore", over="ignore"):
        return np.asarray(np.hypot(np.hypot(x * sy, y * sx), sx * sy))


def cdf(
    value: ArrayLike,
    mean_x: ArrayLike,
    standard_deviation_x: ArrayLike,
    mean_y: ArrayLike,
    standard_deviation_y: ArrayLike,
) -> Vector:
    """Return P(U ≤ `value`); small probabilities keep their relative accuracy.

    >>> np.round(cdf([-1.0, 0.0, 1.0], 0.0, 1.0, 2.0, 0.0), 6).tolist()
    [0.308538, 0.5, 0.691462]
    """
    values = np.asarray(value, dtype=np.float64)
    if np.isnan(values).any():
        msg = "values must be numbers, got NaN"
        raise InvalidInputError(msg)
    factors = _checked(mean_x, standard_deviation_x, mean_y, standard_deviation_y)
    wide, *factors = np.broadcast_arrays(values, *factors)
    with np.errstate(under="ignore", over="ignore"):
        products = Products.of(*(each.ravel() for each in factors))
        found = products.tail(wide.ravel(), upper=False, radius=WIDEST_RADIUS)
    return np.asarray(np.minimum(found, 1.0).reshape(wide.shape))


def quantile(
    level: float,
    mean_x: ArrayLike,
    standard_deviation_x: ArrayLike,
    mean_y: ArrayLike,
    standard_deviation_y: ArrayLike,
) -> Vector:
    """Return the value that U stays below with probability `level`.

    >>> float(np.round(quantile(0.975, 3.2, 0.4, 0.9, 0.05), 9))
    3.674284614
    """
    _check_level(level)
    factors = _checked(mean_x, standard_deviation_x, mean_y, standard_deviation_y)
    with np.errstate(under="ignore", over="ignore"):
        products = Products.of(*(each.ravel() for each in factors))
        return np.asarray(products.quantile(level).reshape(factors[0].shape))


def quantile_bounds(
    level: float,
    mean_x: ArrayLike,
    standard_deviation_x: ArrayLike,
    mean_y: ArrayLike,
    standard_deviation_y: ArrayLike,
) -> Vector:
    """Return a value that the quantile of U cannot exceed: sooner found, by Chernoff's bound.

    >>> bool(quantile_bounds(0.9, 1.0, 0.5, 0.9, 0.1) > quantile(0.9, 1.0, 0.5, 0.9, 0.1))
    True
    """
    _check_level(level)
    factors = _checked(mean_x, standard_deviation_x, mean_y, standard_deviation_y)
    with np.errstate(under="ignore", over="ignore"):
        products = Products.of(*(each.ravel() for each in factors))
        return np.asarray(products.quantile_bounds(level).reshape(factors[0].shape))


def largest_quantiles(
    level: float,
    count: int,
    mean_x: ArrayLike,
    standard_deviation_x: ArrayLike,
    mean_y: ArrayLike,
    standard_deviation_y: ArrayLike,
) -> tuple[Indices, Vector]:
    """Return the rows with the `count` largest quantiles, best first, and those quantiles.

    The same rows as from all quantiles (of equals, the smallest row first), but most songs
    are ruled out without one: by an upper bound, or by one look at P(U ≤ threshold).

    >>> largest_quantiles(0.9, 2, [1.0, 3.0, 2.0, 3.0], 0.5, 0.9, 0.0)[0].tolist()
    [1, 3]
    """
    _check_level(level)
    factors = _checked(mean_x, standard_deviation_x, mean_y, standard_deviation_y)
    with np.errstate(under="ignore", over="ignore"):
        products = Products.of(*(each.ravel() for each in factors))
        values, candidates = _candidates(level, count, products)
    rows = best_rows(values, count, candidates)
    return rows, values[rows]


def _candidates(level: float, count: int, products: Products) -> tuple[Vector, Indices]:
    """Return quantiles, and the rows for which they hold: all that can be among the largest."""
    bounds = products.quantile_bounds(level)
    solved = best_rows(bounds, max(count, _FIRST), np.arange(len(products), dtype=np.intp))
    values = np.full(len(products), -np.inf)
    values[solved] = products.take(solved).quantile(level)
    if count <= 0 or len(solved) == len(products):
        return values, solved
    threshold = np.partition(values[solved], -count)[-count]
    bounds[solved] = -np.inf
    rest = np.flatnonzero(bounds >= threshold)
    rest = rest[products.take(rest).may_reach(level, threshold)]
    values[rest] = products.take(rest).quantile(level)
    return values, np.concatenate([solved, rest])


def _check_level(level: float) -> None:
    if not _LEAST_LEVEL <= level < 1:
        msg = f"level must be at least {_LEAST_LEVEL:g} and below 1, got {level}"
        raise InvalidInputError(msg)


def _checked(
    mean_x: ArrayLike, deviation_x: ArrayLike, mean_y: ArrayLike, deviation_y: ArrayLike
) -> list[Vector]:
    """Return the four arguments in one shape, if they describe two normals."""
    given = [
        np.asarray(each, dtype=np.float64) for each in (mean_x, deviation_x, mean_y, deviation_y)
    ]
    if not all(np.isfinite(each).all() for each in given):
        msg = "means and standard deviations must be finite, got NaN or infinity"
        raise InvalidInputError(msg)
    for deviation in given[1::2]:
        if (deviation < 0).any():
            msg = f"standard deviations must not be negative, got {deviation.min()}"
            raise InvalidInputError(msg)
    return list(np.broadcast_arrays(*given))
