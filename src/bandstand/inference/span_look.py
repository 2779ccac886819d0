"""Whether songs may reach a value, from their whole mixtures: for many songs at once.

Of a newcomer neither preferences nor the recovery time are known well. Then the farthest component
of a mixture lies far beyond its quantile, and what bounds that component (`shortlist/anchor.py`)
excludes nobody. But one with little weight matters little. So neighbouring cells are taken
together as a few *spans*, and a song is excluded if even with every component of a span at the
farthest place, and as wide as the widest, it has less than 1 − level above the value:

    P(U > value) ≤ Σ_k share_k · S((value − location_k)/scale_k) + left out

All expected preferences lie near a space of few dimensions, m_g = Σ_j C_gj b_j + rest, so a song is
a few numbers y_j = b_j'x. With L_g = u_g m_g'x, Δ from one node to the next, and for a place v
within a cell, where m is interpolated (`interpolation_bounds`) and u is not,

    L(v) ≤ max(L_g, L_g+1) + u_g·bend(m'x) + ¼|Δu||Δm'x| + bend(u)·max|m'x|     of a cell
    L_g  ≤ max(L_first, L_last) + (L_g − the straight line between the two)      of a span

where every difference is Σ_j (number)_j y_j, at most Σ_j |number|_j |y_j|. Variances rise with s,
so that of a span's last node is its largest: T diag(d) T' with one T for all nodes (`Diagonal`).

code         maths  shape
`basis`      b      (p, J)   of length 1, the first along the mean of all m
`ends`       u C    (J, K+1) L at the ends of spans
`rises`             (2J, K)  what the spans' locations may be beyond their ends, by y⁺ and y⁻
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.inference import interpolation_bounds
from bandstand.inference.covariance_base import Diagonal
from bandstand.inference.rough_look import OTHER_ROUNDING, SHARE_ROUNDING, SHORTEST, Tails, single
from bandstand.inference.shortlist.anchor import product_rounding
from bandstand.inference.shortlist.spread import Spread
from bandstand.inference.song_table import BLOCK

if TYPE_CHECKING:
    from bandstand.inference.exact_outline import ExactView
    from bandstand.inference.song_table import SongTable
    from bandstand.types import AnyArray, Indices, Matrix, Vector

# So many spans for all songs, and for those left of them: those of much weight are narrower than
# others, which have this least say.
COARSE: Final = 16
FINE: Final = 64
_LEAST_SAY: Final = 0.02
# Directions beside the mean, and directions in which answers have told something, but for those
# with such a share of all of it.
_DIRECTIONS: Final = 10
_LEARNT: Final = 32
_HARDLY: Final = 1e-4
# A difference of sums of squares is off by at most so much of the larger one.
_ROUNDINGS: Final = 64 * 2.0**-24
_FARTHEST: Final = 1e30


class SpanLook:
    """The test for one question, of songs as if they had never been heard."""

    def __init__(self, view: ExactView, base: Diagonal, spans: int) -> None:
        self._view, self._base = view, base
        self._edges = _edges(view.shares_of_cells, spans)
        self._spread_of(base)
        self._place(_Reduced(view))

    @classmethod
    def of(cls, view: ExactView, spans: int = COARSE) -> SpanLook | None:
        """Return the test for a question; None where it would not pay, or does not hold."""
        base = view.belief.learnt.base
        return cls(view, base, spans) if isinstance(base, Diagonal) and view.reach > 0 else None

    def finer(self) -> SpanLook:
        """Return the same test with more spans, for fewer songs."""
        return SpanLook(self._view, self._base, FINE)

    def may_reach(self, table: SongTable, rows: Indices, value: float) -> AnyArray:
        """Return which of some songs may have a quantile not below a positive value."""
        return np.asarray(self.above(table, rows, value) >= self.least)

    @property
    def least(self) -> float:
        """What a song has above its own quantile, but for rounding."""
        return (1 - self._view.level) * (1 - SHARE_ROUNDING)

    @np.errstate(under="ignore")
    def above(self, table: SongTable, rows: Indices, value: float) -> Any:
        """Return what no song has above a positive value, in single precision: (n,)."""
        found = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            found[start : start + BLOCK] = self._above(table.single[some], table.norms[some], value)
        return found

    def _above(self, features: Any, norms: Any, value: float) -> Any:
        products, split = features @ self._columns, len(self._ends)
        locations = self._locations(products[:, :split], norms)
        scales = self._scales(products[:, split:], norms)
        far = np.float32(min(value / self._unit * (1 - OTHER_ROUNDING), _FARTHEST))
        above = self._tails.beyond(far - locations, scales) @ self._shares
        above += np.float32(self._view.left_out)
        above[~(norms > SHORTEST)] = 1
        return above

    def _spread_of(self, base: Diagonal) -> None:
        """Work out how wide components may be: x'Fx less what was learnt, times a width."""
        view, edges = self._view, self._edges
        levels = base.levels[view.first + edges[1:]]
        lengths = np.sqrt(np.einsum("pi,pi->i", base.modes, base.modes))
        top = levels.max(axis=0)
        form = (base.modes * top) @ base.modes.T
        self._size = float(np.diagonal(form).max()) or 1.0
        self._spread = Spread.of(form / self._size)
        # Directions about which nobody has told anything are alike at all nodes.
        told = (top - levels.min(axis=0)) * lengths**2
        learnt = np.argsort(-told)[:_LEARNT]
        learnt = learnt[told[learnt] > _HARDLY * told.sum()]
        self._modes = base.modes[:, learnt] / lengths[learnt]
        self._less = single(((top - levels)[:, learnt] * lengths[learnt] ** 2 / self._size).T)
        widths = np.maximum.reduceat(view.widths_of_cells, edges[:-1])
        self._widest: Vector = widths * np.sqrt(self._size) / view.reach * (1 + OTHER_ROUNDING)

    def _place(self, reduced: _Reduced) -> None:
        """Work out where components may be, and in which units all of it is."""
        view, nodes = self._view, self._view.first + self._edges
        ends, rises, falls = reduced.along[nodes], [], []
        for first, last in pairwise(nodes.tolist()):
            inside = reduced.along[first : last + 1]
            share = np.linspace(0, 1, len(inside))[:, np.newaxis]
            beyond = inside - ((1 - share) * inside[0] + share * inside[-1])
            more = reduced.bends[first:last].max(axis=0)
            rises.append(np.maximum(beyond.max(axis=0), 0.0) + more)
            falls.append(np.maximum(-beyond.min(axis=0), 0.0) + more)
        size = float((np.abs(ends).max(axis=0) + np.maximum(rises, falls).max(axis=0)).sum())
        unit = self._unit = max(size, float(self._widest.max()), reduced.rest, view.widening) or 1.0
        self._basis, self._ends = reduced.basis, single(ends.T / unit)
        self._rises = single(np.vstack([np.transpose(rises), np.transpose(falls)]) / unit)
        self._rounding = product_rounding(len(reduced.basis))
        self._slack = np.float32((reduced.rest + 4 * self._rounding * size) / unit)
        self._widths = single(self._widest / unit)
        self._wider = np.float32(view.widening / unit * (1 + OTHER_ROUNDING))

    @cached_property
    def _columns(self) -> Any:
        """All vectors that songs are multiplied with, side by side."""
        return single(np.concatenate([self._basis, self._spread.kept, self._modes], axis=1))

    @cached_property
    def _shares(self) -> Any:
        return single(np.add.reduceat(self._view.shares_of_cells, self._edges[:-1]))

    @cached_property
    def _tails(self) -> Tails:
        return Tails(self._view.belief.freedom)

    def _locations(self, products: Any, norms: Any) -> Any:
        """Return what no location in a span exceeds: (n, K)."""
        ends = products @ self._ends
        signs = np.concatenate([np.maximum(products, 0), np.maximum(-products, 0)], axis=1)
        locations = np.maximum(ends[:, :-1], ends[:, 1:])
        locations += signs @ self._rises
        locations += (self._slack * norms)[:, np.newaxis]
        return locations

    def _scales(self, products: Any, norms: Any) -> Any:
        """Return what no scale in a span exceeds: (n, K)."""
        split, rounding = self._spread.kept.shape[1], np.float32(self._rounding)
        kept = np.ascontiguousarray(products[:, :split].T)
        most = self._spread.upper(kept, norms, self._rounding)
        # A root of a sum of squares is off by no more than its products together.
        most = (
            np.sqrt(most) + np.float32((1 + split) * self._spread.largest**0.5) * rounding * norms
        )
        most = np.square(most, out=most) * np.float32(1 + _ROUNDINGS)
        sure = np.abs(products[:, split:]) - (rounding * norms)[:, np.newaxis]
        sure = np.square(np.maximum(sure, 0, out=sure), out=sure)
        variances = most[:, np.newaxis] - sure @ self._less
        scales = np.sqrt(np.maximum(variances, 0, out=variances), out=variances)
        scales *= self._widths
        scales += (self._wider * norms)[:, np.newaxis]
        return scales


