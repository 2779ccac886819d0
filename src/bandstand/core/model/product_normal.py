"""The product U of independent normals, for many songs at once.

code           maths   shape   meaning
`means`        μ_f     (F, S)  the mean of each factor of each song
`deviations`   σ_f     (F, S)  its standard deviation; 0 is a point mass
`level`        α               the probability of a quantile

Under the variational model a song's expected rating is such a product. Everything here is
deterministic, without Monte Carlo. One factor is normal and two are (24), to rounding error
(`product_normal_pair`). With three or more, let X be the factor that is widest for its mean, and
C the product of all others. Then

    P(U ≤ u) = E_C[Φ((u − Cμ_x)/(|C|σ_x))]

with C summed over the nodes of a rule for each of its factors, finer where a factor is wide.
Quantiles of three factors are right to 1e-4 standard deviations at worst and to 1e-7 in the
usual case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from bandstand.core.model.candidates import best_rows
from bandstand.core.model.product_normal_pair import PairProducts, solve_quantile
from bandstand.errors import InvalidInputError
from bandstand.types import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bandstand.types import AnyArray, Indices, Matrix, Vector

_MIN_LEVEL: Final = 1e-300
# Songs that are solved before the others are compared with the threshold that these set.
_SOLVED_FIRST: Final = 32
# A factor with a standard deviation below this part of its mean hardly ever changes sign.
_NARROW: Final = 0.2
_GAUSS_NODES: Final = 24
_GRADED_NODES: Final = 121
# All nodes of a song together; with four factors or more, each factor has fewer.
_MAX_NODES: Final = 16_000
# Standard deviations of a factor that count; what lies beyond has a probability of 1e-16.
_REACH: Final = 8.25
# Standard deviations around 0 in which graded nodes are even.
_GRADING: Final = 1e-3
# Songs times nodes that are held at once.
_MAX_ENTRIES: Final = 320_000
# The rule of few nodes is wrong by less than this part of 1 − level, for levels from a half on.
_COARSE_ERROR: Final = 0.5
# Keeps squares finite where a probability is 0 or 1 in any case.
_MAX_SCORE: Final = 1e30
_SMALLEST: Final = 1e-300


def standard_deviation(means: Matrix, deviations: Matrix) -> Vector:
    """Return the standard deviation of each product, as a sum of squares: (S,).

    >>> standard_deviation(np.array([[3.0], [2.0]]), np.array([[0.0], [0.5]])).tolist()
    [1.5]
    """
    with np.errstate(under="ignore", over="ignore"):
        mean, found = np.ones(means.shape[1]), np.zeros(means.shape[1])
        for each, deviation in zip(means, deviations, strict=True):
            found = np.hypot(found * np.hypot(each, deviation), mean * deviation)
            mean = mean * each
    return np.asarray(found)


def quantile(level: float, means: Matrix, deviations: Matrix) -> Vector:
    """Return the value that each product stays below with probability `level`: (S,).

    >>> quantile(0.975, np.array([[3.2], [0.9]]), np.array([[0.4], [0.05]])).round(9).tolist()
    [3.674284614]
    """
    _check(level, means, deviations)
    with np.errstate(under="ignore", over="ignore"):
        return _products(means, deviations).quantile(level)


def largest_quantiles(
    level: float, count: int, means: Matrix, deviations: Matrix
) -> tuple[Indices, Vector]:
    """Return the rows with the `count` largest quantiles, best first, and those quantiles.

    The same rows as from all quantiles (of equals, the smallest row first), but most songs are
    ruled out without one: by an upper bound, or by one or two values of P(U ≤ threshold).

    >>> means = np.array([[1.0, 3.0, 2.0, 3.0], [0.9, 0.9, 0.9, 0.9]])
    >>> largest_quantiles(0.9, 2, means, np.array([[0.5] * 4, [0.0] * 4]))[0].tolist()
    [1, 3]
    """
    _check(level, means, deviations)
    everything = np.arange(means.shape[1], dtype=np.intp)
    with np.errstate(under="ignore", over="ignore"):
        products = _products(means, deviations)
        if count <= 0 or len(everything) <= max(count, _SOLVED_FIRST):
            values = products.quantile(level)
        else:
            likely = np.prod(means, axis=0) + ndtri(level) * standard_deviation(means, deviations)
            first = best_rows(likely, max(count, _SOLVED_FIRST), everything)
            values = _competing(level, count, products, first)
    rows = best_rows(values, count, everything)
    return rows, values[rows]


def _competing(level: float, count: int, products: _Products, first: Indices) -> Vector:
    """Return the quantiles of all songs that can be among the largest, −∞ for the others."""
    values = np.full(len(products), -np.inf)
    values[first] = products.take(first).quantile(level)
    threshold = float(np.partition(values[first], -count)[-count])
    bounds = products.quantile_bounds(level)
    bounds[first] = -np.inf
    rest = np.flatnonzero(bounds >= threshold)
    rest = rest[products.take(rest).may_reach(level, threshold)]
    values[rest] = products.take(rest).quantile(level)
    return values


def _check(level: float, means: Matrix, deviations: Matrix) -> None:
    """Refuse what is no level, and what describes no normals."""
    if not _MIN_LEVEL <= level < 1:
        msg = f"level must be at least {_MIN_LEVEL:g} and below 1, got {level}"
        raise InvalidInputError(msg)
    if not (np.isfinite(means).all() and np.isfinite(deviations).all()):
        msg = "means and standard deviations must be finite, got NaN or infinity"
        raise InvalidInputError(msg)
    if (deviations < 0).any():
        msg = f"standard deviations must not be negative, got {deviations.min()}"
        raise InvalidInputError(msg)


def _products(means: Matrix, deviations: Matrix) -> _Products:
    if len(means) <= 2:
        # One factor is two of which the second is the constant 1.
        means = np.vstack([means, np.ones_like(means)])[:2]
        deviations = np.vstack([deviations, np.zeros_like(deviations)])[:2]
        return PairProducts.of(means[0], deviations[0], means[1], deviations[1])
    return _ManyProducts.of(means, deviations)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ManyProducts:
    """Products of three or more factors, each brought near 1, the widest for its mean first."""

    means: Matrix
    deviations: Matrix
    scale: Vector  # what was taken out of each song

    @classmethod
    def of(cls, means: Matrix, deviations: Matrix) -> _ManyProducts:
        """Return the products of factors of any scale and order."""
        units = np.maximum(np.abs(means), deviations)
        units = np.where(units > 0, units, 1.0)
        means, deviations = means / units, deviations / units
        order = np.argsort(np.arctan2(np.abs(means), deviations), axis=0, kind="stable")
        return cls(
            means=np.take_along_axis(means, order, axis=0),
            deviations=np.take_along_axis(deviations, order, axis=0),
            scale=np.prod(units, axis=0),
        )

    def __len__(self) -> int:
        return len(self.scale)

    def take(self, rows: AnyArray) -> _ManyProducts:
        """Return only the products in `rows`."""
        return _ManyProducts(
            means=self.means[:, rows], deviations=self.deviations[:, rows], scale=self.scale[rows]
        )

    def quantile(self, level: float) -> Vector:
        """Return the value that U stays below with probability `level`."""
        mean, spread = self._moments()
        start = mean + float(ndtri(level)) * spread

        def distribution(values: Vector, some: Indices) -> tuple[Vector, Vector]:
            return _distribution(values, self.means[:, some], self.deviations[:, some])

        return self.scale * solve_quantile(distribution, level, start, mean, spread)

    def quantile_bounds(self, level: float) -> Vector:
        """Return a value for each product that its quantile cannot exceed (Cantelli)."""
        mean, spread = self._moments()
        return np.asarray(self.scale * (mean + spread * np.sqrt(level / (1 - level))))

    def may_reach(self, level: float, threshold: float) -> AnyArray:
        """Return whether each product's quantile can be `threshold` or more."""
        # A scale that underflowed to 0 makes the threshold infinite, on its own side of 0.
        limit = np.clip(threshold / np.maximum(self.scale, _SMALLEST), -_MAX_SCORE, _MAX_SCORE)
        coarse = _coarse_distribution(limit, self.means, self.deviations)
        reaches = coarse <= level + _COARSE_ERROR * (1 - level)
        near = np.flatnonzero(reaches)
        below, _ = _distribution(limit[near], self.means[:, near], self.deviations[:, near])
        reaches[near] = below <= level + 1e-9  # with room for rounding
        return reaches

    def _moments(self) -> tuple[Vector, Vector]:
        return np.prod(self.means, axis=0), standard_deviation(self.means, self.deviations)


