"""The product U = XY of two independent normals (24), for many songs at once.

code           maths      shape   meaning
`means`        μ_x, μ_y   (2, S)  the mean of each factor of each song
`deviations`   σ_x, σ_y   (2, S)  its standard deviation; 0 is a point mass
`level`        α                  the probability of a quantile

Under the variational model a song's expected rating is such a product. Everything here is
deterministic, without Monte Carlo, and right to rounding error. Each product is brought to
standard form, W = (a + Z₁)(b + Z₂) with a ≥ 0 and b ≥ 0:

    U = 2^exponent · (centre + sign · unit · (W − ab)),   a = |μ_x|/σ_x,   b = |μ_y|/σ_y

Powers of two are taken out first, so that no scale of numbers overflows and nothing is rounded.
If a or b is beyond 1e17, one factor is as good as constant, U is normal to the last digit (or
constant), and the answer has a closed form.

For W, the plane of the two factors is turned by 45°: V = (X + Y)/√2 and T = (X − Y)/√2 are again
independent normals of unit variance, and

    XY ≤ w   ⇔   V² ≤ T² + 2w   (w > 0)   or   T² ≥ V² + 2|w|   (w ≤ 0)

so (24) becomes one integral over the *outer* of the two, with the *inner* one in closed form:

    P(|inner| < s) = ∫ φ(z) [Φ(s − i) − Φ(−s − i)] dz,   s = √((o + z)² + 2|w|)

The edge s never rises faster than z, whatever a, b and w are: there is no steep step to look
for, and the trapezoidal rule reaches rounding error with a step of one half. Only where the
edge has a corner (w near 0) that carries weight, the mesh is graded towards it.

code               maths    shape  meaning
`first`, `second`  a, b     (S,)   mean over standard deviation of each factor
`unit`             σ_x σ_y  (S,)   one unit of W, in units of 2^exponent, as are the next three
`centre`           μ_x μ_y  (S,)   the mean of U; `remainder` is what rounding took from it
`deviation`                 (S,)   the standard deviation of U
`distance`                  (S,)   how far a value is above the mean of U
`excess`           w − ab   (S,)   how far a value of W is above its mean; it keeps the digits
                                   that w itself loses when a and b are large
`upper`                     (S,)   which tail is meant: P(W > w) where true, else P(W ≤ w)
`radius`                           how many standard deviations of the outer variable count
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri

from bandstand.core.model.candidates import best_rows
from bandstand.errors import ConvergenceError, InvalidInputError
from bandstand.types import AnyArray, Indices, Matrix, Vector, blocks

# Beyond this ratio of mean to standard deviation the product's skewness is below 6e-17.
_CONSTANT_RATIO: Final = 1e17
# Farther out than any product that has a probability; its square is still finite.
_MAX_EXCESS: Final = 1e40
# Bounds and tests leave this margin, far more than any error of rounding.
_MARGIN: Final = 1e-9
_SPLITTER: Final = 2.0**27 + 1
# Covers every probability that a double can hold.
WIDEST_RADIUS: Final = 38.5
# The trapezoidal rule is then wrong by exp(−π²/step²) = 7e-18 of the probability.
_STEP: Final = 0.5
# Outside these the corner at w = 0 is too light, or too round, to be felt.
_CORNER_MEAN: Final = 9.5
_CORNER_VALUE: Final = 16.0
_CORNER_RADIUS: Final = 16.0
# Closer to 0 than this, w counts as this far away; the probability moves by 1e-18 at most.
_MIN_VALUE: Final = 1e-20
# Rows times nodes that are held at once: they stay in the processor's cache.
_MAX_MESH: Final = 50_000
_MIN_ALLOWANCE: Final = 1e-20
_TOLERANCE: Final = 1e-12
_MAX_STEPS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PairProducts:
    """Products in standard form: U = 2^exponent (centre + sign · unit · (W − ab)), one per row."""

    first: Vector  # a
    second: Vector  # b
    sign: Vector
    unit: Vector
    centre: Vector
    remainder: Vector  # what rounding took from `centre`
    deviation: Vector  # of U, in units of 2^exponent
    exponent: AnyArray
    normal: AnyArray  # whether U is as good as normal, or constant

    @classmethod
    def of(
        cls, mean_x: Vector, deviation_x: Vector, mean_y: Vector, deviation_y: Vector
    ) -> PairProducts:
        """Return the standard form; powers of two are taken out first, which rounds nothing."""
        x, sx, exponent_x = _scaled(mean_x, deviation_x)
        y, sy, exponent_y = _scaled(mean_y, deviation_y)
        normal = (sx * _CONSTANT_RATIO <= np.abs(x)) | (sy * _CONSTANT_RATIO <= np.abs(y))
        unit = np.where(normal, 1.0, sx * sy)
        return cls(
            first=np.where(normal, 0.0, np.abs(x) / np.where(normal, 1.0, sx)),
            second=np.where(normal, 0.0, np.abs(y) / np.where(normal, 1.0, sy)),
            sign=np.where((x < 0) != (y < 0), -1.0, 1.0),
            unit=unit,
            centre=x * y,
            remainder=_lost_in_product(x, y),
            deviation=np.hypot(np.hypot(x * sy, y * sx), sx * sy),
            exponent=exponent_x + exponent_y,
            normal=normal,
        )

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: AnyArray) -> PairProducts:
        """Return only the products in `rows`."""
        return PairProducts(**{name: getattr(self, name)[rows] for name in self.__slots__})

    def distance(self, value: Vector) -> Vector:
        """Return how far `value` is above the mean, in units of 2^exponent."""
        return np.asarray((np.ldexp(value, -self.exponent) - self.centre) - self.remainder)

    def value(self, distance: Vector) -> Vector:
        """Return the value that is `distance` above the mean."""
        return np.asarray(np.ldexp(self.centre + (distance + self.remainder), self.exponent))

    def tail(self, value: Vector, *, upper: bool, radius: float) -> Vector:
        """Return P(U > value) if `upper`, else P(U ≤ value)."""
        distance = self.distance(value)
        found = _normal_tail(distance, self.deviation, upper=upper)
        rows = np.flatnonzero(~self.normal)
        some = self.take(rows)
        excess = np.clip(some.sign * distance[rows] / some.unit, -_MAX_EXCESS, _MAX_EXCESS)
        mirrored = some.sign < 0
        found[rows], _ = tail(excess, some.first, some.second, mirrored != upper, radius)
        return found

    def quantile(self, level: float) -> Vector:
        """Return the value that U stays below with probability `level`."""
        distance = self.deviation * float(ndtri(level))
        rows = np.flatnonzero(~self.normal)
        some = self.take(rows)
        # The smaller tail is followed, so that no digits are lost; 1 − level is exact there.
        upper = (some.sign < 0) != (level > 0.5)
        excess = tail_quantile(min(level, 1 - level), some.first, some.second, upper)
        distance[rows] = some.sign * some.unit * excess
        return self.value(distance)

    def quantile_bounds(self, level: float) -> Vector:
        """Return a value for each product that its quantile cannot exceed."""
        distance = self.deviation * float(ndtri(level))
        rows = np.flatnonzero(~self.normal)
        some = self.take(rows)
        means = some.sign * some.first * some.second
        distance[rows] = some.unit * excess_bound(level, means, some.first, some.second)
        margin = _MARGIN * self.deviation + 1e-14 * np.abs(self.centre)
        return self.value(distance + margin)

    def may_reach(self, level: float, threshold: float) -> AnyArray:
        """Return whether each product's quantile can be `threshold` or more.

        One probability tells: P(U ≤ threshold) ≥ level means that it cannot be more. What
        has a closed form is not tested here, since its bound is its quantile.
        """
        upper, probability = level > 0.5, min(level, 1 - level)
        values = np.full(len(self), threshold * (1 - np.copysign(1e-15, threshold)))
        found = self.tail(values, upper=upper, radius=radius_for(probability))
        if upper:
            reaches = found >= probability * (1 - _MARGIN)
        else:
            reaches = found <= probability * (1 + _MARGIN)
        return np.asarray(reaches | self.normal | np.isinf(values))


def _scaled(mean: Vector, deviation: Vector) -> tuple[Vector, Vector, AnyArray]:
    """Return both divided by a power of two that brings the larger near 1, and the power."""
    exponent = np.frexp(np.maximum(np.abs(mean), deviation))[1]
    return np.ldexp(mean, -exponent), np.ldexp(deviation, -exponent), exponent


def _lost_in_product(x: Vector, y: Vector) -> Vector:
    """Return xy minus its rounded value, exactly (Dekker 1971)."""
    x_high, y_high = (each * _SPLITTER - (each * _SPLITTER - each) for each in (x, y))
    x_low, y_low = x - x_high, y - y_high
    return x_low * y_low - (((x * y - x_high * y_high) - x_low * y_high) - x_high * y_low)


def _normal_tail(distance: Vector, deviation: Vector, *, upper: bool) -> Vector:
    point = deviation == 0
    scores = distance / np.where(point, 1.0, deviation)
    scores = np.where(point, np.where(distance >= 0, np.inf, -np.inf), scores)
    return np.asarray(ndtr(-scores if upper else scores))


def radius_for(probability: float) -> float:
    """Return how far the mesh must reach, so that what it leaves out is 1e-17 of `probability`."""
    return min(WIDEST_RADIUS, float(np.sqrt(2 * (39 - np.log(probability)))))


def tail(
    excess: Vector, first: Vector, second: Vector, upper: AnyArray, radius: float
) -> tuple[Vector, Vector]:
    """Return each row's tail probability at ab + `excess`, and the density there.

    Both are sums of positive terms, so small tails keep their digits.
    """
    corner = (np.maximum(first, second) < _CORNER_MEAN) & (
        np.abs(first * second + excess) < _CORNER_VALUE
    )
    probability, density = np.empty_like(excess), np.empty_like(excess)
    for at_corner in (False, True):
        rows = np.flatnonzero(corner == at_corner)
        size = max(1, int(_MAX_MESH / (_CORNER_NODES if at_corner else 2 * radius / _STEP)))
        for block in blocks(len(rows), size):
            some = rows[block]
            edge = _Edge(excess[some], first[some], second[some])
            mesh = edge.corner_mesh(radius) if at_corner else _even_mesh(radius)
            probability[some], density[some] = edge.integrate(*mesh, upper[some])
    return probability, density


class _Edge:
    """The curve XY = w in the turned plane, one row per product."""

    __slots__ = ("inner", "outer", "positive", "rise", "spread")

    def __init__(self, excess: Vector, first: Vector, second: Vector) -> None:
        value = first * second + excess
        sum_, difference = (first + second) * np.sqrt(0.5), np.abs(first - second) * np.sqrt(0.5)
        self.positive = value > 0
        self.outer = np.where(self.positive, difference, sum_)
        self.inner = np.where(self.positive, sum_, difference)
        self.spread = np.maximum(2 * np.abs(value), _MIN_VALUE)
        self.rise = np.where(self.positive, 2 * excess, -2 * excess)

    def integrate(self, z: Matrix, weights: Matrix, upper: AnyArray) -> tuple[Vector, Vector]:
        """Return the tail probability and the density by the rule `z`, `weights`."""
        outer, inner = self.outer[:, np.newaxis], self.inner[:, np.newaxis]
        edge = np.sqrt((outer + z) ** 2 + self.spread[:, np.newaxis])
        far = -(edge + inner)
        # The same as edge − inner, without the cancellation.
        near = (z * (2 * outer + z) + self.rise[:, np.newaxis]) / -far
        side = np.where(self.positive != upper, 1.0, -1.0)[:, np.newaxis]
        probability = weights * (ndtr(side * near) - side * ndtr(far))
        density = weights * (np.exp(-0.5 * near**2) + np.exp(-0.5 * far**2)) / edge
        # Summed row by row, so that a row's answer does not depend on its neighbours.
        return probability.sum(axis=1), density.sum(axis=1) / np.sqrt(2 * np.pi)

    def corner_mesh(self, radius: float) -> tuple[Matrix, Matrix]:
        """Return a rule graded towards the corner: o + z = √(2|w|) sinh τ, then plain beyond 1."""
        reach, ones = min(radius, _CORNER_RADIUS), np.ones((len(self.outer), 1))
        outer, scale = self.outer[:, np.newaxis], np.sqrt(self.spread)[:, np.newaxis]
        longest = np.arcsinh(1 / scale)
        graded = scale * np.sinh(longest * _GRADED[0])
        graded_weights = longest * _GRADED[1] * np.hypot(scale, graded)
        right, left = np.maximum(outer + reach - 1, 0.0), np.maximum(reach - outer - 1, 0.0)
        positions = (-1 - left * _PLAIN[0], -graded, graded, 1 + right * _PLAIN[0])
        weights = (left * _PLAIN[1], graded_weights, graded_weights, right * _PLAIN[1])
        z = np.hstack([part * ones for part in positions]) - outer
        return z, np.hstack(weights) * _normal_density(z)


def _even_mesh(radius: float) -> tuple[Matrix, Matrix]:
    """Return the trapezoidal rule for an integral over the standard normal density."""
    count = int(np.ceil(radius / _STEP))
    z = _STEP * np.arange(-count, count + 1, dtype=np.float64)[np.newaxis]
    return z, _STEP * _normal_density(z)


def _normal_density(z: AnyArray) -> Matrix:
    return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))


def _legendre(panels: int) -> tuple[Matrix, Matrix]:
    """Return a composite Gauss–Legendre rule of 32 nodes a panel on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(32)
    starts = np.arange(panels)[:, np.newaxis]
    return (
        ((starts + (nodes + 1) / 2) / panels).reshape(1, -1),
        np.tile(weights / 2 / panels, panels).reshape(1, -1),
    )


