"""The product U of independent normals, for many songs at once.

code           maths   shape   meaning
`means`        μ_f     (F, S)  the mean of each factor of each song
`deviations`   σ_f     (F, S)  its standard deviation; 0 is a point mass
`level`        α               the probability of a quantile

Under the variational model a song's expected rating is such a product. Everything here is
deterministic, without Monte Carlo. One factor is normal and two are (24), to rounding error. With
three or more, let X be the factor that is widest for its mean, and C the product of all others.
Then

    P(U ≤ u) = E_C[Φ((u − Cμ_x)/(|C|σ_x))]

with C summed over the nodes of a rule for each of its factors, finer where a factor is wide.
Quantiles of three factors are right to 1e-4 standard deviations at worst and to 1e-7 in the
usual case.

Two factors. Each product is brought to standard form, W = (a + Z₁)(b + Z₂) with a ≥ 0 and b ≥ 0:

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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from bandstand.core.model.candidates import best_rows
from bandstand.errors import ConvergenceError, InvalidInputError
from bandstand.types import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bandstand.types import AnyArray, Indices, Matrix, Vector


# ── Two factors ──────────────────────────────────────────────────────────────────────────

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
    return towards * solve_quantile(tail_at, probability, start, np.zeros_like(spread), spread)


def solve_quantile(
    distribution: Callable[[Vector, Indices], tuple[Vector, Vector]],
    probability: float,
    start: Vector,
    mean: Vector,
    spread: Vector,
) -> Vector:
    """Return where each row's distribution function reaches `probability`.

    `distribution` returns the function and its density at a value of each of some rows. Newton's
    method for Φ⁻¹ of it, which is nearly straight, within the brackets of Cantelli's inequality.
    """
    target = float(ndtri(probability))
    low = mean - spread * np.sqrt((1 - probability) / probability)
    high = mean + spread * np.sqrt(probability / (1 - probability))
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


# ── Any number of factors ────────────────────────────────────────────────────────────────

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
