"""Upper bounds of the quantiles of products of normals, from their means and deviations alone.

Let U = XW: X ~ N(μ, σ²) is a song's content, W a product of independent normals. Songs never
heard share W, or all of it but their diversity. The quantile is Q(μ, σ) = σ g(μ/σ), with one
function g for all of them. An `Envelope` bounds it by a convex function of a few lines,

    Q(μ, σ) ≤ max_k (slope_k μ + width_k σ)      for every σ ≥ 0 and |μ| ≤ farthest · σ

Between the points where g is computed, two facts hold whatever W is. Let z = Φ⁻¹(level).

* Nearby means (the lemma of Neyman and Pearson): if X moves by ε of its standard deviations,
  Φ⁻¹ of any probability moves by ε at most. So g at z is at most g at z + ε around ±ε.
* Nearby widths: given W, a wider X has more beyond a value that lies above its mean, and less
  beyond one that lies below, where it has a half at least. So for σ between σ₁ and σ₂ = rσ₁
  the upper tail is at most 1 + δ times that of σ₂, with δ = 2 max_x(Φ(rx) − Φ(x)), and the
  lower tail at least 1 − δ times that of σ₁.

For two factors, content and novelty, one envelope is above all songs never heard. For three, songs
are sorted by the ratio of mean and deviation of the third factor D ~ N(d, e²), r = d/e, into
cells, each with its own envelope; by the same two facts, with D in the place of X,

    Q_z ≤ e · Q_{z + ε} of XN(r̄ + Z)             for r within ε of r̄
    Q_α ≤ |d| · Q_α' of XN(±1 + Z/r₁)            for |r| between r₁ and r₂ (here for α ≥ ½)

Songs heard lately are bounded one by one.

code                    maths      shape   meaning
`means`, `deviations`   μ_f, σ_f   (F, n)  of the factors of each song, content first
`farthest`              max|μ|/σ           no song's content has a larger |μ|/σ
`slopes`, `widths`                 (K,)    the lines
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from bandstand.core.model import product_normal

if TYPE_CHECKING:
    from bandstand.types import AnyArray, Matrix, Vector

# Levels with a larger |Φ⁻¹| are not bounded; the tails there have no digits to spare.
_MAX_TARGET: Final = 6.0
_MAX_LEVEL: Final = 1 - 1e-12
# Up to this |μ|/σ points are evenly spaced, beyond it their ratio is constant, up to the last.
_EVEN_UP_TO: Final = 4.0
_LAST_POINT: Final = 128.0
_STEP: Final = 0.2
_RATIO: Final = 1.05
# Where W lies well on one side of 0, points on the other side are this many times rarer.
_RARER: Final = 5
_CERTAIN_SIGN: Final = 4.0
# Neighbouring pieces that one line covers.
_PIECES_PER_LINE: Final = 12
# X is a constant if its standard deviation is below this part of its mean.
_MIN_DEVIATION: Final = 1e-300
# Far more than the error of quantiles: of two factors, and of three or more.
_MARGIN: Final = 1e-9
_MARGIN_OF_MANY: Final = 1e-3
# Cells of the third factor: of one length up to here, of one ratio beyond, up to the last.
_EVEN_CELLS_UP_TO: Final = 2.0
_CELL_STEP: Final = 0.5
_CELL_RATIO: Final = 1.8
_FAR_CELLS: Final = 12
# Envelopes of cells need not be as close, since there may be many.
_CELL_COARSENESS: Final = 3
# Deviations of the third factor below this count as 0; a ratio to them would overflow.
_MIN_THIRD_DEVIATION: Final = 1e-200


class Pieces(NamedTuple):
    """slope · v + width above g(v), v = μ/σ, on consecutive intervals of v.

    Interval number i is `edges[i]` to `edges[i + 1]`; the first and the last have no end.
    """

    edges: Vector  # (C + 1,), rising
    slopes: Vector  # (C,)
    widths: Vector  # (C,)

    def above(self, means: Vector, deviations: Vector) -> Vector:
        """Return slope · μ + width · σ of the interval that each song is in."""
        narrow = deviations <= _MIN_DEVIATION * np.abs(means)
        places = np.divide(means, deviations, out=np.copysign(np.inf, means), where=~narrow)
        places[narrow & (means == 0)] = 0.0
        which = np.searchsorted(self.edges[1:-1], places)
        return np.asarray(self.slopes[which] * means + self.widths[which] * deviations)

    def reversed(self) -> Pieces:
        """Return the same in the other order."""
        return Pieces(self.edges[::-1], self.slopes[::-1], self.widths[::-1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Envelope:
    """Lines above all quantiles, and closer ones for each interval of μ/σ."""

    slopes: Vector
    widths: Vector
    pieces: Pieces

    def above(self, means: Vector, deviations: Vector) -> Vector:
        """Return what no quantile of XW exceeds, for X of these means and deviations: (S,)."""
        return self.pieces.above(means, deviations)


class _Line(NamedTuple):
    """slope · v + width, and the intervals of v on which it has to hold."""

    slope: float
    width: float
    intervals: tuple[tuple[float, float], ...]

    def covers(self, other: _Line) -> bool:
        """Return whether this line is above another wherever that one has to hold."""
        places = np.array(other.intervals)
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

    `means` and `deviations` are those of the factors of W. With a larger `coarseness`, up to 8,
    the lines lie less close and are found sooner.

    >>> lines = envelope(0.975, np.array([2.0]), np.array([0.0]))
    >>> lines.above(np.array([1.0]), np.array([0.5])).round(1)
    array([4.])
    """
    target = float(ndtri(level))
    if not abs(target) <= _MAX_TARGET:
        return None
    units = np.maximum(np.abs(means), deviations)
    if not len(means) or not (units > 0).all():
        # XW is X itself, or 0.
        slope = np.array([float(not len(means))])
        edges = np.array([-np.inf, np.inf])
        return Envelope(
            slopes=slope, widths=target * slope, pieces=Pieces(edges, slope, target * slope)
        )
    curve = _Curve(level, means / units, deviations / units)
    # Towards `side` songs are good; on the other side quantiles are small, unless W may be < 0.
    side, is_certain = curve.sign()
    good = _side(curve, side, farthest, coarseness)
    bad = _side(curve, -side, farthest, coarseness * _RARER if is_certain else coarseness)
    left, right = (bad, good) if side > 0 else (good, bad)
    return _joined([each.reversed() for each in left[::-1]] + right, float(np.prod(units)))


