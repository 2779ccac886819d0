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
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand.core.engines.exact.search.quadratic_bound import QuadraticBound
from bandstand.core.engines.exact.search.tail_budget import tail_budget
from bandstand.core.engines.song_table import BLOCK
from bandstand.types import frozen, read_only

if TYPE_CHECKING:
    from bandstand.core.engines.exact.search.metric import Metric
    from bandstand.core.engines.exact.search.mixture_cells import MixtureCells
    from bandstand.core.engines.song_table import SingleMatrix, SingleVector, SongTable
    from bandstand.types import Indices, Matrix, Vector

_MAX_GROUPS: Final = 10
# Groups of much weight are narrower than others, which have this least say.
_LEAST_SAY: Final = 0.02
_HALF_UNIT: Final = 2.0**-24
# What may round besides the product, and room for (1 + 2⁻²⁴)ⁿ in place of 1 + n·2⁻²⁴.
_OTHER_ROUNDINGS: Final = 64
_ROOM: Final = 1.1
_LARGEST: Final = 1e100
_tiny_is_zero: Final = np.errstate(under="ignore")


class Bounded(NamedTuple):
    """What no quantile exceeds, and what no √(x'Fx) does, in units of a screen: (n,) each."""

    upper: SingleVector
    widths: SingleVector

    def at(self, places: Indices) -> Bounded:
        """Return some of them."""
        return Bounded(self.upper[places], self.widths[places])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Screen:
    """The bound of one question.

    Products are in units of `unit`, and √(x'Fx) in units of `width`.
    """

    unit: float
    width: float
    knots: Matrix
    reaches: Vector
    form: QuadraticBound
    basis: SingleMatrix  # knots and eigenvectors, one below the other: (J + 1 + r, p)
    slack: float

    @classmethod
    @_tiny_is_zero
    def of(cls, knots: Matrix, reaches: Vector, form: Matrix) -> Screen | None:
        """Return the screen of these parts; None where single precision has no room for them."""
        longest = float(np.sqrt(np.einsum("kp,kp->k", knots, knots).max()))
        width = float(np.abs(form).max()) ** 0.5
        farthest = float(reaches.max()) * width
        unit = max(longest, farthest)
        if not (1 / _LARGEST < unit < _LARGEST and 1 / _LARGEST < width < _LARGEST):
            return None
        bound = QuadraticBound.of(form / width**2)
        basis = np.concatenate([knots / unit, bound.kept.T])
        roots = (2 + len(bound.root)) * bound.largest**0.5 * max(farthest / unit, 1.0)
        return cls(
            unit=unit,
            width=width,
            knots=frozen(knots),
            reaches=frozen(reaches),
            form=bound,
            basis=read_only(np.ascontiguousarray(basis, dtype=np.float32)),
            slack=product_rounding(basis.shape[1]) * (2 * longest / unit + roots),
        )

    def bounds(
        self, table: SongTable, rows: Indices | None = None, *, closer: bool = False
    ) -> Bounded:
        """Return the bounds of all songs, or of those in `rows`, as if they were never heard.

        They are `closer` with the whole of x'Fx, which takes p products per song.
        """
        count = len(table) if rows is None else len(rows)
        upper, widths = np.empty(count, np.float32), np.empty(count, np.float32)
        for start in range(0, count, BLOCK):
            some = slice(start, start + BLOCK)
            part = some if rows is None else rows[some]
            found = self._bounds(table.single[part], table.norms[part], closer=closer)
            upper[some], widths[some] = found
        return Bounded(upper, widths)

    @_tiny_is_zero
    def _bounds(self, features: SingleMatrix, norms: SingleVector, *, closer: bool) -> Bounded:
        split = len(self.knots)
        if closer:
            along = self.basis[:split] @ features.T
            halves = features @ self.form.root
            squares = np.einsum("np,np->n", halves, halves)
        else:
            products = self.basis @ features.T
            along, rounding = products[:split], product_rounding(features.shape[1])
            squares = self.form.upper(products[split:], norms, rounding)
        widths: SingleVector = np.sqrt(squares, out=squares)
        upper: SingleVector = np.full(len(norms), -np.inf, dtype=np.float32)
        for group, reach in enumerate(self.reaches * (self.width / self.unit)):
            if reach > -np.inf:
                highest = np.maximum(along[group], along[group + 1])
                highest += np.float32(reach) * widths
                np.maximum(upper, highest, out=upper)
        rounded = np.float32(self.slack) * norms
        widths += rounded
        upper += rounded
        return Bounded(upper, widths)

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        return int(self.basis.nbytes + self.knots.nbytes + self.form.nbytes)


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
        knots, centres = cells.centres[edges], cells.centres
        farthest = [
            _farthest(cells.metric, centres[first : last + 1])
            for first, last in pairwise(edges.tolist())
        ]
        widths = np.maximum.reduceat(cells.widths[inside], starts)
        beyond = np.maximum.reduceat(cells.bends[inside], starts) + np.array(farthest)
        wide = float(np.sqrt(typical @ cells.metric.form @ typical))
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


def _farthest(metric: Metric, centres: Matrix) -> float:
    """Return how far some centres are from the line between the first and the last of them."""
    if len(centres) <= 2:
        return 0.0
    ends = centres[[0, -1], np.newaxis].repeat(len(centres) - 2, axis=1)
    return float(distances(metric, centres[1:-1], *ends).max())


def distances(metric: Metric, points: Matrix, first: Matrix, last: Matrix) -> Vector:
    """Return how far each point is from the line between its two ends, row by row: (n,)."""
    step = last - first
    squares = np.einsum("np,np->n", step, step)
    along = np.einsum("np,np->n", points - first, step)
    share = np.divide(along, squares, out=np.zeros_like(along), where=squares > 0)
    share = np.clip(share, 0.0, 1.0)[:, np.newaxis]
    return metric.lengths(points - first - share * step)


def _edges(shares: Vector) -> Indices:
    """Return where groups of cells begin and end: (J + 1,)."""
    say = np.cumsum(np.minimum(shares, 1.0) ** (1 / 3) + _LEAST_SAY)
    inner = np.searchsorted(say, say[-1] * np.arange(1, _MAX_GROUPS) / _MAX_GROUPS)
    return np.unique(np.concatenate([[0], inner, [len(shares)]]))


def product_rounding(columns: int) -> float:
    """Return what a product in single precision is off by at most, per |x||b|."""
    return _ROOM * (columns + _OTHER_ROUNDINGS) * _HALF_UNIT