def _distribution(values: Vector, means: Matrix, deviations: Matrix) -> tuple[Vector, Vector]:
    """Return P(U ≤ value) and the density there, for each song."""
    found, density = np.empty(len(values)), np.empty(len(values))
    others = len(means) - 1
    wide = (deviations[1:] > _NARROW * np.abs(means[1:])).sum(axis=0)
    for count in range(others + 1):
        # The widest come first, so songs with as many wide factors share their rules.
        rules = [_graded] * count + [_gauss] * (others - count)
        rows = np.flatnonzero(wide == count)
        for block in blocks(len(rows), _MAX_ENTRIES // _MAX_NODES):
            some = rows[block]
            found[some], density[some] = _summed(
                values[some], means[:, some], deviations[:, some], rules
            )
    return found, density


def _coarse_distribution(values: Vector, means: Matrix, deviations: Matrix) -> Vector:
    """Return P(U ≤ value) of each song with few nodes, also where factors are wide."""
    found, rules = np.empty(len(values)), [_gauss] * (len(means) - 1)
    for some in blocks(len(values), max(1, _MAX_ENTRIES // _GAUSS_NODES ** len(rules))):
        found[some], _ = _summed(values[some], means[:, some], deviations[:, some], rules)
    return found


def _summed(
    values: Vector, means: Matrix, deviations: Matrix, rules: Sequence[_Rule]
) -> tuple[Vector, Vector]:
    """Return E_C[P(CX ≤ value)] and the density, C summed over the nodes of all its factors."""
    products = weights = np.ones((len(values), 1))
    share = int(_MAX_NODES ** (1 / len(rules)))
    for rule, mean, deviation in zip(rules, means[1:], deviations[1:], strict=True):
        nodes, shares = rule(mean[:, np.newaxis], deviation[:, np.newaxis], share)
        products = (products[:, :, np.newaxis] * nodes[:, np.newaxis, :]).reshape(len(mean), -1)
        weights = (weights[:, :, np.newaxis] * shares[:, np.newaxis, :]).reshape(len(mean), -1)
    spread = np.maximum(np.abs(products) * deviations[0][:, np.newaxis], _SMALLEST)
    above = values[:, np.newaxis] - products * means[0][:, np.newaxis]
    scores = np.clip(above / spread, -_MAX_SCORE, _MAX_SCORE)
    found = np.einsum("ij,ij->i", ndtr(scores), weights)
    density = np.einsum("ij,ij->i", np.exp(-0.5 * scores**2) / spread, weights)
    return found, density / np.sqrt(2 * np.pi)


def _gauss(mean: Matrix, deviation: Matrix, limit: int) -> tuple[Matrix, Matrix]:
    """Return Gauss–Hermite nodes and weights: for a factor that stays away from 0."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(min(_GAUSS_NODES, limit))
    return mean + deviation * nodes, np.tile(weights / weights.sum(), (len(mean), 1))


def _graded(mean: Matrix, deviation: Matrix, limit: int) -> tuple[Matrix, Matrix]:
    """Return nodes graded towards 0, where P(CX ≤ u) turns steeply: δ·sinh of even ones."""
    unit = _GRADING * deviation
    longest = np.arcsinh((np.abs(mean) + _REACH * deviation) / unit)
    even = longest * np.linspace(-1.0, 1.0, min(_GRADED_NODES, limit))
    nodes = unit * np.sinh(even)
    return nodes, _shares((nodes - mean) / deviation, np.cosh(even))


def _shares(scores: Matrix, lengths: Matrix) -> Matrix:
    """Return the standard normal density at each node times its length, to a sum of 1."""
    shares = lengths * np.exp(-0.5 * scores**2)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


_Rule: TypeAlias = "Callable[[Matrix, Matrix, int], tuple[Matrix, Matrix]]"
_Products: TypeAlias = "PairProducts | _ManyProducts"
