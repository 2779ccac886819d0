"""The best of the songs whose artists have answers: bounded one by one, few computed.

What such a song has beyond its features depends on the recovery time, so no product with the
whole catalogue bounds it. But there are few of them, and their expectation is cheap, (42):

    content at every node     x'm_g + E[e]
    variance at one node      V* = y'Λ*⁻¹y + v, once for all nodes

since the variance of a song's liking rises with s, no faster than `Metric.growth` says, whatever
it is made of. Cell by cell (`mixture_cells`) the mixture then lies below location + reach·scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand.core.engines.exact.posterior.song_mixtures import (
    WIDENED,
    Given,
    finest,
    may_reach,
    quantiles,
)
from bandstand.core.engines.exact.search import interpolation_bounds
from bandstand.core.engines.exact.search.mixture_cells import Metric, MixtureCells, constants_of
from bandstand.core.engines.exact.search.tail_budget import tail_budget
from bandstand.core.model.candidates import EQUAL
from bandstand.core.model.novelty import novelty
from bandstand.types import MONTH, row_blocks

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.belief import ExactBelief
    from bandstand.core.model.history import Songs
    from bandstand.types import Indices, Matrix, Vector

# Songs bounded at a time, and computed at a time, at first and later.
_CHUNK: Final = 2_048
_FIRST: Final = 8
_EXACT_CHUNK: Final = 256
# The metric is of the node beyond which this share of the tail lies.
_BEYOND: Final = 0.01
# Of tails, of products and of variances.
_ROUNDING: Final = 1e-7


class _Cells(NamedTuple):
    """What the mixtures of some songs do not exceed in each cell: (n, C) each."""

    locations: Matrix
    scales: Matrix


def best_answered(
    belief: ExactBelief, songs: Songs, rows: Indices, level: float, count: int
) -> Indices | None:
    """Return those of `rows` with the `count` largest quantiles, in any order; None if too wide."""
    if len(rows) <= count:
        return rows
    upper = _upper(belief, songs, rows, (1 - level) * (1 - _ROUNDING))
    if upper is None:
        return None
    order, start, size = np.argsort(-upper), 0, _FIRST + count
    found, values, threshold = rows[:0], np.empty(0), -np.inf
    while start < len(order) and upper[order[start]] >= threshold:
        part = np.sort(rows[order[start : start + size]])
        given = Given.of(belief, songs, part)
        if threshold > -np.inf:
            left = np.flatnonzero(may_reach(belief, given, level, threshold))
            part, given = part[left], given.at(left)
        more = quantiles(belief, given, level) if len(part) else np.empty(0)
        if more is None:
            return None
        found, values = np.concatenate([found, part]), np.concatenate([values, more])
        lowest = float(np.partition(values, -count)[-count])
        threshold = lowest - 4 * EQUAL * abs(lowest)
        start, size = start + size, min(2 * size, _EXACT_CHUNK)
    # All equal ones stay, so that of those the first by row can be taken.
    return np.asarray(found[values >= threshold])


def _upper(belief: ExactBelief, songs: Songs, rows: Indices, tail: float) -> Vector | None:
    """Return what no quantile of each song exceeds, (n,); None where there is no bound."""
    beyond = np.cumsum(belief.weights[::-1])[::-1]
    node = min(int(np.searchsorted(-beyond, -_BEYOND * tail)), len(beyond) - 1)
    metric = Metric.of(belief, node, planned=True)
    if metric is None:
        return None
    cells = MixtureCells(belief, np.inf, metric)
    inside, left_out = cells.inside(tail)
    bounds = [_Bounds(cells, songs, some, node, inside) for some in row_blocks(rows, _CHUNK)]
    best = max(bounds, key=lambda each: each.best)
    freedom, shares = belief.freedom, cells.shares[inside]
    budget = tail_budget(shares, *best.typical, tail - left_out, freedom)
    if budget is None:
        return None
    return np.concatenate([each.upper(budget.reaches) for each in bounds])


class _Bounds:
    """Some songs, cell by cell."""

    def __init__(
        self, cells: MixtureCells, songs: Songs, rows: Indices, node: int, inside: slice
    ) -> None:
        belief = cells.belief
        features, groups = songs.features_of(rows), songs.groups_of(rows)
        content = belief.contents_of(features, groups)
        elapsed = songs.elapsed_of(rows)
        curves = np.asarray(novelty(elapsed[:, np.newaxis], belief.recovery_times))
        means = (curves * content) @ belief.weights
        self._typical, self.best = int(np.argmax(means)), float(means.max())
        variance = belief.variances_at(node, features, groups) * (1 + _ROUNDING)
        self._cells = _in_cells(cells, content, curves, variance, inside)

    @property
    def typical(self) -> tuple[Vector, Vector]:
        """Locations and scales of the most promising song: (C,) each."""
        locations, scales = self._cells
        return locations[self._typical], scales[self._typical]

    def upper(self, reaches: Vector) -> Vector:
        """Return what no quantile exceeds: (n,)."""
        live = reaches > -np.inf
        locations, scales = (each[:, live] for each in self._cells)
        upper: Vector = (locations + reaches[live] * scales).max(axis=1)
        return upper + _ROUNDING * np.abs(upper)


def _in_cells(
    cells: MixtureCells, content: Matrix, curves: Matrix, variance: Vector, inside: slice
) -> _Cells:
    """Return locations and scales at most, for any grid that a mixture may be computed on.

    Within a cell u falls as s grows, and the content is a straight line plus what an interpolant
    bends by.
    """
    size, steps = content.shape[1], np.abs(np.diff(content, axis=1))
    bends = np.abs(np.diff(content, 2, axis=1)) @ interpolation_bounds.bend(size).T
    highest = np.maximum(content[:, :-1], content[:, 1:]) + bends
    locations = highest * np.where(highest > 0, curves[:, :-1], curves[:, 1:])
    growth = cells.metric.growth(cells.belief.log_recovery_times[1:])
    scales = curves[:, :-1] * np.sqrt(variance)[:, np.newaxis] * (cells.noise * growth)
    # On the finest grid a component may be widened to its distance from its neighbours.
    ratio = constants_of(cells.belief.grid, MONTH).step_ratios
    ratio = np.where(curves[:, :-1] < 1, ratio, 1.0)
    longest = np.maximum(np.abs(content[:, :-1]), np.abs(content[:, 1:])) + bends
    fine = steps @ interpolation_bounds.slope(size).T / finest(size)
    each = np.pad(curves[:, :-1] * (ratio * fine + (ratio - 1) * longest), ((0, 0), (1, 1)))
    widened = WIDENED * np.maximum(np.maximum(each[:, :-2], each[:, 2:]), each[:, 1:-1])
    return _Cells(locations[:, inside], np.maximum(scales, widened)[:, inside])
