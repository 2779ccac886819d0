"""The best of the songs whose artists have answers.

What such a song has beyond its features depends on the recovery time, so no product with the
whole catalogue bounds it. Four steps, each for fewer songs:

* *The first by their mean* are computed, which gives a value to beat.
* *Mean and variance.* No quantile of level α is above mean + √(α/(1 − α)) · standard deviation,
  whatever the distribution (Cantelli). For songs never heard the mean is one product, and so is
  what of the variance lies between the recovery times. Others are worth no more than that, or 0.
* *Cell by cell* (`mixture_cells`): a song has at most Σ share · tail((value − location)/scale)
  above a value, with the content at every node and one variance for all nodes.
* *Exactly*, those that are left.

The variance of a song's liking rises with s, no faster than `Metric.growth` says, whatever it is
made of, and falls with every answer. So the variance at one node, which takes p² products, bounds
those of all nodes and of later beliefs, and is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.engines.exact.posterior import song_effects
from bandstand.core.engines.exact.posterior.song_mixtures import (
    WIDENED,
    Given,
    finest,
    may_reach,
    quantiles,
)
from bandstand.core.engines.exact.search import interpolation_bounds
from bandstand.core.engines.exact.search.mixture_cells import (
    Metric,
    MixtureCells,
    constants_of,
    with_neighbours,
)
from bandstand.core.engines.exact.search.screen import product_rounding
from bandstand.core.model.candidates import EQUAL, best_of, is_among
from bandstand.core.model.novelty import novelty
from bandstand.core.model.student_mixture import StudentTail
from bandstand.types import MONTH, row_blocks

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.belief import ExactBelief
    from bandstand.core.engines.exact.search.candidate_list import SearchCache
    from bandstand.core.engines.song_table import SongTable
    from bandstand.core.model.history import Songs
    from bandstand.types import AnyArray, Indices, Matrix, Vector

# Songs bounded at a time, and computed at a time.
_CHUNK: Final = 1_024
_SPARE_CANDIDATES: Final = 4
_EXACT_CHUNK: Final = 64
# The metric is of the node beyond which this share of the weight lies.
_METRIC_TAIL: Final = 1e-3
# Variances are computed again once there are 1.1 × + 8 answers.
_STALE_FACTOR: Final = 1.1
_STALE_ANSWERS: Final = 8
# Of tails, of products and of variances; of moments on a grid that holds the posterior; and of
# the eigenvalues of a sum of squares, in units of the largest.
_ROUNDING: Final = 1e-7
_OF_MOMENTS: Final = 1e-4
_OF_SQUARES: Final = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownVariances:
    """The variances of some songs at the node of a metric: none is above, then or later."""

    metric: Metric
    rows: Indices  # rising
    variances: Vector

    @classmethod
    def of(
        cls, belief: ExactBelief, songs: Songs, rows: Indices, known: KnownVariances | None
    ) -> KnownVariances | None:
        """Return those of `rows`, with as many as possible of the known ones; None without any."""
        count = len(belief.history)
        if known is None or not known.metric.suits(belief) or known.is_old(count):
            beyond = np.cumsum(belief.weights[::-1])[::-1]
            node = max(int(np.searchsorted(-beyond, -_METRIC_TAIL)) - 1, 0)
            metric = Metric.of(belief, node)
            if metric is None:
                return None
            known = cls(metric=metric, rows=rows[:0], variances=np.empty(0))
        new = rows[~is_among(rows, known.rows)]
        if len(new):
            found = [known._computed(belief, songs, some) for some in row_blocks(new, _CHUNK)]
            every = np.concatenate([known.rows, new])
            order = np.argsort(every)
            values = np.concatenate([known.variances, *found])[order]
            known = cls(metric=known.metric, rows=every[order], variances=values)
        return known

    def is_old(self, count: int) -> bool:
        """Return whether `count` answers are many more than it knows of."""
        return count > _STALE_FACTOR * len(self.metric.history) + _STALE_ANSWERS

    def at(self, rows: Indices) -> Vector:
        """Return the variances of some of its songs: (n,)."""
        return self.variances[np.searchsorted(self.rows, rows)]

    def _computed(self, belief: ExactBelief, songs: Songs, rows: Indices) -> Vector:
        time = np.exp(np.atleast_1d(self.metric.log_time))
        features, groups = songs.features_of(rows), songs.groups_of(rows)
        # Of the metric's own answers alone: later ones only take from it.
        plays = song_effects.Plays.of(self.metric.history, groups)
        pseudo, own = plays.at(belief, time).rows(features, groups)
        halves = pseudo[:, 0] @ self.metric.root
        return np.asarray((np.einsum("np,np->n", halves, halves) + own[:, 0]) * (1 + _ROUNDING))


def best_answered(
    belief: ExactBelief,
    songs: Songs,
    cache: SearchCache,
    rows: Indices,
    level: float,
    count: int,
    rivals: Indices,
) -> Indices | None:
    """Return the `count` best of `rows` and `rivals`, best first; None without any bound."""
    known = KnownVariances.of(belief, songs, rows, cache.answered)
    cache.answered = known
    if known is None:
        return None
    query = _Query(belief, songs, known, level, count)
    first, upper = rows[:0], np.full(len(rows), np.inf)
    if query.has_moments:
        never = songs.elapsed_of(rows) == np.inf
        means, upper = query.moments(cache.table, rows)
        first = rows[np.argsort(np.where(never, -means, np.inf))[: count + _SPARE_CANDIDATES]]
        # Novelty takes from a song what it has above zero.
        upper = np.where(never, upper, np.maximum(upper, 0.0))
    if not query.compute(np.concatenate([rivals, first])):
        return None
    for some in row_blocks(rows[upper >= query.threshold], _CHUNK):
        left = some[query.may_reach(some)]
        for part in row_blocks(left, _EXACT_CHUNK):
            if not query.compute(part):
                return None
    return best_of(songs, query.rows, query.values, count)


class _Query:
    """One question, and what was computed for it."""

    def __init__(
        self, belief: ExactBelief, songs: Songs, known: KnownVariances, level: float, count: int
    ) -> None:
        self.belief, self.songs, self.known = belief, songs, known
        self.level, self.count = level, count
        self.cells = MixtureCells(belief, np.inf, known.metric)
        self.rows: Indices = np.empty(0, dtype=np.intp)
        self.values: Vector = np.empty(0)
        self.threshold = -np.inf

    def compute(self, rows: Indices) -> bool:
        """Compute the quantiles of songs that may reach the threshold; return if there are any."""
        rows = np.sort(rows[~np.isin(rows, self.rows)])
        if not len(rows):
            return True
        given = Given.of(self.belief, self.songs, rows)
        if self.threshold > -np.inf:
            left = np.flatnonzero(may_reach(self.belief, given, self.level, self.threshold))
            rows, given = rows[left], given.at(left)
        values = quantiles(self.belief, given, self.level) if len(rows) else np.empty(0)
        if values is None:
            return False
        self.rows = np.concatenate([self.rows, rows])
        self.values = np.concatenate([self.values, values])
        if len(self.values) >= self.count:
            lowest = float(np.partition(self.values, -self.count)[-self.count])
            self.threshold = lowest - 4 * EQUAL * abs(lowest)
        return True

    @property
    def has_moments(self) -> bool:
        """Whether means and variances exist, and the grid is good enough for them."""
        return self.belief.is_converged and self.belief.freedom > 2

    @cached_property
    def _noise(self) -> Vector:
        """What each node adds to a variance, per variance at the node of the metric: (G,)."""
        belief, growth = self.belief, self.known.metric.growth(self.belief.log_recovery_times)
        return belief.weights * belief.rates * growth**2 / (belief.shape - 1)

    @property
    def _reach(self) -> float:
        """How many standard deviations above the mean a quantile is at most."""
        return float(np.sqrt(self.level / (1 - self.level)))

    def moments(self, table: SongTable, rows: Indices) -> tuple[Vector, Vector]:
        """Return the mean of songs if never heard, and what no quantile is above: (n,) each."""
        belief, weights = self.belief, self.belief.weights
        middle = weights @ belief.means
        away = np.sqrt(weights)[:, np.newaxis] * (belief.means - middle)
        # Two directions, times what the means differ by along them; no other is wider than `rest`.
        squares, turns = np.linalg.eigh(away @ away.T)
        rest = float(np.sqrt(max(squares[-3], 0.0) + _OF_SQUARES * squares[-1]))
        basis = np.concatenate([middle[np.newaxis], turns[:, -2:].T @ away])
        norms = table.norms[rows].astype(np.float64)
        products = table.single[rows] @ basis.astype(np.float32).T
        longest = float(np.sqrt(np.einsum("kp,kp->k", basis, basis)).max())
        slack = product_rounding(len(middle)) * longest * norms
        across = np.abs(products[:, 1:]) + slack[:, np.newaxis]
        between = np.sqrt(np.square(across).sum(axis=1) + np.square(rest * norms))
        own, apart = belief.effects.pooled(weights, self.songs.groups_of(rows))
        within = self._noise.sum() * self.known.at(rows)
        deviations = np.sqrt(within + (between + apart) ** 2)
        means = products[:, 0] + slack + own
        upper = means + self._reach * deviations * (1 + _OF_MOMENTS)
        return means, upper + _ROUNDING * np.abs(means)

    def may_reach(self, rows: Indices) -> AnyArray:
        """Return whether a song may have as much above the threshold as its quantile has: (n,)."""
        if not self.threshold > -np.inf:
            return np.ones(len(rows), dtype=np.bool_)
        features, groups = self.songs.features_of(rows), self.songs.groups_of(rows)
        content = self.belief.contents_of(features, groups)
        elapsed = self.songs.elapsed_of(rows)[:, np.newaxis]
        curves = np.asarray(novelty(elapsed, self.belief.recovery_times))
        variances = self.known.at(rows)
        reached = self._upper(curves * content, curves, variances) >= self.threshold
        left = np.flatnonzero(reached)
        content, curves = content[left], curves[left]
        locations, scales = self._in_cells(content, curves, variances[left])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            away = (self.threshold - locations) / scales
        beyond = StudentTail.of(self.belief.freedom).above(np.where(away > 0, away, 0.0))
        above = np.where(away > 0, beyond, 1.0) @ self.cells.shares
        reached[left] = above >= (1 - self.level) * (1 - _ROUNDING)
        return reached

    def _upper(self, locations: Matrix, curves: Matrix, variances: Vector) -> Vector:
        """Return what no quantile is above, by mean and variance alone: (n,)."""
        if not self.has_moments:
            return np.full(len(variances), np.inf)
        means = locations @ self.belief.weights
        between = np.square(locations - means[:, np.newaxis]) @ self.belief.weights
        deviations = np.sqrt(between + np.square(curves) @ self._noise * variances)
        upper = means + self._reach * deviations * (1 + _OF_MOMENTS)
        return np.asarray(upper + _ROUNDING * np.abs(means))

    def _in_cells(
        self, content: Matrix, curves: Matrix, variances: Vector
    ) -> tuple[Matrix, Matrix]:
        """Return locations and scales at most, on any grid that a mixture is computed on: (n, C).

        Within a cell u falls as s grows, and the content is a straight line plus what an
        interpolant bends by.
        """
        cells, size = self.cells, content.shape[1]
        steps, sizes = np.abs(np.diff(content, axis=1)), np.abs(content)
        bends = np.abs(np.diff(content, 2, axis=1)) @ interpolation_bounds.bend(size).T
        highest = np.maximum(content[:, :-1], content[:, 1:]) + bends
        highest += _ROUNDING * sizes.max(axis=1, keepdims=True)
        locations = highest * np.where(highest > 0, curves[:, :-1], curves[:, 1:])
        growth = cells.metric.growth(self.belief.log_recovery_times[1:])
        scales = curves[:, :-1] * np.sqrt(variances)[:, np.newaxis] * (cells.noise * growth)
        # On the finest grid a component may be widened to its distance from its neighbours.
        ratio = constants_of(self.belief.grid, MONTH).step_ratios
        ratio = np.where(curves[:, :-1] < 1, ratio, 1.0)
        longest = np.maximum(sizes[:, :-1], sizes[:, 1:]) + bends
        fine = steps @ interpolation_bounds.slope(size).T / finest(size)
        widened = with_neighbours(curves[:, :-1] * (ratio * fine + (ratio - 1) * longest))
        return locations, np.maximum(scales, WIDENED * widened)