def _joined(parts: list[Pieces], scale: float) -> Envelope:
    """Return the envelope made of consecutive pieces, for a W that is `scale` times as large."""
    needed = _needed([line for each in parts for line in _lines(each)])
    return Envelope(
        slopes=scale * np.array([line.slope for line in needed]),
        widths=scale * np.array([line.width for line in needed]),
        pieces=Pieces(
            np.concatenate([each.edges[:-1] for each in parts] + [parts[-1].edges[-1:]]),
            scale * np.concatenate([each.slopes for each in parts]),
            scale * np.concatenate([each.widths for each in parts]),
        ),
    )


class _Curve:
    """g and its bounds, for one W and one level."""

    def __init__(self, level: float, means: Vector, deviations: Vector) -> None:
        self.level, self.means, self.deviations = level, means, deviations
        self.target = float(ndtri(level))
        self.margin = _MARGIN if len(means) <= 1 else _MARGIN_OF_MANY

    def sign(self) -> tuple[float, bool]:
        """Return on which side of 0 W is expected, and whether it is there almost surely."""
        side = 1.0 if np.prod(np.sign(self.means)) >= 0 else -1.0
        return side, bool((np.abs(self.means) >= _CERTAIN_SIGN * self.deviations).all())

    def quantiles(self, places: Vector, level: float, *, width: float = 1.0) -> Vector:
        """Return g at `places`, and a little more: the quantiles of XW with σ = 1."""
        means = np.vstack([places, *(np.full(len(places), each) for each in self.means)])
        deviations = np.full_like(means, width)
        deviations[1:] = self.deviations[:, np.newaxis]
        found = product_normal.quantile(level, means, deviations)
        spread = product_normal.standard_deviation(means, deviations)
        return np.asarray(found + self.margin * (spread + np.abs(places)))

    def near(self, edges: AnyArray) -> Pieces:
        """Return the pieces between `edges`, of one length, by nearby means."""
        reach = float(np.abs(np.diff(edges)).max()) / 2
        middles = (edges[1:] + edges[:-1]) / 2
        highest = self.quantiles(middles, float(ndtr(self.target + reach)))
        return Pieces(edges, np.zeros(len(highest)), highest)

    def far(self, edges: AnyArray, ratio: float) -> Pieces:
        """Return the pieces between `edges`, of one ratio, by nearby widths."""
        share = share_of_tail(ratio)
        # `edges` lead away from 0, so that σ falls along a piece.
        if self.level >= 0.5:
            places, level = edges[:-1], 1 - (1 - self.level) / (1 + share)
        else:
            places, level = edges[1:], min(self.level / (1 - share), _MAX_LEVEL)
        return Pieces(edges, self.quantiles(places, level) / places, np.zeros(len(places)))

    def ray(self, last: float) -> Pieces:
        """Return the piece beyond `last`, on its own side of 0: any ratio, so δ = 1."""
        side = float(np.sign(last))
        if self.level >= 0.5:
            slope = self.quantiles(np.array([last]), 1 - (1 - self.level) / 2) / last
        else:
            # The narrowest X is a constant; there δ = ½ will do.
            level = min(2 * self.level, _MAX_LEVEL)
            slope = side * self.quantiles(np.array([side]), level, width=0.0)
        return Pieces(np.array([last, side * np.inf]), slope, np.zeros(1))


