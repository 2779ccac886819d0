"""Upper bounds of all songs' quantiles, in single precision, from a few products per song.

Neighbouring cells of the mixture (`mixture_cells`) form a few groups. Of a song never heard,

    Q(x) ≤ max_j ( max(k_j'x, k_j+1'x) + ω_j·√(x'Fx) ) + slack·|x|

code       maths  shape
`knots`    k      (J + 1, p)  the centres u m at the first and the last node of each group
`reaches`  ω      (J,)        −∞ for a group that the tail budget leaves out
`form`     F      (p, p)      of a metric

A centre between two knots is no farther from the line between them than its distance there, times
√(x'Fx). So ω_j = reach_j·width_j + bend_j + distance_j, the largest in the group each; the reaches
are those of the tail budget of one typical song.

Rounding. A product of p factors in single precision, which are rounded themselves, is off by at
most (p + 3)·2⁻²⁴·|x||b| and a little more, in any order of summation; the few sums, squares and the
root after it by some 2⁻²⁴ of their size each, and √ of a sum of squares by no more than its
products together. So all of it is at most a constant times |x|: the slack. Everything is in units
of the largest vector, so that nothing overflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from bandstand.core.engines.exact.search.mixture_cells import (
    DIFFERENCE_ROUNDING,
    MixtureCells,
    rounded_lengths,
)
from bandstand.core.engines.exact.search.tail_budget import tail_budget
from bandstand.core.engines.song_table import BLOCK, SingleMatrix, SingleVector, SongTable
from bandstand.types import Indices, Matrix, Vector, frozen

_MAX_GROUPS: Final = 8
# Groups of much weight are narrower than others, which have this least say.
_LEAST_SAY: Final = 0.02
_HALF_UNIT: Final = 2.0**-24
# What may round besides the product, and room for (1 + 2⁻²⁴)ⁿ in place of 1 + n·2⁻²⁴.
_OTHER_ROUNDINGS: Final = 64
_ROUNDING_MARGIN: Final = 1.1
_LARGEST: Final = 1e100
# The few roundings of a constant that is added to every song: 16 of them.
_ROUNDING_OF_OWN: Final = 16 * _HALF_UNIT
_tiny_is_zero: Final = np.errstate(under="ignore")


class Bounded(NamedTuple):
    """Songs in units of a screen: (n,) each."""

    upper: SingleVector  # what no quantile exceeds
    widths: SingleVector  # and no √(x'Fx)
    along: SingleVector  # d'x for a direction d

    def at(self, places: Indices) -> Bounded:
        """Return some of them."""
        return Bounded(*(each[places] for each in self))

    def least(self, other: Bounded) -> Bounded:
        """Return the lower of both bounds, song by song."""
        lower = np.minimum(self.upper, other.upper), np.minimum(self.widths, other.widths)
        return Bounded(*lower, self.along)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Screen:
    """The bound of one question.

    Products are in units of `unit`, and √(x'Fx) in units of `width`.
    """

    unit: float
    width: float
    knots: Matrix
    reaches: Vector
    form: Matrix  # F in units of `width`²
    slack: float
    own: float  # added to every x'Fx, rounded up
    quadratic: QuadraticBound

    @classmethod
    @_tiny_is_zero
    def of(
        cls,
        knots: Matrix,
        reaches: Vector,
        form: Matrix,
        room: float = 0.0,
        own: float = 0.0,
    ) -> Screen | None:
        """Return the screen of these parts; None where single precision has no room for them.

        Bounds leave `room` for the rounding of a vector of that length in the metric. `own` is the
        variance of effects, which every song has besides x'Fx.
        """
        longest = float(np.sqrt(np.einsum("kp,kp->k", knots, knots).max()))
        width = float(np.abs(form).max()) ** 0.5
        farthest = max(float(reaches.max()), room) * width
        unit = max(longest, farthest)
        if not (1 / _LARGEST < unit < _LARGEST and 1 / _LARGEST < width < _LARGEST):
            return None
        form = form / width**2
        largest = float(np.abs(form).sum(axis=0).max()) + _LEAST  # no eigenvalue is above it
        roots = (3 + len(form)) * largest**0.5 * max(farthest / unit, 1.0)
        return cls(
            unit=unit,
            width=width,
            knots=frozen(knots),
            reaches=frozen(reaches),
            form=frozen(form),
            own=own / width**2 * (1 + _ROUNDING_OF_OWN),
            quadratic=QuadraticBound.of(form),
            slack=product_rounding(len(form)) * (2 * longest / unit + roots),
        )

    @_tiny_is_zero
    def bounds(
        self,
        table: SongTable,
        rows: Indices | None = None,
        *,
        closer: bool = False,
        direction: Vector | None = None,
    ) -> Bounded:
        """Return the bounds of all songs, or of those in `rows`, as if they were never heard.

        They are `closer` with the whole of x'Fx, which takes p products per song. What lies along
        a direction comes from the same product.
        """
        count = len(table) if rows is None else len(rows)
        result = Bounded(*np.empty((3, count), np.float32))
        quadratic = _Whole.of(self.form) if closer else self.quadratic
        # A product with the songs as its rows takes half as long as the transposed one.
        along = np.zeros(len(self.form)) if direction is None else direction / self.width
        knots = np.column_stack([self.knots.T / self.unit, along])
        columns = np.concatenate([knots, quadratic.columns], axis=1).astype(np.float32)
        size = BLOCK // 4 if closer else BLOCK
        for start in range(0, count, size):
            some = slice(start, start + size)
            part = some if rows is None else rows[some]
            norms = table.norms[part]
            products = table.single[part] @ columns
            squares = quadratic.upper(products[:, knots.shape[1] :], norms)
            squares += np.float32(self.own)
            result.upper[some], result.widths[some] = self._highest(products.T, squares, norms)
            result.along[some] = products[:, len(self.knots)]
        return result

    def _highest(
        self, products: SingleMatrix, squares: SingleVector, norms: SingleVector
    ) -> tuple[SingleVector, SingleVector]:
        widths: SingleVector = np.sqrt(squares, out=squares)
        upper: SingleVector = np.full(len(norms), -np.inf, dtype=np.float32)
        for group, reach in enumerate(self.reaches * (self.width / self.unit)):
            if reach > -np.inf:
                highest = np.maximum(products[group], products[group + 1])
                highest += np.float32(reach) * widths
                np.maximum(upper, highest, out=upper)
        rounded = np.float32(self.slack) * norms
        widths += rounded
        upper += rounded
        return upper, widths

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        return int(self.knots.nbytes + self.form.nbytes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Groups of neighbouring cells, and their reaches by the tail budget of one typical song."""

    log_times: Vector  # y at the knots
    knots: Matrix
    reaches: Vector

    @classmethod
    @_tiny_is_zero
    def of(cls, cells: MixtureCells, typical: Vector, tail: float) -> Groups | None:
        """Return the groups of cells; None where the mixture reaches too far."""
        inside, left_out = cells.inside(tail)
        edges = inside.start + _edges(cells.shares[inside])
        starts = edges[:-1] - edges[0]
        knots, whitened = cells.centres[edges], cells.whitened_centres
        farthest = [
            _farthest(whitened[first : last + 1]) for first, last in pairwise(edges.tolist())
        ]
        widths = np.maximum.reduceat(cells.widths[inside], starts)
        beyond = np.maximum.reduceat(cells.bends[inside], starts) + np.array(farthest)
        wide = cells.metric.width(typical)
        along = knots @ typical
        budget = tail_budget(
            np.add.reduceat(cells.shares[inside], starts),
            np.maximum(along[:-1], along[1:]) + beyond * wide,
            widths * wide,
            tail - left_out,
            cells.belief.freedom,
        )
        if budget is None:
            return None
        is_live = budget.reaches > -np.inf
        return cls(
            log_times=frozen(cells.belief.log_recovery_times[edges]),
            knots=frozen(knots),
            reaches=frozen(np.where(is_live, beyond + budget.reaches * widths, -np.inf)),
        )


def _farthest(centres: Matrix) -> float:
    """Return how far whitened centres are from the line between the first and the last of them."""
    if len(centres) <= 2:
        return 0.0
    rest = rounded_lengths(from_line(centres[1:-1], centres[:1], centres[-1:]))
    return float(rest.max() + DIFFERENCE_ROUNDING * rounded_lengths(centres).max())


def from_line(points: Matrix, first: Matrix, last: Matrix, across: Vector | None = None) -> Matrix:
    """Return what is between each point and the nearest of the line between its two ends: (n, p).

    The nearest if what lies along the unit vector `across` does not count.
    """
    step, away = last - first, points - first
    seen = step if across is None else step - np.outer(step @ across, across)
    squares = np.einsum("np,np->n", seen, seen)
    share = np.einsum("np,np->n", away, seen)
    share = np.divide(share, squares, out=np.zeros_like(share), where=squares > 0)
    return np.asarray(away - np.clip(share, 0.0, 1.0)[:, np.newaxis] * step)


def _edges(shares: Vector) -> Indices:
    """Return where groups of cells begin and end: (J + 1,)."""
    say = np.cumsum(np.minimum(shares, 1.0) ** (1 / 3) + _LEAST_SAY)
    inner = np.searchsorted(say, say[-1] * np.arange(1, _MAX_GROUPS) / _MAX_GROUPS)
    return np.unique(np.concatenate([[0], inner, [len(shares)]]))


def product_rounding(columns: int) -> float:
    """Return what a product in single precision is off by at most, per |x||b|."""
    return _ROUNDING_MARGIN * (columns + _OTHER_ROUNDINGS) * _HALF_UNIT


# A quadratic form x'Fx bounded from a few products.
#
# With eigenvalues λ_i and eigenvectors e_i of F, some of them kept, λ* ≥ all that are not:
#
#     x'Fx = Σ_i λ_i (e_i'x)² ≤ λ*|x|² + Σ_kept (λ_i − λ*)(e_i'x)²
#
# Kept are some of the largest, or for a listener of few answers some of the smallest: as many
# of each as make the sum over all directions least.


# With the knots these are 24 products, a number that matrix products like.
_MAX_KEPT: Final = 14
# A bound that is off by this share in the mean needs no closer one.
_TIGHT: Final = 0.02
# Directions without spread get this share of the largest.
_LEAST: Final = 1e-12
# A difference of sums of squares is off by at most so much of λ*|x|²: 64 roundings.
_ROUNDINGS: Final = 64 * 2.0**-24


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuadraticBound:
    """F by its eigenvectors.

    code       maths            shape
    `level`    λ*
    `columns`  √|λ_i − λ*| e_i  (p, a + b)  of the kept ones
    `above`    a                            those above λ*, which come first
    """

    level: float
    columns: Matrix
    above: int
    is_tight: bool  # so that the whole of F would hardly be closer

    @classmethod
    def of(cls, form: Matrix) -> QuadraticBound:
        """Return F for a symmetric, positive semi-definite matrix whose largest entry is near 1."""
        rising, vectors = np.linalg.eigh(form)
        # A little more in each direction covers the rounding of the eigenvectors.
        values = np.maximum(rising, 0.0) + max(float(rising[-1]), _LEAST) * _LEAST
        values, vectors = values[::-1], vectors[:, ::-1]
        first, last, is_tight = _left_out(values)
        level = float(values[first]) if first < last else 0.0
        kept = np.r_[:first, last : len(values)]
        columns = vectors[:, kept] * np.sqrt(np.abs(values[kept] - level))
        return cls(level=level, columns=columns, above=first, is_tight=is_tight)

    def upper(self, products: SingleMatrix, norms: SingleVector) -> SingleVector:
        """Return what x'Fx does not exceed but for rounding, from the products (n, a + b).

        Squares that are taken away are made smaller first, by what products may be off.
        """
        above, below = products[:, : self.above], products[:, self.above :]
        has_below = below.shape[1] > 0
        squares: SingleVector = np.square(norms)
        squares *= np.float32(self.level * (1 + _ROUNDINGS if has_below else 1))
        squares += np.einsum("nk,nk->n", above, above)
        if has_below:
            # No length of such a vector falls by more than the vector of what rounding is.
            off = product_rounding(len(self.columns)) * np.linalg.norm(
                self.columns[:, self.above :]
            )
            sure = np.sqrt(np.einsum("nk,nk->n", below, below)) - np.float32(off) * norms
            squares -= np.square(np.maximum(sure, 0, out=sure), out=sure)
        return np.maximum(squares, 0, out=squares)


class _Whole(NamedTuple):
    """The whole of F by a root: F = RR'."""

    columns: Matrix

    @classmethod
    def of(cls, form: Matrix) -> _Whole:
        """Return a root of F, or of a matrix that is larger by far less than rounding."""
        return cls(np.asarray(np.linalg.cholesky(form + _LEAST * np.eye(len(form)))))

    def upper(self, products: SingleMatrix, _: SingleVector) -> SingleVector:
        """Return x'Fx but for rounding: (n,)."""
        return np.asarray(np.einsum("nk,nk->n", products, products))


def _left_out(values: Vector) -> tuple[int, int, bool]:
    """Return where those that are left out begin and end, in falling order of eigenvalues.

    As few are kept as will do, if any will.
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    for kept in range(min(_MAX_KEPT, len(values)) + 1):
        left_out, first = len(values) - kept, np.arange(kept + 1)
        # What is left out counts with the largest of them: Σ (λ* − λ_i) is to be least.
        highest = np.append(values, 0.0)[first]
        waste = left_out * highest - (sums[first + left_out] - sums[first])
        best = int(np.argmin(waste))
        is_tight = bool(waste[best] <= _TIGHT * sums[-1])
        if is_tight:
            break
    return best, best + left_out, is_tight
