"""The product of two independent normals of unit variance: W = (a + Z₁)(b + Z₂), a ≥ 0, b ≥ 0.

`product_normal` brings every case to this form. The plane of the two factors is turned by
45°: V = (X + Y)/√2 and T = (X − Y)/√2 are again independent normals of unit variance, and

    XY ≤ w   ⇔   V² ≤ T² + 2w   (w > 0)   or   T² ≥ V² + 2|w|   (w ≤ 0)

so (24) becomes one integral over the *outer* of the two, with the *inner* one in closed form:

    P(|inner| < s) = ∫ φ(z) [Φ(s − i) − Φ(−s − i)] dz,   s = √((o + z)² + 2|w|)

The edge s never rises faster than z, whatever a, b and w are: there is no steep step to look
for, and the trapezoidal rule reaches rounding error with a step of one half. Only where the
edge has a corner (w near 0) that carries weight, the mesh is graded towards it.

code               maths   shape  meaning
`first`, `second`  a, b    (S,)   mean over standard deviation of each factor
`excess`           w − ab  (S,)   how far the product is above its mean; it keeps the digits
                                  that w itself loses when a and b are large
`upper`                    (S,)   which tail is meant: P(W > w) where true, else P(W ≤ w)
`radius`                          how many standard deviations of the outer variable count
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import ndtr, ndtri

from bandstand.errors import ConvergenceError

if TYPE_CHECKING:
    from bandstand.types import AnyArray, Matrix, Vector

# Covers every probability that a double can hold.
WIDEST_RADIUS: Final = 38.5
# The trapezoidal rule is then wrong by exp(−π²/step²) = 7e-18 of the probability.
_STEP: Final = 0.5
# Outside these the corner at w = 0 is too light, or too round, to be felt.
_CORNER_MEAN: Final = 9.5
_CORNER_VALUE: Final = 16.0
_CORNER_RADIUS: Final = 16.0
# Closer to 0 than this, w counts as this far away; the probability moves by 1e-18 at most.
_LEAST_VALUE: Final = 1e-20
# Rows times nodes that are held at once: they stay in the processor's cache.
_ROOM: Final = 50_000
_LEAST_ALLOWANCE: Final = 1e-20
_TOLERANCE: Final = 1e-12
_MOST_STEPS: Final = 200


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
        size = max(1, int(_ROOM / (_CORNER_NODES if at_corner else 2 * radius / _STEP)))
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
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
        self.spread = np.maximum(2 * np.abs(value), _LEAST_VALUE)
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
    """Return the excess at which each row's tail has `probability`, at most one half.

    Newton's method for Φ⁻¹(tail), which is nearly straight, within brackets that Cantelli's
    inequality gives.
    """
    radius, target = radius_for(probability), float(ndtri(probability))
    spread = np.hypot(np.hypot(first, second), 1.0)
    # The tail grows with `reached`: the excess itself, or its opposite for an upper tail.
    towards = np.where(upper, -1.0, 1.0)
    low = -spread * np.sqrt((1 - probability) / probability)
    high = spread * np.sqrt(probability / (1 - probability))
    reached = np.clip(_cornish_fisher(target, towards * first * second, spread), low, high)
    active = np.arange(len(first))
    for _ in range(_MOST_STEPS):
        now = reached[active]
        found, density = tail(
            towards[active] * now, first[active], second[active], upper[active], radius
        )
        short = found < probability
        low[active[short]], high[active[~short]] = now[short], now[~short]
        step = _newton_step(found, density, target)
        settled = np.abs(step) <= _TOLERANCE * spread[active]
        inside = (low[active] < now + step) & (now + step < high[active])
        middle = (low[active] + high[active]) / 2
        reached[active] = np.where(settled | inside, now + step, middle)
        active = active[~settled]
        if not len(active):
            return np.asarray(towards * reached)
    msg = f"every quantile must be found within {_MOST_STEPS} steps, {len(active)} were not"
    raise ConvergenceError(msg)


def _newton_step(found: Vector, density: Vector, target: float) -> Vector:
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
    allowance = max(float(-np.log1p(-level)), _LEAST_ALLOWANCE)
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
