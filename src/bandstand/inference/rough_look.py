"""Bounds of many songs' quantiles in single precision, where all covariances have one basis.

A newcomer's songs differ little, so that thousands of them may have to be looked at. With
Λ_g⁻¹ ⪯ T diag(d_g) T' (`Diagonal`; what was taken since only makes it smaller) the variances of
a song at all nodes are one product with T and one with d, so that it can be bounded cell by cell
(`exact_outline`) where the outline takes the largest location and the largest scale of all cells:

    Q(x) ≤ max over cells of max(c_g'x, c_{g+1}'x) + width·√(x'Tdiag(d_{g+1})T'x) + slack·|x|

Rounding. In units in which no vector is longer than 1, a product of p factors in single precision
is off by at most ρ|x||b| with ρ about p·2⁻²⁴ (`shortlist/anchor.py`); a root of a sum of squares by
no more than those of its products together, and as much again for the sum itself.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.inference.close_look import FARTHEST_SCALE, STEPS_PER_SCALE
from bandstand.inference.covariance_base import Diagonal
from bandstand.inference.shortlist.anchor import product_rounding
from bandstand.model.student_tail import StudentTail

if TYPE_CHECKING:
    from bandstand.inference.exact_outline import ExactView
    from bandstand.inference.song_table import SongTable
    from bandstand.types import AnyArray, Indices, Vector

# Squares of shorter songs might be too small for a number.
SHORTEST: Final = 1e-12
# Of the few sums after the products, as a share of a bound.
OTHER_ROUNDING: Final = 1e-6
# Of a sum of shares.
SHARE_ROUNDING: Final = 1e-4


class RoughLook:
    """What no quantile of a song exceeds that was never heard, for one question."""

    def __init__(self, view: ExactView, base: Diagonal) -> None:
        self._view, centres = view, view.centres
        later = slice(view.first + 1, view.last + 1)
        forms = view.widths_of_cells[:, np.newaxis] ** 2 * base.levels[later]
        squares = np.einsum("pi,pi->i", base.modes, base.modes)
        widest = float(np.sqrt((forms @ squares).max()))
        longest = float(np.sqrt(np.einsum("kp,kp->k", centres, centres).max()))
        self._unit = max(widest, longest, view.slack) or 1.0
        self._centres = single(centres.T / self._unit)
        self._modes = single(base.modes / np.sqrt(squares))
        self._forms = single((forms * squares / self._unit**2).T)
        spread = float(np.sqrt((forms * squares).max(axis=0).sum()))
        rounding = 3 * product_rounding(len(base.modes)) * (longest + spread)
        self._slacks = single((view.slack_of_cells + rounding) / self._unit)

    @classmethod
    def of(cls, view: ExactView) -> RoughLook | None:
        """Return the rough look for a question; None where it would not pay, or does not hold."""
        base = view.belief.learnt.base
        return cls(view, base) if isinstance(base, Diagonal) and view.reach > 0 else None

    @np.errstate(under="ignore")
    def upper(self, table: SongTable, rows: Indices, threshold: float = np.inf) -> Vector:
        """Return what no quantile of the songs in `rows` exceeds, as if they were never heard.

        A song whose mixture has too little above the threshold is below it, however far the
        largest of its components reaches.
        """
        norms = table.norms[rows]
        locations, scales = self._cells(table.single[rows], norms)
        highest = (locations + scales).max(axis=1).astype(np.float64)
        # What was added may be far larger than the sum.
        size = np.abs(highest) + 3 * norms
        bounds = self._unit * (highest + OTHER_ROUNDING * size)
        bounds = np.where(norms > SHORTEST, bounds, np.inf)
        near = np.flatnonzero((bounds >= threshold) & (norms > SHORTEST))
        if len(near):
            # A hair below: the songs are not compared with what they are said to be below.
            hopeless = near[
                ~self._may_exceed(locations[near], scales[near], norms[near], threshold)
            ]
            bounds[hopeless] = np.nextafter(threshold, -np.inf)
        return bounds

    def _cells(self, single: Any, norms: Any) -> tuple[Any, Any]:
        """Return what no location and no scale times `reach` in a cell exceeds: (n, cells)."""
        products = single @ self._centres
        along = single @ self._modes
        scales = np.sqrt(np.square(along, out=along) @ self._forms)
        locations = np.maximum(products[:, :-1], products[:, 1:])
        locations += self._slacks * norms[:, np.newaxis]
        return locations, scales

    def _may_exceed(self, locations: Any, scales: Any, norms: Any, threshold: float) -> AnyArray:
        """Return whether a mixture may have a share of 1 − level above the threshold.

        All components of a cell are taken to be where the farthest can be, as wide as the widest
        (`CloseLook.may_exceed_on_cells`). Tails are looked up, and rounded up.
        """
        view = self._view
        wide = (scales + self._slacks * norms[:, np.newaxis]) / np.float32(view.reach)
        gap = np.float32(threshold / self._unit * (1 - np.sign(threshold) * OTHER_ROUNDING))
        above = self._tails.beyond(gap - locations, wide)
        most = above @ single(view.shares_of_cells) + np.float32(view.left_out)
        return np.asarray(most >= (1 - view.level) * (1 - SHARE_ROUNDING))

    @cached_property
    def _tails(self) -> Tails:
        return Tails(self._view.belief.freedom)


class Tails:
    """What a component has above a value, looked up and rounded up, in single precision."""

    def __init__(self, freedom: float) -> None:
        distances = np.arange(FARTHEST_SCALE * STEPS_PER_SCALE + 1) / STEPS_PER_SCALE
        self._above = single(StudentTail.of(freedom).above(distances) * (1 + OTHER_ROUNDING))

    @np.errstate(under="ignore", over="ignore")
    def beyond(self, away: Any, scales: Any) -> Any:
        """Return it for components whose centres are so far below the value: 1 for others."""
        steps = np.divide(away, scales, out=np.zeros_like(away), where=(scales > 0) & (away > 0))
        steps *= np.float32(STEPS_PER_SCALE * (1 - OTHER_ROUNDING))
        above = self._above[np.minimum(steps, len(self._above) - 1).astype(np.intp)]
        above[~(away > 0)] = 1
        return above


def single(matrix: AnyArray) -> Any:
    """Return a matrix in single precision."""
    with np.errstate(under="ignore"):
        return np.ascontiguousarray(matrix, dtype=np.float32)