def share_of_tail(ratio: float) -> float:
    """Return δ = 2 max_x(Φ(rx) − Φ(x)) for r = `ratio`."""
    place = np.sqrt(2 * np.log(ratio) / (ratio**2 - 1))
    return float(2 * (ndtr(ratio * place) - ndtr(place)))


def _side(curve: _Curve, side: float, farthest: float, coarseness: int) -> list[Pieces]:
    """Return pieces from 0 outwards on one side, up to where songs are."""
    last = min(max(farthest, _STEP), _LAST_POINT)
    steps = int(np.ceil(min(last, _EVEN_UP_TO) / (_STEP * coarseness)))
    pieces = [curve.near(side * _STEP * coarseness * np.arange(steps + 1))]
    edge = _STEP * coarseness * steps
    if last > edge:
        ratio = _RATIO**coarseness
        times = int(np.ceil(np.log(last / edge) / np.log(ratio)))
        pieces.append(curve.far(side * edge * ratio ** np.arange(times + 1), ratio))
        edge *= ratio**times
    if farthest > edge:
        pieces.append(curve.ray(side * edge))
    return pieces


def _lines(pieces: Pieces) -> list[_Line]:
    """Return one line for each run of pieces, above both ends of all of them."""
    edges, slopes, widths = pieces
    if not np.isfinite(edges).all():
        return [_Line(float(slopes[0]), float(widths[0]), ((float(edges[0]), float(edges[1])),))]
    lines = []
    for start in range(0, len(slopes), _PIECES_PER_LINE):
        run = slice(start, start + _PIECES_PER_LINE)
        left, right = edges[:-1][run], edges[1:][run]
        lower, upper = slopes[run] * left + widths[run], slopes[run] * right + widths[run]
        slope = float((upper[-1] - lower[0]) / (right[-1] - left[0]))
        width = float(max((lower - slope * left).max(), (upper - slope * right).max()))
        lines.append(_Line(slope, width, ((float(left[0]), float(right[-1])),)))
    return lines


def _needed(lines: list[_Line]) -> list[_Line]:
    """Return the lines without those that another line covers."""
    kept = list(lines)
    for line in lines:
        cover = next((other for other in kept if other is not line and other.covers(line)), None)
        if cover is not None:
            kept = [other for other in kept if other is not line and other is not cover]
            kept.append(cover._replace(intervals=cover.intervals + line.intervals))
    return kept


