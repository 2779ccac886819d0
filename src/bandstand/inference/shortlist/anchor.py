"""Bounds of a whole catalogue from a few vectors, and by how much a later belief has left them.

An outline says Q(x) ≤ max_k c_k'x + √(x'Fx) + slack·|x|. `Box` and `Spread` bound its two parts
from one product of x with a few vectors. A later outline whose centres are at most d outside the
box, and whose F is at most g²·F, exceeds the bounds by at most

    d·|x| + (g − 1)₊·√λ_max·|x|        since √(x'Fx) ≤ √λ_max·|x|

Rounding. A product of p factors in single precision, which are rounded themselves, is off by at
most (p + 3)·2⁻²⁴·|x||b| and a hair, in any order of summation; the few sums, squares and the
root after it by some 2⁻²⁴ of their size each, and √ of a sum of squares by no more than its
products together. So all of it is at most a constant times |x|: one more slack. Everything is in
units of the largest vector, so that nothing overflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.inference.shortlist.box import Box
from bandstand.inference.shortlist.spread import Spread
from bandstand.inference.song_table import BLOCK
from bandstand.types import read_only

if TYPE_CHECKING:
    from bandstand.inference.shortlist.outline import Expectation, View
    from bandstand.inference.song_table import SingleMatrix, SingleVector, SongTable
    from bandstand.types import Indices, Matrix, Vector

_HALF_UNIT: Final = 2.0**-24
# What may round besides the product, and room for (1 + 2⁻²⁴)ⁿ in place of 1 + n·2⁻²⁴.
_OTHER_ROUNDINGS: Final = 64
_ROOM: Final = 1.1
_tiny_is_zero: Final = np.errstate(under="ignore")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchor:
    """An outline in a form that bounds many songs quickly; all lengths in units of `unit`."""

    origin: Any
    unit: float
    box: Box
    spread: Spread
    basis: SingleMatrix  # the vectors of both, side by side: (p, r)
    slack: float  # of the outline, and what the box does not reach
    rounding: float  # of one product with a unit vector, as a multiple of |x|
    rounding_of_sums: float  # of a bound

    @classmethod
    @_tiny_is_zero
    def of(cls, view: Expectation, typical: Vector | None = None) -> Anchor:
        """Return the anchor of a belief; `typical` are the features of a song among the best."""
        outline = view.outline()
        unit = _unit(outline.centres, outline.spread, outline.slack)
        form, centres = outline.spread / unit / unit, outline.centres / unit
        box = Box.around(centres, _push(form, typical))
        spread = Spread.of(form)
        columns = np.concatenate([box.columns(), spread.kept], axis=1)
        rounding = product_rounding(len(columns))
        slack = outline.slack / unit + box.rest
        parts = box.size + slack + (1 + spread.kept.shape[1]) * spread.largest**0.5
        return cls(
            origin=view.origin(),
            unit=unit,
            box=box,
            spread=spread,
            basis=read_only(np.ascontiguousarray(columns, dtype=np.float32)),
            slack=slack,
            rounding=rounding,
            rounding_of_sums=rounding * (parts + spread.total**0.5),
        )

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        return self.basis.nbytes + self.spread.root.nbytes + self.spread.whitening.nbytes

    @_tiny_is_zero
    def drift(self, view: View, grown: float) -> float:
        """Return by which multiple of |x| a later outline exceeds the bounds at most.

        Its spread has `grown` by g. It may be negative: then even the bounds less so much hold.
        """
        left = self.box.distance(view.centres / self.unit) + view.slack / self.unit
        wider = max(grown - 1, 0.0) * self.spread.largest**0.5
        return float(left - self.slack + wider + 1e-9)

    @_tiny_is_zero
    def growth(self, form: Matrix) -> float:
        """Return a g with `form` ⪯ g²F."""
        return self.spread.growth(form / self.unit / self.unit)

    def bounds(self, table: SongTable, rows: Indices | None = None) -> SingleVector:
        """Return what no song's quantile exceeds, or that of the songs in `rows`: in units."""
        count = len(table) if rows is None else len(rows)
        found = np.empty(count, dtype=np.float32)
        for start in range(0, count, BLOCK):
            some = slice(start, start + BLOCK)
            part = some if rows is None else rows[some]
            found[some] = self._bounds(table.single[part], table.norms[part])
        return found

    def close_bounds(self, table: SongTable, rows: Indices) -> SingleVector:
        """Return the same with the whole of x'Fx: closer, but p products per song."""
        found = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            found[start : start + BLOCK] = self._close(table.single[some], table.norms[some])
        return found

    @_tiny_is_zero
    def widths(self, table: SongTable, rows: Indices) -> SingleVector:
        """Return what no √(x'Fx) exceeds, with all that may be rounded: in units."""
        single = table.single[rows]
        roots = single @ self.spread.root
        wide: SingleVector = np.sqrt(np.einsum("sp,sp->s", roots, roots))
        wide += np.float32(self.rounding_of_sums) * table.norms[rows]
        return wide

    @_tiny_is_zero
    def _bounds(self, single: SingleMatrix, norms: SingleVector) -> SingleVector:
        products: SingleMatrix = np.ascontiguousarray((single @ self.basis).T)
        split = 1 + len(self.box.directions)
        squares = self.spread.upper(products[split:], norms, self.rounding)
        return self._summed(products[:split], squares, norms)

    @_tiny_is_zero
    def _close(self, single: SingleMatrix, norms: SingleVector) -> SingleVector:
        split = 1 + len(self.box.directions)
        products: SingleMatrix = np.ascontiguousarray((single @ self.basis[:, :split]).T)
        roots = single @ self.spread.root
        return self._summed(products, np.einsum("sp,sp->s", roots, roots), norms)

    def _summed(
        self, products: SingleMatrix, squares: SingleVector, norms: SingleVector
    ) -> SingleVector:
        total = self.box.upper(products)
        total += np.sqrt(squares, out=squares)
        total += np.float32(self.slack + self.rounding_of_sums) * norms
        return total


def _push(form: Matrix, typical: Vector | None) -> Vector | None:
    """Return how far answers may move the centres: along Fx, as far as x'F x is wide.

    An answer about x moves them along Λ⁻¹x, and F is a multiple of it. So much makes the centre of
    a typical song's distribution fall to about its end.
    """
    if typical is None:
        return None
    towards = form @ typical
    wide = max(float(towards @ typical), 0.0) ** 0.5
    return towards / wide if wide > 0 else None


def product_rounding(columns: int) -> float:
    """Return what a product in single precision is off by at most, per |x||b|: ρ."""
    return _ROOM * (columns + _OTHER_ROUNDINGS) * _HALF_UNIT


def _unit(centres: Matrix, spread: Matrix, slack: float) -> float:
    """Return about the size of the largest bound of a song of length 1."""
    largest = float(np.abs(centres).max(initial=0.0))
    wide = float(np.abs(np.diagonal(spread)).max(initial=0.0)) ** 0.5
    return max(largest, wide, slack) or 1.0
