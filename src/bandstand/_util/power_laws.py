"""Straight lines of least squares on logarithmic axes: rates of growth, repeats and Zipf's law.

A quantity that grows like n^k is a line of slope k on two logarithmic axes: regret of a radio
that learns nothing has slope 1, one that learns has less. Zipf's law says that the item of rank k
occurs 1/k^exponent times as often as the first, which is such a line too.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from bandstand.errors import InvalidInputError
from bandstand.types import Matrix, Vector

# A straight line through fewer ranks says nothing.
_MIN_RANKS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """y = intercept + slope · x, and how well it fits."""

    slope: float
    intercept: float
    r_squared: float  # the share of the variance of y that the line explains; 1 where y is flat
    slope_standard_error: float | None  # None for two points


def straight_line(x: ArrayLike, y: ArrayLike) -> Line | None:
    """Return the line of least squares; None where there are not two different x.

    >>> straight_line([0.0, 1.0, 2.0], [1.0, 3.0, 5.0])
    Line(slope=2.0, intercept=1.0, r_squared=1.0, slope_standard_error=0.0)
    """
    across, up = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if across.shape != up.shape or across.ndim != 1:
        msg = f"a line needs one y for each x, got shapes {across.shape} and {up.shape}"
        raise InvalidInputError(msg)
    if len(across) < 2 or (across == across[0]).all():
        return None
    return fitted_line(across, up)


def fitted_line(across: Vector, up: Vector) -> Line:
    """Return the line of least squares through points that are known not to share one x."""
    across_spread, up_spread = across - across.mean(), up - up.mean()
    horizontal, vertical = float(across_spread @ across_spread), float(up_spread @ up_spread)
    slope = float(across_spread @ up_spread) / horizontal
    residual = up_spread - slope * across_spread
    unexplained = float(residual @ residual)
    freedom = len(across) - 2
    return Line(
        slope=slope,
        intercept=float(up.mean() - slope * across.mean()),
        r_squared=1 - unexplained / vertical if vertical else 1.0,
        slope_standard_error=math.sqrt(unexplained / freedom / horizontal) if freedom else None,
    )


def log_log_slope(curve: Vector, *, first: int, last: int) -> float:
    """Return k of curve ~ n^k for n from `first` to `last`, both counted from 1.

    >>> round(log_log_slope(np.arange(1.0, 11.0) ** 0.5, first=5, last=10), 12)
    0.5
    """
    if not 1 <= first < last <= len(curve):
        msg = f"a slope needs 1 <= first < last <= {len(curve)}, got {first} and {last}"
        raise InvalidInputError(msg)
    part = np.asarray(curve, dtype=np.float64)[first - 1 : last]
    if not ((part > 0) & np.isfinite(part)).all():
        msg = f"a slope on logarithmic axes needs positive values, got {part.min()}"
        raise InvalidInputError(msg)
    return fitted_line(np.log(np.arange(first, last + 1.0)), np.log(part)).slope


def second_half_slopes(curves: Matrix) -> Vector:
    """Return the slope of the second half of each curve, one row for each run: (runs,)."""
    last = curves.shape[1]
    return np.array([log_log_slope(curve, first=last // 2 + 1, last=last) for curve in curves])


@dataclass(frozen=True, slots=True, kw_only=True)
class Zipf:
    """The straight line through plays by rank on two logarithmic axes.

    plays = first · rank^(-exponent)
    """

    exponent: float
    first: float  # plays of the most played song, by the line
    r_squared: float  # the share of the variance of log plays that the line explains


def plays_by_rank(items: ArrayLike) -> Vector:
    """Return how often each thing occurs, most often first.

    >>> plays_by_rank([7, 3, 7, 7, 3, 9]).tolist()
    [3.0, 2.0, 1.0]
    """
    counts = np.unique(np.asarray(items), return_counts=True)[1]
    return np.asarray(np.sort(counts)[::-1], dtype=np.float64)


def repeat_share(items: ArrayLike) -> float:
    """Return the paper's proportion of repetitions: 1 − different things / all.

    >>> repeat_share([7, 3, 7, 7])
    0.5
    """
    things = np.asarray(items)
    if not things.size:
        msg = "a share of repeats needs at least one play, got none"
        raise InvalidInputError(msg)
    return 1 - len(np.unique(things)) / things.size


def zipf(plays_by_rank: Vector) -> Zipf | None:
    """Return the line of least squares; None for few songs, or where all are played as often.

    >>> line = zipf(np.array([12.0, 6.0, 4.0, 3.0, 2.4]))
    >>> round(line.exponent, 9), round(line.first, 9), round(line.r_squared, 9)
    (1.0, 12.0, 1.0)
    """
    if len(plays_by_rank) < _MIN_RANKS or plays_by_rank[0] == plays_by_rank[-1]:
        return None
    line = fitted_line(np.log(np.arange(1.0, len(plays_by_rank) + 1)), np.log(plays_by_rank))
    return Zipf(exponent=-line.slope, first=float(np.exp(line.intercept)), r_squared=line.r_squared)
