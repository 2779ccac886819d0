"""Bounds of some songs' exact quantiles in double precision, each with its own elapsed time.

The locations of all components are exact, variances are known at some nodes: at others they lie
between (see `exact_outline`). A song whose components are surely wide enough for the belief's own
grid is bounded, and tested, on its nodes; any other one on the cells between them.

The test: if the mixture with the bounded scales has less than 1 − α above a threshold, the
quantile is below it. Far less than the largest component's quantile is needed for that.

code         maths     shape
`curves`     u         (n, G)  novelty of each song at each node
`locations`  u x'm     (n, G)
`low`        x'Λ⁻¹x    (n, G)  no variance is below; `high`: none above, for the nodes kept
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.inference import comb, interpolation_bounds
from bandstand.inference.covariance_base import Diagonal
from bandstand.model.novelty import novelty
from bandstand.model.student_tail import StudentTail

if TYPE_CHECKING:
    from bandstand.domain import Songs
    from bandstand.inference.exact_outline import ExactView
    from bandstand.types import AnyArray, Indices, Matrix, Vector

# Double precision is right to this share of |m||x|, and of a variance.
_ROUNDING: Final = 1e-9
_EPSILON: Final = float(np.finfo(np.float64).eps)
STEPS_PER_SCALE: Final = 64
FARTHEST_SCALE: Final = 12
# So few tails are computed one by one; they are right to so much of their size, or tiny.
_FEW: Final = 2_048
_TAIL_ROUNDING: Final = 1e-9
_FARTHEST: Final = 1e150


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Some:
    """Some songs at all nodes."""

    norms: Vector
    content: Matrix  # x'm
    curves: Matrix
    locations: Matrix
    low: Matrix
    high: Matrix

    def where(self, chosen: AnyArray) -> Some:
        """Return some of them."""
        return Some(
            norms=self.norms[chosen],
            content=self.content[chosen],
            curves=self.curves[chosen],
            locations=self.locations[chosen],
            low=self.low[chosen],
            high=self.high[chosen],
        )


class _ThreeNodes:
    """The first, the heaviest and the last node kept, whose variances bound those of all others."""

    def __init__(self, view: ExactView) -> None:
        belief, fall = view.belief, view.recovery
        nodes = np.unique([view.first, int(np.argmax(belief.weights)), view.last])
        every = np.arange(len(belief.weights))
        self.covariances = belief.covariances_of(nodes)
        self._above = np.minimum(np.searchsorted(nodes, every), len(nodes) - 1)
        self._below = np.maximum(np.searchsorted(nodes, every, side="right") - 1, 0)
        # Before the first of them a variance is at least r⁻² of it, after the last at most r².
        self._least = np.exp(np.clip(2 * (fall[nodes[0]] - fall), -300, 0))
        self._most = np.exp(np.clip(2 * (fall[nodes[-1]] - fall), 0, 300))

    def lowest(self, variances: Matrix) -> Matrix:
        """Return what no variance is below at each node, from those at the three: (n, G)."""
        return np.asarray(variances[:, self._below] * self._least)

    def highest(self, variances: Matrix) -> Matrix:
        """Return what no variance is above at each node."""
        return np.asarray(variances[:, self._above] * self._most)


class CloseLook:
    """Bounds for one question, of whatever songs are asked about."""

    def __init__(self, view: ExactView, songs: Songs) -> None:
        belief = view.belief
        self.view, self.songs, self.belief = view, songs, belief
        self._matter = belief.weights > comb.LIGHT
        # What x'Λ⁻¹x is off by, per |x|²: as many roundings as it has terms in a row.
        trace = belief.learnt.base.trace(len(belief.weights) - 1)
        self._variance_rounding = 4 * belief.means.shape[1] * _EPSILON * trace
        means = belief.means[view.nodes]
        self._rounding = _ROUNDING * float(np.sqrt(np.einsum("gp,gp->g", means, means).max()))

    @cached_property
    def _three(self) -> _ThreeNodes | None:
        """The nodes that variances are computed at, or none where that is cheap at all of them."""
        is_cheap = isinstance(self.belief.learnt.base, Diagonal)
        return None if is_cheap else _ThreeNodes(self.view)

    def look(self, rows: Indices) -> Some:
        """Return what is known about the songs in `rows`."""
        features, belief = self.songs.features_of(rows), self.belief
        elapsed, content = self.songs.elapsed_of(rows), features @ belief.means.T
        if self._three is None:
            return self.look_at_known(elapsed, features, content, belief.variances_of(features))
        spread = np.matmul(features, self._three.covariances)
        low, high, squares = self._off(features, np.einsum("ksp,sp->sk", spread, features))
        return self._some(
            elapsed, squares, content, self._three.lowest(low), self._three.highest(high)
        )

    def look_at_known(
        self, elapsed: Vector, features: Matrix, content: Matrix, variances: Matrix, steps: int = 0
    ) -> Some:
        """Return the same for songs of which x'm and x'Λ⁻¹x are known at all nodes: (n, G).

        `steps` says how many terms were taken from the variances one after the other.
        """
        low, high, squares = self._off(features, variances, 1 + steps)
        return self._some(elapsed, squares, content, low, high)

    def _off(
        self, features: Matrix, variances: Matrix, times: int = 1
    ) -> tuple[Matrix, Matrix, Vector]:
        """Return between what variances lie that were rounded so many times, and |x|²."""
        squares = np.einsum("sp,sp->s", features, features)
        off = (times * self._variance_rounding * squares)[:, np.newaxis]
        return np.maximum(variances - off, 0.0), np.maximum(variances, 0.0) + off, squares

    def _some(
        self, elapsed: Vector, squares: Vector, content: Matrix, low: Matrix, high: Matrix
    ) -> Some:
        curves = self._curves(elapsed)
        return Some(
            norms=np.sqrt(squares),
            content=content,
            curves=curves,
            locations=curves * content,
            low=low * (1 - _ROUNDING),
            high=high * (1 + _ROUNDING),
        )

    def _curves(self, elapsed: Vector) -> Matrix:
        """Return novelty at all nodes; songs never heard share it."""
        curves = np.tile(self.view.curves, (len(elapsed), 1))
        heard = np.flatnonzero(elapsed < self.view.longest)
        if len(heard):
            times = self.belief.recovery_times
            curves[heard] = novelty(elapsed[heard, np.newaxis], times)
        return curves

    def guess(self, some: Some) -> Vector:
        """Return about where the quantiles are; only the order of looking depends on it."""
        heaviest = int(np.argmax(self.belief.weights))
        centre = some.locations @ self.belief.weights
        wide = some.curves[:, heaviest] * np.sqrt(some.high[:, heaviest])
        return np.asarray(centre + self.view.reach * self.view.noise[heaviest] * wide)

    def upper(self, some: Some, threshold: float = -np.inf) -> tuple[Vector, AnyArray]:
        """Return what no quantile exceeds, and which songs surely need no finer grid.

        Bounds below the threshold need not be close.
        """
        view, inside = self.view, self.view.nodes
        sure = self._is_wide(some)
        variances = some.high if view.reach >= 0 else some.low
        scales = (some.curves * view.noise * np.sqrt(variances))[:, inside]
        upper = (some.locations[:, inside] + view.reach * scales).max(axis=1)
        if not sure.all():
            upper[~sure] = self._upper_of_unsure(some.where(~sure), threshold)
        return self._rounded_up(upper, some), sure

    def upper_on_any_grid(self, some: Some) -> Vector:
        """Return what no quantile exceeds, however fine the grid; nor if some were heard lately."""
        return self._rounded_up(self._upper_of_cells(some), some)

    def _rounded_up(self, upper: Vector, some: Some) -> Vector:
        return np.asarray(upper + self._rounding * some.norms + _ROUNDING * np.abs(upper))

    def _is_wide(self, some: Some) -> AnyArray:
        """Return whether the belief's own grid is fine enough for a song, whatever its scales."""
        steps = comb.steps(some.locations)[:, self._matter]
        scales = (some.curves * self.view.noise * np.sqrt(some.low))[:, self._matter]
        return np.asarray((steps <= (1 - 1e-6) * comb.WIDEST_STEP * scales).all(axis=1))

    def _upper_of_unsure(self, some: Some, threshold: float) -> Vector:
        """Return the same for songs that may need a finer grid: in cells, if it matters."""
        upper = self._far_above(some)
        near = np.flatnonzero(upper >= threshold)
        if len(near):
            upper[near] = self._upper_of_cells(some.where(near))
        return upper

    def _far_above(self, some: Some) -> Vector:
        """Return a bound from few numbers: u·(L·|x'm| + reach·noise·deviation), the largest each.

        An interpolant is at most L = 1 + 4 Σ C times as large as its largest value, since no |Δ²f|
        is more than four times that.
        """
        view, cells = self.view, self.view.cells
        bend = interpolation_bounds.bend(some.content.shape[1])[cells]
        largest = (1 + 4 * float(bend.sum(axis=1).max())) * np.abs(some.content).max(axis=1)
        noise = float((view.noise_of_cells[cells] * np.sqrt(1 + view.variance_bends[cells])).max())
        scale = some.curves.max(axis=1) * noise * np.sqrt(some.high.max(axis=1))
        scale += view.widening * some.norms
        return np.asarray(some.curves.max(axis=1) * largest + max(view.reach, 0.0) * scale)

    def _upper_of_cells(self, some: Some) -> Vector:
        """Return what no component's quantile exceeds on any finer grid."""
        location, scale = self._cells(some)
        return np.asarray((location + max(self.view.reach, 0.0) * scale).max(axis=1))

    def _cells(self, some: Some) -> tuple[Matrix, Matrix]:
        """Return what no location and no scale in a cell exceeds on any finer grid: (n, cells)."""
        view, cells = self.view, self.view.cells
        bend = interpolation_bounds.bend(some.content.shape[1])[cells]
        bent = np.abs(np.diff(some.content, 2, axis=1)) @ bend.T
        earlier, later = slice(cells.start, cells.stop), slice(cells.start + 1, cells.stop + 1)
        curves, content = some.curves, some.content
        most = np.maximum(content[:, earlier], content[:, later]) + bent
        # A straight line between the ends, times a novelty between those at the ends.
        location = np.maximum(curves[:, earlier] * most, curves[:, later] * most)
        variance = some.high[:, later] * (1 + view.variance_bends[cells])
        scale = curves[:, earlier] * view.noise_of_cells[cells] * np.sqrt(variance)
        return location, scale + view.widening * some.norms[:, np.newaxis]

    def may_exceed_on_cells(self, some: Some, threshold: float) -> AnyArray:
        """Return for any songs whether a quantile could be above a value, whatever the grid.

        All components of a cell are taken to be where the farthest of them can be, with as much
        weight as they have on the grid where it is most.
        """
        view = self.view
        location, scale = self._cells(some)
        gap = (threshold - self._rounding * some.norms)[:, np.newaxis] - location
        low = gap > 0
        above = self._beyond(np.where(low, gap, 0.0), scale)
        above[~low] = 1.0
        most = above @ view.shares_of_cells + view.left_out
        return np.asarray(most >= (1 - view.level) * (1 - 1e-7))

    def may_exceed(self, some: Some, threshold: float) -> AnyArray:
        """Return for songs that need no finer grid whether a quantile could be above a value."""
        view, inside = self.view, self.view.nodes
        sure = threshold - self._rounding * some.norms
        gap = sure[:, np.newaxis] - some.locations[:, inside]
        unit = (some.curves * view.noise)[:, inside]
        # A component centred below the threshold has the more above it the wider it is …
        low = gap > 0
        wide = unit * np.sqrt(some.high[:, inside])
        above = self._beyond(np.where(low, gap, 0.0), wide)
        above[~low] = 1.0
        if view.reach < 0:
            # … and one that is centred above it the narrower it is; elsewhere such a component
            # may as well count as a whole.
            narrow = unit * np.sqrt(some.low[:, inside])
            short = self._beyond(np.where(low, np.inf, -gap), narrow, further=1)
            above -= np.where(low, 0.0, short)
        share = self.belief.weights[inside]
        left_out = 1 - share.sum()
        return np.asarray(above @ share + left_out >= (1 - view.level) * (1 - 1e-7))

    @cached_property
    def _survival(self) -> Vector:
        """What a component has above each of so many scales from its centre."""
        distances = np.arange(FARTHEST_SCALE * STEPS_PER_SCALE + 1) / STEPS_PER_SCALE
        return StudentTail.of(self.belief.freedom).above(distances)

    def _beyond(self, distance: Matrix, scales: Matrix, *, further: int = 0) -> Matrix:
        """Return what a component has beyond a distance from its centre.

        For many of them it is looked up: rounded up, or down if it is one step `further`.
        """
        with np.errstate(over="ignore"):
            away = np.divide(distance, scales, out=np.full_like(distance, np.inf), where=scales > 0)
        if away.size <= _FEW:
            off = -_TAIL_ROUNDING if further else _TAIL_ROUNDING
            tail = StudentTail.of(self.belief.freedom)
            return np.asarray(tail.above(np.minimum(away, _FARTHEST)) * (1 + off))
        end = len(self._survival) - 1
        steps = np.minimum(away * STEPS_PER_SCALE, end)
        found: Matrix = self._survival[np.minimum(steps.astype(np.intp) + further, end)]
        if further:
            found[steps >= end] = 0.0
        return found
