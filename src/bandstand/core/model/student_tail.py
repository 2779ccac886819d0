"""The upper tail of a Student t distribution, for many values of the same degrees of freedom.

A quantile of a mixture takes thousands of tails that share ν. SciPy's function takes each of them
by itself; here they are looked up in a piecewise polynomial, which is some twenty times as fast
and as good as exact. In the variable y in which every t distribution looks like a normal one,

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

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import gammaln, stdtr

from bandstand.types import frozen

if TYPE_CHECKING:
    from bandstand.types import AnyArray, Matrix, Vector

_PIECE: Final = 1 / 16  # of y
_END: Final = 12.0  # beyond it less is left than 1e-32
_VALUES: Final = 8  # on each piece
# With fewer degrees of freedom g bends too sharply for the pieces.
_FEWEST: Final = 0.5
# So many tails are made together.
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
        """Return the tail for these degrees of freedom."""
        return _made(float(freedom))

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


def _made(freedom: float) -> StudentTail:
    """Return a tail, from among several whose degrees of freedom differ by whole numbers.

    Every answer adds one degree of freedom, and many tails together take hardly longer than one.
    """
    place = int(freedom) % _TOGETHER
    return _tails(freedom)[0] if freedom < _TOGETHER else _tails(freedom - place, _TOGETHER)[place]


@lru_cache(maxsize=32)
def _tails(first: float, count: int = 1) -> tuple[StudentTail, ...]:
    """Return the tails of so many degrees of freedom, one more each."""
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