@dataclass(frozen=True, kw_only=True)
class FactorBounds:
    """Upper bounds of the `level` quantiles of a prediction's songs."""

    level: float
    never_heard: tuple[Vector, Vector]  # mean and deviation of each factor of a song without sound
    farthest: float

    @cached_property
    def shared(self) -> Envelope | None:
        """The lines above all songs never heard, for at most two factors; None if there are none.

        Two factors: the second, at the longest time, is the same for all of them.
        """
        means, deviations = self.never_heard
        if len(means) > 2:
            return None
        return envelope(self.level, means[1:], deviations[1:], farthest=self.farthest)

    def above(self, means: Matrix, deviations: Matrix, heard: AnyArray) -> Vector:
        """Return what no quantile exceeds: (n,); ∞ where no bound is known.

        `heard` marks the songs that were heard lately.
        """
        bounds = np.full(means.shape[1], np.inf)
        new, old = np.flatnonzero(~heard), np.flatnonzero(heard)
        with np.errstate(under="ignore"):
            if self.shared is not None:
                bounds[new] = self.shared.above(means[0, new], deviations[0, new])
            elif len(means) == 3:
                bounds[new] = self._by_cells(means[:, new], deviations[:, new])
            if len(means) == 2 and len(old):
                bounds[old] = product_normal.quantile_bounds(
                    self.level, means[:, old], deviations[:, old]
                )
        return bounds

    @cached_property
    def _envelopes(self) -> dict[int, Envelope | None]:
        return {}

    def _by_cells(self, means: Matrix, deviations: Matrix) -> Vector:
        """Return the bounds for three factors, the second one shared."""
        mean, deviation = means[2], deviations[2]
        is_wide = deviation > _MIN_THIRD_DEVIATION
        ratio = np.divide(mean, deviation, out=np.full_like(mean, np.inf), where=is_wide)
        cells = _cells(ratio) * np.where(mean < 0, -1, 1)
        scales = np.where(np.abs(ratio) <= _EVEN_CELLS_UP_TO, deviation, np.abs(mean))
        bounds = np.full(len(mean), np.inf)
        for cell in np.unique(cells).tolist():
            (rows,) = np.nonzero(cells == cell)
            if cell not in self._envelopes:
                self._envelopes[cell] = self._envelope_of(cell)
            lines = self._envelopes[cell]
            if lines is not None:
                above = lines.above(means[0, rows], deviations[0, rows])
                bounds[rows] = above * scales[rows]
        return bounds

    def _envelope_of(self, cell: int) -> Envelope | None:
        """Return the lines above the songs of one cell, D in units of e or of |d|."""
        side, number = float(np.sign(cell)), abs(cell)
        evens = int(_EVEN_CELLS_UP_TO / _CELL_STEP)
        if number <= evens:
            third_mean, third_deviation = side * (number - 0.5) * _CELL_STEP, 1.0
            level = float(ndtr(ndtri(self.level) + _CELL_STEP / 2))
        else:
            nearer = _EVEN_CELLS_UP_TO * _CELL_RATIO ** (number - evens - 1)
            third_mean, (third_deviation, level) = side, self._far_cell(nearer)
        means, deviations = self.never_heard
        return envelope(
            level,
            np.array([means[1], third_mean]),
            np.array([deviations[1], third_deviation]),
            farthest=self.farthest,
            coarseness=_CELL_COARSENESS,
        )

    def _far_cell(self, nearer: float) -> tuple[float, float]:
        """Return the deviation of D/|d|, and the level, for |r| up to `_CELL_RATIO` · `nearer`."""
        last = nearer >= _EVEN_CELLS_UP_TO * _CELL_RATIO ** (_FAR_CELLS - 1)
        share = 1.0 if last else share_of_tail(_CELL_RATIO)
        if self.level >= 0.5:
            return 1 / nearer, 1 - (1 - self.level) / (1 + share)
        narrowest = 0.0 if last else 1 / (nearer * _CELL_RATIO)
        return narrowest, min(self.level / max(1 - share, 0.5), _MAX_LEVEL)


def _cells(ratio: Vector) -> AnyArray:
    """Return the number of each song's cell, from 1 on, by |r|."""
    size = np.abs(ratio)
    evens = int(_EVEN_CELLS_UP_TO / _CELL_STEP)
    even = np.clip(np.ceil(size / _CELL_STEP), 1, evens)
    beyond = np.log(np.maximum(size, _EVEN_CELLS_UP_TO) / _EVEN_CELLS_UP_TO) / np.log(_CELL_RATIO)
    far = np.minimum(evens + 1 + np.floor(beyond), evens + _FAR_CELLS)
    return np.asarray(np.where(size <= _EVEN_CELLS_UP_TO, even, far), dtype=np.intp)
