"""Mixtures of Student t distributions that share their degrees of freedom (13).

code         maths   shape   meaning, one row per song and one column per component
`locations`  u x'm   (S, G)  where each component is centred
`scales`             (S, G)  how wide it is; 0 is a point mass
`weights`            (S, G)  or (G,), they sum to one
`freedom`    ν = 2A          degrees of freedom, the same for all

A mixture of densities, not a sum of variables. The quantile is a root in one
dimension: no Monte Carlo, no seed.

It takes thousands of tails that share ν. SciPy's function takes each of them by itself;
`StudentTail` looks them up in a piecewise polynomial, some twenty times as fast and as good as
exact. In the variable y in which every t distribution looks like a normal one,

    y² = ν·log(1 + z²/ν)        q = y²/ν
    S(y) = ∫_y^∞ g        g = c·exp(−y²/2)·√(q/(1 − e⁻ᑫ))

g is integrated over short pieces by the polynomial through a few of its values, from the far end
inwards, so that only positive numbers are added and the smallest tails keep their digits. c is what
makes S(0) = ½. log S is smoother than S: its polynomials are what is kept.

code            maths     shape
`coefficients`            (K, pieces)  of log S/S_middle, by powers of the place in a piece, −1 to 1
`middles`       S_middle  (pieces,)
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.special import gammaln, stdtr, stdtrit

from bandstand.errors import ConvergenceError
from bandstand.types import AnyArray, Matrix, Vector, frozen

# Far from its centre a density may be smaller than any number: then it is zero.
_tiny_is_zero: Final = np.errstate(under="ignore")
# A component's quantile this many scales away is no number worth naming.
_WIDEST: Final = 1e100
_ENORMOUS: Final = 1e300
_FARTHEST: Final = 1e150  # its square is still a number
_TOLERANCE: Final = 1e-12
_LAST_STEP: Final = 1e-5
_MAX_STEPS: Final = 200
# After this number of steps every second one halves what is between.
_SURE_STEPS: Final = 12


@_tiny_is_zero
def mean(locations: Matrix, weights: AnyArray, freedom: float) -> Vector | None:
    """Return the mean of each mixture, which exists for more than one degree of freedom."""
    return None if freedom <= 1 else np.asarray((weights * locations).sum(axis=-1))


@_tiny_is_zero
def variance(locations: Matrix, scales: Matrix, weights: AnyArray, freedom: float) -> Vector | None:
    """Return the variance of each mixture, which exists for more than two degrees of freedom."""
    if freedom <= 2:
        return None
    centre = (weights * locations).sum(axis=-1, keepdims=True)
    # Squares of distances to the centre: E[U²] − E[U]² would lose digits.
    within = freedom / (freedom - 2) * scales**2
    return np.asarray((weights * (within + (locations - centre) ** 2)).sum(axis=-1))


@_tiny_is_zero
def quantile(
    level: float, locations: Matrix, scales: Matrix, weights: AnyArray, freedom: float
) -> Vector | None:
    """Return the value that each mixture stays below with probability `level`.

    It is absent where the distribution is so wide that its quantiles cannot be written down,
    as before the first rating under the paper's prior.

    >>> from scipy.special import stdtrit
    >>> one = quantile(0.95, np.array([[2.0]]), np.array([[3.0]]), np.ones(1), 7.0)
    >>> bool(np.isclose(one[0], 2 + 3 * stdtrit(7.0, 0.95), rtol=1e-12))
    True
    """
    if level < 0.5:
        # The tail is followed on the side where it is small, so that no digits are lost.
        mirrored = quantile(1 - level, -locations, scales, weights, freedom)
        return None if mirrored is None else -mirrored
    reach = float(stdtrit(freedom, level))
    if not reach < _WIDEST:
        return None
    if not locations.size:
        return np.zeros(len(locations))
    return _upper_root(1 - level, reach, locations, scales, weights, freedom)


def survival(
    value: float, locations: Matrix, scales: Matrix, weights: AnyArray, freedom: float
) -> Vector:
    """Return what each mixture has above a value.

    >>> from scipy.special import stdtr
    >>> one = survival(5.0, np.array([[2.0]]), np.array([[3.0]]), np.ones(1), 7.0)
    >>> bool(np.isclose(one[0], stdtr(7.0, -1.0), rtol=1e-12))
    True
    """
    with np.errstate(under="ignore", over="ignore"):
        every = np.full(len(locations), value)
        return _Mixtures(locations, scales, weights, freedom).survival_and_density(every)[0]


def _upper_root(
    tail: float, reach: float, locations: Matrix, scales: Matrix, weights: AnyArray, freedom: float
) -> Vector:
    """Return where the survival function falls to `tail`: Halley's steps on its logarithm.

    A step that would leave what is known to be around a root halves that instead.
    """
    # A mixture's quantile lies between the smallest and largest of its components'.
    ends = locations + reach * scales
    # A little room, since `reach` is itself rounded.
    room = 1e-8 * reach * scales.max(axis=-1)
    low, high = ends.min(axis=-1) - room, ends.max(axis=-1) + room
    value: Vector = np.minimum(np.maximum((weights * ends).sum(axis=-1), low), high)
    roots = _Roots(
        value=value,
        low=low,
        high=high,
        floor=np.spacing(np.maximum(np.abs(low), np.abs(high))),
        narrow=_LAST_STEP * scales.min(axis=-1),
    )
    some = _Mixtures(locations, scales, weights, freedom)
    places: AnyArray = np.arange(len(value))
    left = high - low > roots.floor
    for number in range(_MAX_STEPS):
        if not left.all():
            value[places] = roots.value
            roots, some, places = roots.at(left), some.at(left), places[left]
        if not places.size:
            return value
        with np.errstate(under="ignore", over="ignore"):
            above, slope, fall = some.survival_and_density(roots.value)
            step, length = _halley_step(above, slope, fall / some.narrowest, tail)
            # Where a mixture is a comb, steps may wander about between its teeth.
            must_halve = number >= _SURE_STEPS and number % 2 == 0
            left = roots.go_on(above > tail, step, length, must_halve=must_halve)
    msg = f"a mixture quantile must settle within {_MAX_STEPS} steps, {places.size} did not"
    raise ConvergenceError(msg)


@dataclass(slots=True, kw_only=True, eq=False)
class _Roots:
    """Where some roots are looked for, between `low` and `high`: (n,) each."""

    value: Vector
    low: Vector
    high: Vector
    floor: Vector  # values closer than this are equal
    narrow: Vector  # a step that is shorter was the last one

    def at(self, some: AnyArray) -> _Roots:
        """Return some of them."""
        return _Roots(
            value=self.value[some],
            low=self.low[some],
            high=self.high[some],
            floor=self.floor[some],
            narrow=self.narrow[some],
        )

    def go_on(
        self, too_low: AnyArray, step: Vector, length: Vector, *, must_halve: bool
    ) -> AnyArray:
        """Take a step, or halve what is between; return which of them are still under way."""
        here = self.value
        low = self.low = np.where(too_low, here, self.low)
        high = self.high = np.where(too_low, self.high, here)
        there, size = here + step, np.abs(step)
        # The error falls with the cube of the step, in units of what the curve bends over.
        done = size <= np.minimum(_LAST_STEP * length, self.narrow)
        done |= size <= _TOLERANCE * np.maximum(np.abs(here), self.floor)
        inside = (there > low) & (there < high)
        if must_halve:
            inside &= done
        if inside.all():
            self.value = there
        else:
            otherwise = np.where(done, here, 0.5 * (low + high))
            self.value = np.where(inside, there, otherwise)
        return ~done & (high - low > 2 * self.floor)


def _halley_step(above: Vector, slope: Vector, fall: Vector, tail: float) -> tuple[Vector, Vector]:
    """Return the step towards log survival = log tail, and over what the survival falls by e.

    With S, f and f' the hazard is h = f/S, and h'/h² = 1 + S f'/f² says how log S bends. Both
    are infinite where the slope says nothing.
    """
    known = (above > 0) & (slope > 0)
    if known.all():
        length, logs = above / slope, np.log(above / tail)
        bend = 1 - fall / slope * length
    else:
        length = np.divide(above, slope, out=np.full_like(above, np.inf), where=known)
        logs = np.log(np.divide(above, tail, out=np.full_like(above, np.e), where=known))
        bend = np.zeros_like(above)
    with np.errstate(invalid="ignore"):
        shorter = 1 + 0.5 * logs * bend
    # Where it bends too much for that, or that is unknown, the step is Newton's.
    shorter[~((shorter > 0.5) & (shorter < 2))] = 1.0
    return logs * length / shorter, length


class _Mixtures:
    """Mixtures whose survival functions are asked for again and again."""

    def __init__(
        self, locations: Matrix, scales: Matrix, weights: AnyArray, freedom: float
    ) -> None:
        self.locations, self.weights, self.tail = locations, weights, StudentTail.of(freedom)
        self.are_wide = bool(scales.min() > 0)
        with np.errstate(over="ignore", divide="ignore"):
            # A point mass has no density, and is below or at its place: so far away.
            self.inverses = np.minimum(1 / scales, _ENORMOUS)
        self.peaks = weights * (self.inverses if self.are_wide else _inverse_or_zero(scales))
        self.narrowest = 1 / self.inverses.max(axis=-1)
        self.falls = self.peaks * (self.inverses * self.narrowest[:, np.newaxis])

    def at(self, some: AnyArray) -> _Mixtures:
        """Return some of them."""
        part = copy(self)
        part.locations, part.inverses = self.locations[some], self.inverses[some]
        part.peaks, part.falls = self.peaks[some], self.falls[some]
        part.narrowest = self.narrowest[some]
        if self.weights.ndim > 1:
            part.weights = self.weights[some]
        return part

    def survival_and_density(self, values: Vector) -> tuple[Vector, Vector, Vector]:
        """Return P(U > value), the density there and its fall over the narrowest scale."""
        z = (values[:, np.newaxis] - self.locations) * self.inverses
        if not self.are_wide:
            z = np.where(self.inverses == _ENORMOUS, np.where(z >= 0, np.inf, -np.inf), z)
        np.minimum(np.maximum(z, -_FARTHEST, out=z), _FARTHEST, out=z)
        above, density, fall = self.tail.above_and_density(z)
        above *= self.weights
        density *= self.peaks
        # In units of the narrowest scale, so that it is a number wherever the density is.
        fall *= self.falls
        return above.sum(axis=-1), density.sum(axis=-1), fall.sum(axis=-1)


def _inverse_or_zero(scales: Matrix) -> Matrix:
    inverses: Matrix = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0)
    return inverses


# ── Tails of one distribution ────────────────────────────────────────────────────────────

_PIECE: Final = 1 / 16  # of y
_END: Final = 12.0  # beyond it less is left than 1e-32
_VALUES: Final = 8  # on each piece
# With fewer degrees of freedom g bends too sharply for the pieces.
_FEWEST: Final = 0.5
# Tails that are made together.
_TOGETHER: Final = 8
# Places of the values on a piece, and from them: powers' coefficients, integrals to its end.
_PLACES: Final = -np.cos(np.pi * np.arange(_VALUES) / (_VALUES - 1))
_TO_POWERS: Final = np.linalg.inv(np.vander(_PLACES, _VALUES, increasing=True))
_POWERS: Final = np.arange(1, _VALUES + 1)
_TO_INTEGRALS: Final = ((1 - _PLACES[:, np.newaxis] ** _POWERS) / _POWERS) @ _TO_POWERS
_MIDDLE: Final = _VALUES // 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StudentTail:
    """P(Z > z) and the density of a t distribution, right to twelve digits where P > 1e-16.

    >>> bool(np.isclose(StudentTail.of(7.0).above(np.array([2.5]))[0], stdtr(7.0, -2.5)))
    True
    """

    freedom: float
    coefficients: Matrix
    middles: Vector
    peak: float  # the density at 0

    @classmethod
    def of(cls, freedom: float) -> StudentTail:
        """Return the tail for these degrees of freedom.

        Every answer adds one degree of freedom, and many tails that differ by whole numbers take
        together hardly longer than one.
        """
        if freedom < _TOGETHER:
            return _tails(float(freedom))[0]
        place = int(freedom) % _TOGETHER
        return _tails(float(freedom - place), _TOGETHER)[place]

    def above(self, z: AnyArray) -> AnyArray:
        """Return P(Z > z)."""
        return self._above(z, np.log1p(z * z / self.freedom))

    def above_and_density(self, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Return P(Z > z), the density f there and how steeply it falls, −f'.

        For numbers whose squares are numbers.
        """
        squares = z * z
        squares /= self.freedom
        logs = np.log1p(squares)
        density = np.exp((-0.5 * (self.freedom + 1)) * logs)
        density *= self.peak
        squares += 1.0
        fall = z / squares
        fall *= density
        fall *= 1 + 1 / self.freedom
        return self._above(z, logs), density, fall

    def _above(self, z: AnyArray, logs: AnyArray) -> AnyArray:
        """Return P(Z > z), from log(1 + z²/ν) as well."""
        if self.freedom < _FEWEST:
            return np.asarray(stdtr(self.freedom, -z))
        place = np.sqrt(logs)
        place *= self.freedom**0.5 / _PIECE
        piece = np.minimum(place, len(self.middles) - 0.5).astype(np.intp)
        place -= piece
        place = np.minimum(place, 1.0, out=place)
        place *= 2.0
        place -= 1.0
        found = self.coefficients[-1][piece]
        for each in self.coefficients[-2::-1]:
            found *= place
            found += each[piece]
        above: AnyArray = self.middles[piece]
        above *= np.exp(found, out=found)
        return np.where(z < 0, 1 - above, above)