_GRADED: Final = _legendre(2)
_PLAIN: Final = _legendre(3)
_CORNER_NODES: Final = 2 * (_GRADED[0].size + _PLAIN[0].size)


def tail_quantile(probability: float, first: Vector, second: Vector, upper: AnyArray) -> Vector:
    """Return the excess at which each row's tail has `probability`, at most one half."""
    radius, target = radius_for(probability), float(ndtri(probability))
    spread = np.hypot(np.hypot(first, second), 1.0)
    # The tail grows with the excess itself, or with its opposite for an upper tail.
    towards = np.where(upper, -1.0, 1.0)

    def tail_at(value: Vector, some: Indices) -> tuple[Vector, Vector]:
        return tail(towards[some] * value, first[some], second[some], upper[some], radius)

    start = _cornish_fisher(target, towards * first * second, spread)
    return towards * _solved(tail_at, probability, start, spread)


def _solved(
    distribution: Callable[[Vector, Indices], tuple[Vector, Vector]],
    probability: float,
    start: Vector,
    spread: Vector,
) -> Vector:
    """Return where each row's distribution function reaches `probability`.

    `distribution` returns the function and its density at a value of each of some rows, whose
    means are 0 and whose standard deviations are `spread`. Newton's method for Φ⁻¹ of it, which
    is nearly straight, within the brackets of Cantelli's inequality.
    """
    target = float(ndtri(probability))
    low = -spread * np.sqrt((1 - probability) / probability)
    high = spread * np.sqrt(probability / (1 - probability))
    reached = np.clip(start, low, high)
    active = np.flatnonzero(spread > 0)
    for _ in range(_MAX_STEPS):
        if not len(active):
            return reached
        now = reached[active]
        found, density = distribution(now, active)
        short = found < probability
        low[active[short]], high[active[~short]] = now[short], now[~short]
        after, near = now + _newton_step(found, density, target), _TOLERANCE * spread[active]
        inside = (low[active] < after) & (after < high[active])
        middle = (low[active] + high[active]) / 2
        reached[active] = np.where((np.abs(after - now) <= near) | inside, after, middle)
        is_open = (np.abs(reached[active] - now) > near) & (high[active] - low[active] > near)
        active = active[is_open]
    msg = f"every quantile must be found within {_MAX_STEPS} steps, {len(active)} were not"
    raise ConvergenceError(msg)


