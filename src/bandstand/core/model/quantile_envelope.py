"""A few straight lines above the quantiles of all products XW that share the factor W.

X is normal with mean μ and standard deviation σ, W any product of independent normals. In a
whole catalogue X is what a song sounds like, and W what songs never heard have in common.
The quantile is Q(μ, σ) = σ g(μ/σ): one function g of one number says everything. Here it is
bounded by a convex one that is made of a few lines,

    Q(μ, σ) ≤ max_k (slope_k μ + width_k σ)      for every σ ≥ 0 and |μ| ≤ farthest · σ

Between the points where g is computed, two facts hold whatever W is. Let z = Φ⁻¹(level).

* Nearby means (the lemma of Neyman and Pearson): if X moves by ε of its standard deviations,
  Φ⁻¹ of any probability moves by ε at most. So g at z is at most g at z + ε around ±ε.
* Nearby widths: given W, a wider X has more beyond a value that lies above its mean, and less
  beyond one that lies below, where it has a half at least. So for σ between σ₁ and σ₂ = rσ₁
  the upper tail is at most 1 + δ times that of σ₂, with δ = 2 max_x(Φ(rx) − Φ(x)), and the
  lower tail at least 1 − δ times that of σ₁.

code                    maths   shape  meaning
`means`, `deviations`           (F,)   of the factors of W
`slopes`, `widths`              (K,)   the lines
`farthest`              max|v|         no song has |μ|/σ above it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from bandstand.core.model import product_normal_many

if TYPE_CHECKING:
    from bandstand.types import AnyArray, Vector

# Levels this far out are not asked for; the tails there have no digits to spare.
_FARTHEST_LEVEL: Final = 6.0
_HIGHEST: Final = 1 - 1e-12
# Up to this |μ|/σ points are evenly spaced, beyond it their ratio is constant, up to the last.
_EVEN: Final = 4.0
_LAST: Final = 128.0
_STEP: Final = 0.2
_RATIO: Final = 1.05
# On the side that hardly matters, where W lies well on one side of 0, points are this much rarer.
_RARER: Final = 5
_SURE_OF_SIGN: Final = 4.0
# Neighbouring stretches that one line covers.
_STRETCHES_PER_LINE: Final = 12
# X is a constant if its standard deviation is below this part of its mean.
_NARROWEST: Final = 1e-300
# Far more than quantiles are wrong by: of two factors, and of three or more.
_CAUTION: Final = 1e-9
_CAUTION_OF_MANY: Final = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Envelope:
    """Lines above all quantiles, and more of them above those of each stretch of μ/σ."""

    slopes: Vector
    widths: Vector
    stretches: Stretches

    def above(self, means: Vector, deviations: Vector) -> Vector:
        """Return what no quantile of XW exceeds, for X of these means and deviations: (S,)."""
        return self.stretches.above(means, deviations)


class Stretches(NamedTuple):
    """slope · v + width above g(v), v = μ/σ, for consecutive stretches of v.

    Stretch number i is `edges[i]` to `edges[i + 1]`; the first and the last have no end.
    """

    edges: Vector  # (C + 1,), rising
    slopes: Vector  # (C,)
    widths: Vector  # (C,)

    def above(self, means: Vector, deviations: Vector) -> Vector:
        """Return slope · μ + width · σ of the stretch that each song is on."""
        narrow = deviations <= _NARROWEST * np.abs(means)
        places = np.divide(means, deviations, out=np.copysign(np.inf, means), where=~narrow)
        places[narrow & (means == 0)] = 0.0
        which = np.searchsorted(self.edges[1:-1], places)
        return np.asarray(self.slopes[which] * means + self.widths[which] * deviations)

    def reversed(self) -> Stretches:
        """Return the same in the other order."""
        return Stretches(self.edges[::-1], self.slopes[::-1], self.widths[::-1])

    def scaled(self, scale: float) -> Stretches:
        """Return the same for a W that is `scale` times as large."""
        return Stretches(self.edges, scale * self.slopes, scale * self.widths)


class _Line(NamedTuple):
    """slope · v + width, and the stretches of v on which it has to hold."""

    slope: float
    width: float
    stretches: tuple[tuple[float, float], ...]

    def covers(self, other: _Line) -> bool:
        """Return whether this line is above another wherever that one has to hold."""
        places = np.array(other.stretches)
        if not np.isfinite(places).all():
            return False
        higher = (self.slope - other.slope) * places + (self.width - other.width)
        return bool((higher >= 0).all())


def envelope(
    level: float,
    means: Vector,
    deviations: Vector,
    *,
    farthest: float = np.inf,
    coarseness: int = 1,
) -> Envelope | None:
    """Return lines above the `level` quantiles of XW, or None at a level too far out.

    With a larger `coarseness`, up to 8, they lie less close and are found sooner.

    >>> lines = envelope(0.975, np.array([2.0]), np.array([0.0]))
    >>> lines.above(np.array([1.0]), np.array([0.5])).round(1)
    array([4.])
    """
    target = float(ndtri(level))
    if not abs(target) <= _FARTHEST_LEVEL:
        return None
    units = np.maximum(np.abs(means), deviations)
    if not len(means) or not (units > 0).all():
        # XW is X itself, or 0.
        slope = float(not len(means))
        return _envelope([_Line(slope, slope * target, ((-np.inf, np.inf),))], None, 1.0)
    shared = _Shared(level, means / units, deviations / units)
    # Towards `side` songs are good; on the other side quantiles are small, unless W may be < 0.
    side, is_sure = shared.sign()
    good = _side(shared, side, farthest, coarseness)
    bad = _side(shared, -side, farthest, coarseness * _RARER if is_sure else coarseness)
    left, right = (bad, good) if side > 0 else (good, bad)
    cells = [each.reversed() for each in left[::-1]] + right
    lines = [line for each in cells for line in _lines(each)]
    return _envelope(lines, cells, float(np.prod(units)))


def _envelope(lines: list[_Line], cells: list[Stretches] | None, scale: float) -> Envelope:
    needed = _needed(lines)
    slopes = scale * np.array([line.slope for line in needed])
    widths = scale * np.array([line.width for line in needed])
    if cells is None:
        return Envelope(
            slopes=slopes,
            widths=widths,
            stretches=Stretches(np.array([-np.inf, np.inf]), slopes, widths),
        )
    edges = np.concatenate([each.edges[:-1] for each in cells] + [cells[-1].edges[-1:]])
    together = Stretches(
        edges,
        np.concatenate([each.slopes for each in cells]),
        np.concatenate([each.widths for each in cells]),
    )
    return Envelope(slopes=slopes, widths=widths, stretches=together.scaled(scale))


class _Shared:
    """g and its bounds, for one W and one level."""

    def __init__(self, level: float, means: Vector, deviations: Vector) -> None:
        self.level, self.means, self.deviations = level, means, deviations
        self.target = float(ndtri(level))
        self.caution = _CAUTION if len(means) <= 1 else _CAUTION_OF_MANY

    def sign(self) -> tuple[float, bool]:
        """Return on which side of 0 W is expected, and whether it is there almost surely."""
        side = 1.0 if np.prod(np.sign(self.means)) >= 0 else -1.0
        return side, bool((np.abs(self.means) >= _SURE_OF_SIGN * self.deviations).all())

    def quantiles(self, places: Vector, level: float, *, width: float = 1.0) -> Vector:
        """Return g at `places`, and a little more: the quantiles of XW with σ = 1."""
        means = np.vstack([places, *(np.full(len(places), each) for each in self.means)])
        deviations = np.full_like(means, width)
        deviations[1:] = self.deviations[:, np.newaxis]
        found = product_normal_many.quantile(level, means, deviations)
        spread = product_normal_many.standard_deviation(means, deviations)
        return np.asarray(found + self.caution * (spread + np.abs(places)))

    def near(self, edges: AnyArray) -> Stretches:
        """Return the stretches between `edges`, of one length, by nearby means."""
        reach = float(np.abs(np.diff(edges)).max()) / 2
        middles = (edges[1:] + edges[:-1]) / 2
        highest = self.quantiles(middles, float(ndtr(self.target + reach)))
        return Stretches(edges, np.zeros(len(highest)), highest)

    def far(self, edges: AnyArray, ratio: float) -> Stretches:
        """Return the stretches between `edges`, of one ratio, by nearby widths."""
        share = share_of_tail(ratio)
        # `edges` lead away from 0, so that σ falls along a stretch.
        if self.level >= 0.5:
            places, level = edges[:-1], 1 - (1 - self.level) / (1 + share)
        else:
            places, level = edges[1:], min(self.level / (1 - share), _HIGHEST)
        return Stretches(edges, self.quantiles(places, level) / places, np.zeros(len(places)))

    def ray(self, last: float) -> Stretches:
        """Return the stretch beyond `last`, on its own side of 0: any ratio, so δ = 1."""
        side = float(np.sign(last))
        if self.level >= 0.5:
            slope = self.quantiles(np.array([last]), 1 - (1 - self.level) / 2) / last
        else:
            # The narrowest X is a constant; there δ = ½ will do.
            level = min(2 * self.level, _HIGHEST)
            slope = side * self.quantiles(np.array([side]), level, width=0.0)
        return Stretches(np.array([last, side * np.inf]), slope, np.zeros(1))


def share_of_tail(ratio: float) -> float:
    """Return δ = 2 max_x(Φ(rx) − Φ(x)) for r = `ratio`."""
    place = np.sqrt(2 * np.log(ratio) / (ratio**2 - 1))
    return float(2 * (ndtr(ratio * place) - ndtr(place)))


def _side(shared: _Shared, side: float, farthest: float, coarseness: int) -> list[Stretches]:
    """Return stretches from 0 outwards on one side, up to where songs are."""
    last = min(max(farthest, _STEP), _LAST)
    steps = int(np.ceil(min(last, _EVEN) / (_STEP * coarseness)))
    stretches = [shared.near(side * _STEP * coarseness * np.arange(steps + 1))]
    edge = _STEP * coarseness * steps
    if last > edge:
        ratio = _RATIO**coarseness
        times = int(np.ceil(np.log(last / edge) / np.log(ratio)))
        stretches.append(shared.far(side * edge * ratio ** np.arange(times + 1), ratio))
        edge *= ratio**times
    if farthest > edge:
        stretches.append(shared.ray(side * edge))
    return stretches


def _lines(stretches: Stretches) -> list[_Line]:
    """Return one line for each run of stretches, above both ends of all of them."""
    edges, slopes, widths = stretches
    if not np.isfinite(edges).all():
        return [_Line(float(slopes[0]), float(widths[0]), ((float(edges[0]), float(edges[1])),))]
    lines = []
    for start in range(0, len(slopes), _STRETCHES_PER_LINE):
        run = slice(start, start + _STRETCHES_PER_LINE)
        left, right = edges[:-1][run], edges[1:][run]
        lower, upper = slopes[run] * left + widths[run], slopes[run] * right + widths[run]
        slope = float((upper[-1] - lower[0]) / (right[-1] - left[0]))
        width = float(max((lower - slope * left).max(), (upper - slope * right).max()))
        lines.append(_Line(slope, width, ((float(left[0]), float(right[-1])),)))
    return lines


def _needed(lines: list[_Line]) -> list[_Line]:
    """Return the lines without those whose work another one does."""
    kept = list(lines)
    for line in lines:
        cover = next((other for other in kept if other is not line and other.covers(line)), None)
        if cover is not None:
            kept = [other for other in kept if other is not line and other is not cover]
            kept.append(cover._replace(stretches=cover.stretches + line.stretches))
    return kept
