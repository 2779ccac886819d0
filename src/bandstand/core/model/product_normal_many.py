"""The product U of any number of independent normals, for many songs at once.

code           maths   shape   meaning
`means`        μ_f     (F, S)  the mean of each factor of each song
`deviations`   σ_f     (F, S)  its standard deviation; 0 is a point mass
`level`        α               the probability of a quantile

One factor is normal and two are (24), to rounding error. With three or more, let X be the
factor that is widest for its mean, and C the product of all others. Then

    P(U ≤ u) = E_C[Φ((u − Cμ_x)/(|C|σ_x))]

with C summed over the nodes of a rule for each of its factors, finer where a factor is wide.
It is deterministic. Quantiles of three factors are right to 1e-4 standard deviations at worst
and to 1e-7 in the usual case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from bandstand.core.model import product_normal
from bandstand.core.model.ranking import best_rows
from bandstand.errors import ConvergenceError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bandstand.types import Indices, Matrix, Vector

# A factor with a standard deviation below this part of its mean hardly ever changes sign.
_NARROW: Final = 0.2
_GAUSS_NODES: Final = 24
_GRADED_NODES: Final = 121
# All nodes of a song together; with four factors or more, each factor has fewer.
_MOST_NODES: Final = 16_000
# Standard deviations of a factor that count; what lies beyond has a probability of 1e-16.
_REACH: Final = 8.25
# Standard deviations around 0 in which graded nodes are even.
_GRADING: Final = 1e-3
# Songs times nodes that are held at once.
_ROOM: Final = 320_000
# A rough look is wrong by less than this part of 1 − level, for levels of a half and above.
_ROUGHNESS: Final = 0.5
# Keeps squares finite where a probability is 0 or 1 in any case.
_FARTHEST: Final = 1e30
_SMALLEST: Final = 1e-300
_TOLERANCE: Final = 1e-11
_MOST_STEPS: Final = 100
# How many of the most promising songs are solved before the others are put to the test.
_FIRST: Final = 32


def standard_deviation(means: Matrix, deviations: Matrix) -> Vector:
    """Return the standard deviation of each product, as a sum of squares: (S,).

    >>> standard_deviation(np.array([[3.0], [2.0]]), np.array([[0.0], [0.5]])).tolist()
    [1.5]
    """
    with np.errstate(under="ignore"):
        mean, found = np.ones(means.shape[1]), np.zeros(means.shape[1])
        for each, deviation in zip(means, deviations, strict=True):
            found = np.hypot(found * np.hypot(each, deviation), mean * deviation)
            mean = mean * each
    return np.asarray(found)


def quantile(level: float, means: Matrix, deviations: Matrix) -> Vector:
    """Return the value that each product stays below with probability `level`: (S,).

    >>> quantile(0.975, np.array([[1.0], [1.0], [3.0]]), np.zeros((3, 1))).tolist()
    [3.0]
    """
    _check_level(level)
    with np.errstate(under="ignore"):
        if len(means) == 1:
            return np.asarray(means[0] + deviations[0] * ndtri(level))
        if len(means) == 2:
            return product_normal.quantile(level, means[0], deviations[0], means[1], deviations[1])
        means, deviations, scale = _scaled(means, deviations)
        return np.asarray(scale * _solve(level, means, deviations))


def largest_quantiles(
    level: float, count: int, means: Matrix, deviations: Matrix
) -> tuple[Indices, Vector]:
    """Return the rows with the `count` largest quantiles, best first, and those quantiles.

    The same rows as from all quantiles; but with three or more factors most songs are ruled
    out by Cantelli's inequality, or by one or two looks at P(U ≤ threshold).
    """
    _check_level(level)
    if len(means) == 2:
        return product_normal.largest_quantiles(
            level, count, means[0], deviations[0], means[1], deviations[1]
        )
    with np.errstate(under="ignore"):
        if len(means) == 1 or count <= 0 or means.shape[1] <= max(count, _FIRST):
            values = quantile(level, means, deviations)
        else:
            values = _promising(level, count, means, deviations)
    rows = best_rows(values, count, np.arange(means.shape[1], dtype=np.intp))
    return rows, values[rows]


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        msg = f"level must be above 0 and below 1, got {level}"
        raise InvalidInputError(msg)


def _promising(level: float, count: int, means: Matrix, deviations: Matrix) -> Vector:
    """Return the quantiles of all songs that can be among the largest, −∞ for the others."""
    centre, spread = np.prod(means, axis=0), standard_deviation(means, deviations)
    everything = np.arange(len(centre), dtype=np.intp)
    first = best_rows(centre + ndtri(level) * spread, max(count, _FIRST), everything)
    values = np.full(len(centre), -np.inf)
    values[first] = quantile(level, means[:, first], deviations[:, first])
    threshold = np.partition(values[first], -count)[-count]
    rest = np.setdiff1d(everything, first)
    rest = rest[(centre + spread * np.sqrt(level / (1 - level)))[rest] >= threshold]
    some_means, some_deviations, scale = _scaled(means[:, rest], deviations[:, rest])
    # A scale that underflowed to 0 makes the threshold infinite, on its own side of 0.
    limit = np.clip(threshold / np.maximum(scale, _SMALLEST), -_FARTHEST, _FARTHEST)
    near = np.flatnonzero(
        _rough_distribution(limit, some_means, some_deviations) <= level + _ROUGHNESS * (1 - level)
    )
    below, _ = _distribution(limit[near], some_means[:, near], some_deviations[:, near])
    rest = rest[near[below <= level + 1e-9]]  # with room for rounding
    values[rest] = quantile(level, means[:, rest], deviations[:, rest])
    return values


def _scaled(means: Matrix, deviations: Matrix) -> tuple[Matrix, Matrix, Vector]:
    """Return the factors brought near 1, the widest first, and what was taken out of each song."""
    units = np.maximum(np.abs(means), deviations)
    units = np.where(units > 0, units, 1.0)
    means, deviations = means / units, deviations / units
    order = np.argsort(np.arctan2(np.abs(means), deviations), axis=0, kind="stable")
    return (
        np.take_along_axis(means, order, axis=0),
        np.take_along_axis(deviations, order, axis=0),
        np.prod(units, axis=0),
    )


def _solve(level: float, means: Matrix, deviations: Matrix) -> Vector:
    """Return each quantile: Newton's method for Φ⁻¹(P(U ≤ u)), which is nearly straight.

    Cantelli's inequality gives the brackets that it must not leave.
    """
    target, spread = float(ndtri(level)), standard_deviation(means, deviations)
    centre = np.prod(means, axis=0)
    low = centre - spread * np.sqrt((1 - level) / level)
    high = centre + spread * np.sqrt(level / (1 - level))
    reached = np.clip(centre + target * spread, low, high)
    active = np.flatnonzero(spread > 0)
    for _ in range(_MOST_STEPS):
        now = reached[active]
        found, density = _distribution(now, means[:, active], deviations[:, active])
        low[active] = np.where(found < level, now, low[active])
        high[active] = np.where(found < level, high[active], now)
        after = now + _newton_step(found, density, target)
        inside = (low[active] < after) & (after < high[active])
        reached[active] = np.where(inside, after, (low[active] + high[active]) / 2)
        near = _TOLERANCE * spread[active]
        settled = (np.abs(reached[active] - now) <= near) | (high[active] - low[active] <= near)
        active = active[~settled]
        if not len(active):
            return np.asarray(reached)
    msg = f"a quantile must be found within {_MOST_STEPS} steps, {len(active)} were not"
    raise ConvergenceError(msg)


def _newton_step(found: Vector, density: Vector, target: float) -> Vector:
    """Return the step that makes Φ⁻¹(P) the target if it is straight; ±∞ or 0 where it is flat."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        score = ndtri(found)
        step = (target - score) * np.exp(-0.5 * score**2) / np.sqrt(2 * np.pi) / density
    return np.asarray(np.where(np.isfinite(step), step, np.inf))


