"""Products of two normals brought to standard form, one row per product.

    U = 2^exponent · (centre + sign · unit · (W − ab)),   a = |μ_x|/σ_x,   b = |μ_y|/σ_y

with W as in `product_normal_standard`. Powers of two are taken out first, so that no scale
of numbers overflows and nothing is rounded. If a or b is beyond 1e17, one factor is as good
as constant, U is normal to the last digit (or constant), and the answer has a closed form.

code        maths    shape  meaning
`first`     a        (S,)   mean over standard deviation of the first factor
`second`    b        (S,)   of the second factor
`unit`      σ_x σ_y  (S,)   one unit of W, in units of 2^exponent, as are the next two
`centre`    μ_x μ_y  (S,)   the mean of U; `remainder` is what rounding took from it
`deviation`          (S,)   the standard deviation of U
`distance`           (S,)   how far a value is above the mean of U, in units of 2^exponent
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import ndtr, ndtri

from bandstand.core.model import product_normal_standard as standard

if TYPE_CHECKING:
    from bandstand.types import AnyArray, Vector

# Beyond this ratio of mean to standard deviation the product's skewness is below 6e-17.
_CONSTANT: Final = 1e17
# Farther out than any product that has a probability; its square is still finite.
_FARTHEST: Final = 1e40
# Bounds and tests leave this much room, far more than any error of rounding.
_CAUTION: Final = 1e-9
_SPLITTER: Final = 2.0**27 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Products:
    """Products in standard form, one per row: U = 2^exponent (centre + sign · unit · (W − ab))."""

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
    ) -> Products:
        """Return the standard form; powers of two are taken out first, which rounds nothing."""
        x, sx, exponent_x = _scaled(mean_x, deviation_x)
        y, sy, exponent_y = _scaled(mean_y, deviation_y)
        normal = (sx * _CONSTANT <= np.abs(x)) | (sy * _CONSTANT <= np.abs(y))
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

    def take(self, rows: AnyArray) -> Products:
        """Return only the products in `rows`."""
        return Products(**{name: getattr(self, name)[rows] for name in self.__slots__})

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
        excess = np.clip(some.sign * distance[rows] / some.unit, -_FARTHEST, _FARTHEST)
        mirrored = some.sign < 0
        found[rows], _ = standard.tail(excess, some.first, some.second, mirrored != upper, radius)
        return found

    def quantile(self, level: float) -> Vector:
        """Return the value that U stays below with probability `level`."""
        distance = self.deviation * float(ndtri(level))
        rows = np.flatnonzero(~self.normal)
        some = self.take(rows)
        # The smaller tail is followed, so that no digits are lost; 1 − level is exact there.
        upper = (some.sign < 0) != (level > 0.5)
        excess = standard.tail_quantile(min(level, 1 - level), some.first, some.second, upper)
        distance[rows] = some.sign * some.unit * excess
        return self.value(distance)

    def quantile_bounds(self, level: float) -> Vector:
        """Return a value for each product that its quantile cannot exceed."""
        distance = self.deviation * float(ndtri(level))
        rows = np.flatnonzero(~self.normal)
        some = self.take(rows)
        means = some.sign * some.first * some.second
        distance[rows] = some.unit * standard.excess_bound(level, means, some.first, some.second)
        margin = _CAUTION * self.deviation + 1e-14 * np.abs(self.centre)
        return self.value(distance + margin)

    def may_reach(self, level: float, threshold: float) -> AnyArray:
        """Return whether each product's quantile can be `threshold` or more.

        One probability tells: P(U ≤ threshold) ≥ level means that it cannot be more. What
        has a closed form is not tested here, since its bound is its quantile.
        """
        upper, probability = level > 0.5, min(level, 1 - level)
        values = np.full(len(self), threshold * (1 - np.copysign(1e-15, threshold)))
        found = self.tail(values, upper=upper, radius=standard.radius_for(probability))
        if upper:
            reaches = found >= probability * (1 - _CAUTION)
        else:
            reaches = found <= probability * (1 + _CAUTION)
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