class _Reduced:
    """Expected preferences as sums of a few vectors.

    code     maths    shape
    `basis`  b        (p, J)
    `along`  u_g C_g  (G, J)    L_g = Σ_j along_j y_j, but for the rest
    `bends`           (G−1, J)  what L may rise by within a cell, at most Σ_j bends_j |y_j|
    `rest`                      what all of that leaves out, as a multiple of |x|
    """

    def __init__(self, view: ExactView) -> None:
        belief, bend = view.belief, interpolation_bounds.bend(len(view.belief.grid))
        used = np.flatnonzero(bend[view.cells].any(axis=0))
        ends = (view.first, view.last, *used, *(used + 2))  # Δ² at k is of the nodes k to k + 2
        nodes = slice(min(ends), max(ends) + 1)
        means, share = belief.means[nodes], belief.weights[nodes]
        centre = (share @ means) / share.sum()
        length = float(np.sqrt(centre @ centre))
        away = means - centre
        # Where there is little weight a direction matters less, but not much less.
        _, _, directions = np.linalg.svd(
            away * np.sqrt(share + 1e-3)[:, np.newaxis], full_matrices=False
        )
        directions = directions[:_DIRECTIONS]
        first = centre / length if length > 0 else centre
        self.basis: Matrix = np.column_stack([first, directions.T])
        numbers = np.zeros((len(belief.grid), self.basis.shape[1]))
        numbers[nodes] = np.column_stack([np.full(len(means), length), away @ directions.T])
        left = away - (away @ directions.T) @ directions
        rest = float(np.sqrt(np.einsum("gp,gp->g", left, left).max()))
        self.along: Matrix = view.curves[:, np.newaxis] * numbers
        self.bends = self._bends(view, numbers, bend)
        # A location, its bend (no second difference is above four times the rest), and the rest.
        self.rest = rest * (3 + 4 * float(bend[view.cells].sum(axis=1).max())) * (1 + 1e-9)

    @staticmethod
    def _bends(view: ExactView, numbers: Matrix, bend: Matrix) -> Matrix:
        curves, sizes = view.curves, np.abs(numbers)
        bent = curves[:-1, np.newaxis] * (bend @ np.abs(np.diff(numbers, 2, axis=0)))
        bent += 0.25 * np.abs(np.diff(curves)[:, np.newaxis] * np.diff(numbers, axis=0))
        bent += view.facts.bends_of_curves[:, np.newaxis] * np.maximum(sizes[:-1], sizes[1:])
        return np.asarray(bent)


def _edges(shares: Vector, spans: int) -> Indices:
    """Return where spans begin and end, as numbers of cells that are kept: (K + 1,)."""
    say = np.cumsum(np.minimum(shares, 1.0) ** (1 / 3) + _LEAST_SAY)
    inner = np.searchsorted(say, say[-1] * np.arange(1, spans) / spans)
    return np.unique(np.concatenate([[0], inner, [len(shares)]]))