def _distribution(values: Vector, means: Matrix, deviations: Matrix) -> tuple[Vector, Vector]:
    """Return P(U ≤ value) and the density there, for each song."""
    found, density = np.empty(len(values)), np.empty(len(values))
    others = len(means) - 1
    wide = (deviations[1:] > _NARROW * np.abs(means[1:])).sum(axis=0)
    for count in range(others + 1):
        # The widest come first, so songs with as many wide factors share their rules.
        rules = [_graded] * count + [_gauss] * (others - count)
        rows = np.flatnonzero(wide == count)
        chunk = max(1, _ROOM // _MOST_NODES)
        for start in range(0, len(rows), chunk):
            some = rows[start : start + chunk]
            found[some], density[some] = _summed(
                values[some], means[:, some], deviations[:, some], rules
            )
    return found, density


def _rough_distribution(values: Vector, means: Matrix, deviations: Matrix) -> Vector:
    """Return P(U ≤ value) of each song with few nodes, also where factors are wide."""
    found = np.empty(len(values))
    chunk = max(1, _ROOM // _GAUSS_NODES ** (len(means) - 1))
    for start in range(0, len(values), chunk):
        some = slice(start, start + chunk)
        rules = [_gauss] * (len(means) - 1)
        found[some], _ = _summed(values[some], means[:, some], deviations[:, some], rules)
    return found


def _summed(
    values: Vector, means: Matrix, deviations: Matrix, rules: Sequence[_Rule]
) -> tuple[Vector, Vector]:
    """Return E_C[P(CX ≤ value)] and the density, C summed over the nodes of all its factors."""
    products = weights = np.ones((len(values), 1))
    share = int(_MOST_NODES ** (1 / len(rules)))
    for rule, mean, deviation in zip(rules, means[1:], deviations[1:], strict=True):
        nodes, shares = rule(mean[:, np.newaxis], deviation[:, np.newaxis], share)
        products = (products[:, :, np.newaxis] * nodes[:, np.newaxis, :]).reshape(len(mean), -1)
        weights = (weights[:, :, np.newaxis] * shares[:, np.newaxis, :]).reshape(len(mean), -1)
    spread = np.maximum(np.abs(products) * deviations[0][:, np.newaxis], _SMALLEST)
    above = values[:, np.newaxis] - products * means[0][:, np.newaxis]
    scores = np.clip(above / spread, -_FARTHEST, _FARTHEST)
    found = np.einsum("ij,ij->i", ndtr(scores), weights)
    density = np.einsum("ij,ij->i", np.exp(-0.5 * scores**2) / spread, weights)
    return found, density / np.sqrt(2 * np.pi)


def _gauss(mean: Matrix, deviation: Matrix, most: int) -> tuple[Matrix, Matrix]:
    """Return Gauss–Hermite nodes and weights: for a factor that stays away from 0."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(min(_GAUSS_NODES, most))
    return mean + deviation * nodes, np.tile(weights / weights.sum(), (len(mean), 1))


def _graded(mean: Matrix, deviation: Matrix, most: int) -> tuple[Matrix, Matrix]:
    """Return nodes graded towards 0, where P(CX ≤ u) turns steeply: δ·sinh of even ones."""
    unit = _GRADING * deviation
    longest = np.arcsinh((np.abs(mean) + _REACH * deviation) / unit)
    even = longest * np.linspace(-1.0, 1.0, min(_GRADED_NODES, most))
    nodes = unit * np.sinh(even)
    return nodes, _shares((nodes - mean) / deviation, np.cosh(even))


def _shares(scores: Matrix, lengths: Matrix) -> Matrix:
    """Return the standard normal density at each node times its length, to a sum of 1."""
    shares = lengths * np.exp(-0.5 * scores**2)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


_Rule: TypeAlias = "Callable[[Matrix, Matrix, int], tuple[Matrix, Matrix]]"