def _newton_step(found: Vector, density: Vector, target: float) -> Vector:
    """Return the step to the target if Φ⁻¹ of the probability is straight; ∞ where it is flat."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        score = ndtri(found)
        step = (target - score) * _normal_density(score) / density
    return np.asarray(np.where(np.isfinite(step), step, np.inf))


def _cornish_fisher(target: float, mean: Vector, spread: Vector) -> Vector:
    """Return a first guess from the skewness and the kurtosis of the product."""
    skewness = 6 * mean / spread**3
    kurtosis = (12 * spread**2 - 6) / spread**4
    return np.asarray(
        spread
        * (
            target
            + skewness * (target**2 - 1) / 6
            + kurtosis * (target**3 - 3 * target) / 24
            - skewness**2 * (2 * target**3 - 5 * target) / 36
        )
    )


def excess_bound(level: float, mean: Vector, first: Vector, second: Vector) -> Vector:
    """Return a value that the `level` quantile of ±W − E[±W] cannot exceed (Chernoff).

    `mean` is ±ab. For every t in (0, 1), with K the logarithm of E[exp(±tW)],

        quantile ≤ (K(t) − log(1 − level)) / t

    The best t solves t K′(t) − K(t) = −log(1 − level); any other is also valid, so a few
    rough steps towards it are enough. They are taken in t/(1 − t²), where they are straight.
    """
    allowance = max(float(-np.log1p(-level)), _MIN_ALLOWANCE)
    squares = first**2 + second**2
    slope = np.sqrt(2 * allowance / (squares + 1))
    for _ in range(3):
        t = 2 * slope / (1 + np.sqrt(1 + 4 * slope**2))
        reached = slope**2 * (2 * mean * t + squares * (1 + t**2) / 2)
        reached += slope * t + np.log1p(-(t**2)) / 2
        slope *= np.sqrt(allowance / reached)
    t = 2 * slope / (1 + np.sqrt(1 + 4 * slope**2))
    linear = (mean * t + squares / 2) * t / (1 - t**2)
    return np.asarray(linear + (allowance - np.log1p(-(t**2)) / 2) / t)


# ── Songs ────────────────────────────────────────────────────────────────────────────────

_MIN_LEVEL: Final = 1e-300
# Songs that are solved before the others are compared with the threshold that these set.
_SOLVED_FIRST: Final = 32


def standard_deviation(means: Matrix, deviations: Matrix) -> Vector:
    """Return the standard deviation of each product, as a sum of squares: (S,).

    >>> standard_deviation(np.array([[3.0], [2.0]]), np.array([[0.0], [0.5]])).tolist()
    [1.5]
    """
    (x, y), (spread_x, spread_y) = means, deviations
    with np.errstate(under="ignore", over="ignore"):
        return np.asarray(np.hypot(spread_x * np.hypot(y, spread_y), x * spread_y))


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


def _competing(level: float, count: int, products: PairProducts, first: Indices) -> Vector:
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


def _products(means: Matrix, deviations: Matrix) -> PairProducts:
    return PairProducts.of(means[0], deviations[0], means[1], deviations[1])