@lru_cache(maxsize=32)
def _tails(first: float, count: int = 1) -> tuple[StudentTail, ...]:
    """Return `count` tails, each with one more degree of freedom."""
    if first < _FEWEST:
        log_peak = gammaln((first + 1) / 2) - gammaln(first / 2) - 0.5 * np.log(first * np.pi)
        tail = StudentTail(
            freedom=first,
            coefficients=np.empty((0, 0)),
            middles=np.empty(0),
            peak=float(np.exp(log_peak)),
        )
        return (tail,)
    freedoms = (first + np.arange(count))[:, np.newaxis, np.newaxis]
    with np.errstate(under="ignore"):
        starts = np.arange(round(_END / _PIECE))[:, np.newaxis]
        y = _PIECE * (starts + 0.5 * (1 + _PLACES))
        inside = 0.5 * _PIECE * (_bell(y, freedoms) @ _TO_INTEGRALS.T)
        beyond = _bell(np.array([[_END]]), freedoms) / _END  # as good as the normal tail's
        ends = np.concatenate([inside[:, :, 0], beyond[:, :, 0]], axis=1)
        after = ends[:, ::-1].cumsum(axis=1)[:, ::-1]
        above = inside + after[:, 1:, np.newaxis]
        middles = above[:, :, _MIDDLE]
        logs = np.log(above / middles[:, :, np.newaxis])
        coefficients = np.matmul(_TO_POWERS, logs.transpose(0, 2, 1))
        peaks = 0.5 / after[:, 0]
    return tuple(
        StudentTail(
            freedom=first + place,
            coefficients=frozen(coefficients[place]),
            middles=frozen(middles[place] * peaks[place]),
            peak=float(peaks[place]),
        )
        for place in range(count)
    )


def _bell(y: AnyArray, freedom: AnyArray) -> AnyArray:
    """Return g without its constant."""
    squares = y * y
    q = squares / freedom
    wider = np.sqrt(np.divide(q, -np.expm1(-q), out=np.ones_like(q), where=q > 0))
    return np.asarray(np.exp(-0.5 * squares) * wider)
