"""The songs with the largest exact quantiles, by branch and bound.

    all songs ── screen ──▶ those that could be chosen ── closer bounds ──▶ exact quantiles of few
                  └─ a list of candidates with a certificate, which mostly spares the next pass

`threshold` is what a song must reach to be returned, once as many as are wanted have been computed.
A list answers a question if no song outside of it reaches that.

Heard songs. u(t; s)/u(T; s) falls as s grows, so a component of a song heard lately has at most a
fraction of what the same song never heard has, or 0 if that is negative. Where the threshold is
positive, what holds for the songs outside therefore holds for those that were heard as well;
otherwise all of them are looked at one by one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import stdtrit

from bandstand.core.engines.exact.posterior.song_mixtures import Given, may_reach, quantiles
from bandstand.core.engines.exact.search.candidate_list import CandidateList, Push
from bandstand.core.engines.exact.search.mixture_cells import Metric, MixtureCells, log_novelty
from bandstand.core.engines.exact.search.screen import Groups, Screen
from bandstand.core.engines.exact.search.tail_budget import tail_budget
from bandstand.core.model.candidates import EQUAL, best_of
from bandstand.core.model.novelty import novelty
from bandstand.core.model.student_mixture import StudentTail
from bandstand.errors import ConvergenceError

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.belief import ExactBelief
    from bandstand.core.engines.exact.search.candidate_list import SearchCache
    from bandstand.core.engines.exact.search.screen import Bounded
    from bandstand.core.engines.song_table import SingleMatrix
    from bandstand.core.model.candidates import CandidateSet
    from bandstand.core.model.history import Songs
    from bandstand.types import AnyArray, Indices, Matrix, Vector

# Fewer songs are computed one by one.
_FEW: Final = 64
# Songs of which the most promising one is taken as typical, where no list says more.
_SAMPLE: Final = 1_024
# Songs computed besides those wanted before others are compared with them, and of how many.
_FIRST: Final = 3
_FIRST_BOUNDED: Final = 1_024
# Songs that tell about where the largest values begin.
_CUT_SAMPLE: Final = 16_384
# Songs bounded closely at a time, and computed exactly at a time, at first and later.
_CHUNK: Final = 2_048
_FIRST_EXACT: Final = 16
_EXACT_CHUNK: Final = 512
# More songs than these are bounded in single precision first.
_MANY: Final = 512
# Of tails and of products in double precision.
_ROUNDING: Final = 1e-7
_PRODUCT_ROUNDING: Final = 1e-9
_WIDEST: Final = 1e100
# Nodes tried as the one that a metric is of: beyond them lies this multiple of the tail.
_TRIED: Final = np.array([3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001])
_TINY: Final = 1e-300
_LARGEST_LOGARITHM: Final = 300.0
_NO_ROWS: Final = np.empty(0, dtype=np.intp)


@np.errstate(under="ignore")
def search(
    belief: ExactBelief,
    songs: Songs,
    cache: SearchCache,
    level: float,
    count: int,
    allowed: CandidateSet,
) -> Indices | None:
    """Return the rows of the `count` largest quantiles among `allowed`; None if not worth it."""
    if count <= 0 or belief.freedom <= 1 or allowed.upper_count <= max(_FEW, 4 * count):
        return None
    reach = float(stdtrit(belief.freedom, level))
    if not abs(reach) < _WIDEST:
        return None
    query = _Query(belief, songs, cache, level, count, allowed, reach)
    if not (query.answer_from_list() or query.answer_from_all()):
        return None
    return best_of(songs, query.rows, query.values, count)


class _Query:
    """One question, and what was computed for it."""

    def __init__(
        self,
        belief: ExactBelief,
        songs: Songs,
        cache: SearchCache,
        level: float,
        count: int,
        allowed: CandidateSet,
        reach: float,
    ) -> None:
        self.belief, self.songs, self.cache, self.level = belief, songs, cache, level
        self.count, self.allowed, self.reach = count, allowed, reach
        self.tail = (1 - level) * (1 - _ROUNDING)
        self.rows: Indices = _NO_ROWS
        self.values: Vector = np.empty(0)
        self.threshold = -np.inf

    def answer_from_list(self) -> bool:
        """Compare the candidates; return whether no other song could be returned."""
        candidates = self.cache.candidates
        longest = self.songs.longest
        if candidates is None or not candidates.suits(self.belief, longest, self.allowed):
            return False
        cells = MixtureCells(self.belief, longest, candidates.metric)
        drift = candidates.drift(cells, self.tail)
        upper = candidates.upper(drift)
        self._take_first(candidates.rows, upper)
        if not candidates.outside(drift) < self.threshold:
            return False
        close = self._tight_bounds(cells, self._typical(None))
        if close is None:
            return False
        self._take(candidates.rows, upper, close)
        return True

    def answer_from_all(self) -> bool:
        """Bound every song once; return whether that was possible."""
        allowed, longest = self.allowed, self.songs.longest
        is_whole = allowed.mask is None and allowed.listed is None
        rows = None if is_whole else _base_rows(allowed)
        if rows is not None and not len(rows):
            return False
        typical = self._typical(rows)
        metric = _metric(self, typical)
        if metric is None:
            return False
        cells = MixtureCells(self.belief, longest, metric)
        groups = Groups.of(cells, typical, self.tail)
        close = self._tight_bounds(cells, typical)
        if groups is None or close is None:
            return False
        room = Push.room(self._noise)
        screen = Screen.of(groups.knots, groups.reaches, metric.form, room, metric.own)
        if screen is None:
            return False
        self.cache.passes += 1
        bounds = screen.bounds(self.cache.table, rows)
        every = np.arange(len(bounds.upper)) if rows is None else rows
        self._take_first(every, bounds.upper)
        near = self._near(screen, bounds)
        if len(near) > _MANY and not screen.form.is_tight:
            self._make_closer(screen, bounds, every, near)
            near = near[self._near(screen, bounds.at(near))]
        upper = screen.unit * bounds.upper[near].astype(np.float64)
        self._take(every[near], upper * (1 + np.sign(upper) * _ROUNDING), close)
        self.cache.candidates = None
        if len(every) >= self.cache.listed_from and self.threshold > -np.inf:
            push = Push.of(metric, self._typical(rows), self._noise)
            self.cache.candidates = CandidateList.of(
                cells, groups, screen, push, allowed, rows, bounds, self.threshold, self.cache
            )
        return True

    def _tight_bounds(self, cells: MixtureCells, typical: Vector) -> TightBounds | None:
        """Return bounds of single songs; planned plays make them closer."""
        if self.belief.has_planned_plays:
            times, here = self.belief.log_recovery_times, cells.metric.log_time
            node = min(int(np.searchsorted(times, here)), len(times) - 1)
            metric = Metric.of(self.belief, node, planned=True)
            cells = cells if metric is None else MixtureCells(self.belief, cells.longest, metric)
        return TightBounds.of(cells, self.songs, typical, self.tail)

    def _near(self, screen: Screen, bounds: Bounded) -> Indices:
        """Return the places of songs that could be returned."""
        if self.threshold <= 0:
            return np.arange(len(bounds.upper))
        least = self.threshold / screen.unit * (1 - _ROUNDING)
        return np.flatnonzero(bounds.upper >= np.float32(least))

    def _make_closer(self, screen: Screen, bounds: Bounded, rows: Indices, places: Indices) -> None:
        """Make bounds closer at some places."""
        found = screen.bounds(self.cache.table, rows[places], closer=True).least(bounds.at(places))
        for known, new in zip(bounds, found, strict=True):
            known[places] = new

    def _typical(self, rows: Indices | None) -> Vector:
        """Return the features of the best song so far, or of a sample."""
        some, values = self.rows, self.values
        if not len(some):
            count = len(self.songs) if rows is None else len(rows)
            some = np.linspace(0, count - 1, min(count, _SAMPLE), dtype=np.intp)
            some = some if rows is None else rows[some]
            values = self._estimates(some)
        features: Vector = self.songs.features_of([int(some[np.argmax(values)])])[0]
        return features

    def _take_first(self, rows: Indices, upper: AnyArray) -> None:
        """Compute a few of the songs with the highest bounds, so that most others fall below."""
        size, some = min(_FIRST_BOUNDED + 2 * self.count, len(rows)), rows[:0]
        while size:
            top = _highest(upper, size)
            some = rows[top[self.allowed.contains(rows[top])]]
            if len(some) >= self.count + _FIRST or len(top) == len(rows):
                break
            size = min(8 * size, len(rows))
        if len(some):
            first = np.argsort(-self._estimates(some))[: self.count + _FIRST]
            self._evaluate(np.sort(some[first]))

    @cached_property
    def _heaviest(self) -> int:
        return int(np.argmax(self.belief.weights))

    @cached_property
    def _noise(self) -> float:
        return float(np.sqrt(self.belief.rates[self._heaviest] / self.belief.shape))

    @cached_property
    def _covariance(self) -> SingleMatrix:
        stack = self.belief.covariances_of([self._heaviest])
        return np.asarray(stack[0], dtype=np.float32)

    def _estimates(self, rows: Indices) -> Vector:
        """Return about the quantile of each song; only the order of computing depends on it."""
        belief, features = self.belief, self.cache.table.single[rows]
        variances = np.einsum("np,np->n", features @ self._covariance, features)
        mean = (belief.weights @ belief.means).astype(np.float32)
        reach = np.float32(self.reach * self._noise)
        variances = np.maximum(variances, 0) + np.float32(belief.prior.effects.total)
        estimates = features @ mean + reach * np.sqrt(variances)
        elapsed = self.songs.elapsed_of(rows)
        heard = np.flatnonzero(elapsed < self.songs.longest)
        curves = novelty(elapsed[heard, np.newaxis], belief.recovery_times)
        estimates[heard] *= curves @ belief.weights
        return np.asarray(estimates)

    def _take(self, rows: Indices, upper: Vector, close: TightBounds) -> None:
        """Compute those songs that could be returned."""
        if self.threshold <= 0:  # bounds of songs never heard say nothing of others
            heard = np.setdiff1d(self.songs.heard, rows)
            rows = np.concatenate([rows, heard])
            upper = np.concatenate([upper, np.full(len(heard), np.inf)])
        places = np.flatnonzero(np.maximum(upper, 0.0) >= self.threshold)
        places = places[np.argsort(-upper[places])]
        for start in range(0, len(places), _CHUNK):
            some = places[start : start + _CHUNK]
            some = some[np.maximum(upper[some], 0.0) >= self.threshold]
            some = np.sort(rows[some])
            some = some[self.allowed.contains(some)]
            if len(some):
                self._take_by(some, close.upper(some))

    def _take_by(self, rows: Indices, upper: Vector) -> None:
        order, start, size = np.argsort(-upper), 0, _FIRST_EXACT
        while start < len(order) and upper[order[start]] >= self.threshold:
            part = order[start : start + size]
            self._evaluate(np.sort(rows[part[upper[part] >= self.threshold]]))
            start, size = start + size, min(4 * size, _EXACT_CHUNK)

    def _evaluate(self, rows: Indices) -> None:
        """Compute quantiles, of several songs only those that are not below the threshold.

        Whether enough of a mixture lies above a value is known at once, and its quantile only
        after several such looks.
        """
        rows = rows[~np.isin(rows, self.rows)]
        if not len(rows):
            return
        given = Given.of(self.belief, self.songs, rows)
        if len(rows) > 1 and self.threshold > -np.inf:
            left = np.flatnonzero(may_reach(self.belief, given, self.level, self.threshold))
            if not len(left):
                return
            rows, given = rows[left], given.at(left)
        values = quantiles(self.belief, given, self.level)
        if values is None:
            msg = f"the quantile of level {self.level} must exist, got none"
            raise ConvergenceError(msg)
        self.cache.evaluated += len(rows)
        self.rows = np.concatenate([self.rows, rows])
        self.values = np.concatenate([self.values, values])
        if len(self.values) >= self.count:
            lowest = float(np.partition(self.values, -self.count)[-self.count])
            self.threshold = lowest - 4 * EQUAL * abs(lowest)


class TightBounds:
    """Bounds of some songs in double precision, cell by cell, each with its own elapsed time."""

    def __init__(self, cells: MixtureCells, songs: Songs, first: int, reaches: Vector) -> None:
        self.cells, self.songs = cells, songs
        places = np.flatnonzero(reaches > -np.inf)
        self.live = live = first + places
        self.reaches = cells.bends[live] + reaches[places] * cells.widths[live]
        nodes = slice(int(self.live[0]), int(self.live[-1]) + 2)
        self._centres = cells.centres[nodes]
        self._places = self.live - nodes.start
        lengths = np.sqrt(np.einsum("gp,gp->g", self._centres, self._centres))
        self._rounding = _PRODUCT_ROUNDING * float(lengths.max())

    @classmethod
    def of(
        cls, cells: MixtureCells, songs: Songs, typical: Vector, tail: float
    ) -> TightBounds | None:
        """Return bounds with the tail budget of a typical song; None where there is none."""
        wide = cells.metric.width(typical)
        along = cells.centres @ typical
        locations = np.maximum(along[:-1], along[1:]) + cells.bends * wide
        inside, left_out = cells.inside(tail)
        budget = tail_budget(
            cells.shares[inside],
            locations[inside],
            cells.widths[inside] * wide,
            tail - left_out,
            cells.belief.freedom,
        )
        return None if budget is None else cls(cells, songs, inside.start, budget.reaches)

    def upper(self, rows: Indices) -> Vector:
        """Return what no quantile of the songs in `rows` exceeds: (n,)."""
        features, elapsed = self.songs.features_of(rows), self.songs.elapsed_of(rows)
        halves = features @ self.cells.metric.root
        squares = np.einsum("np,np->n", halves, halves) + self.cells.metric.own
        wide = np.sqrt(squares) * (1 + _PRODUCT_ROUNDING)
        along = features @ self._centres.T
        most = np.maximum(along[:, :-1], along[:, 1:])[:, self._places]
        most += self.reaches * wide[:, np.newaxis]
        heard = np.flatnonzero(elapsed < self.songs.longest)
        if len(heard):
            most[heard] = np.maximum(most[heard], 0.0) * self._recovered(elapsed[heard])
        norms = np.sqrt(np.einsum("np,np->n", features, features))
        upper = most.max(axis=1) + self._rounding * norms
        return np.asarray(upper + _PRODUCT_ROUNDING * np.abs(upper))

    def _recovered(self, elapsed: Vector) -> Matrix:
        """Return u(t; s)/u(T; s) at most, in each cell: at the node before it (n, C)."""
        nodes = np.maximum(self.live - 1, 0)
        times = self.cells.belief.recovery_times[nodes]
        return np.asarray(
            novelty(elapsed[:, np.newaxis], times) / self.cells.curves[nodes] * (1 + 1e-9)
        )


def _metric(query: _Query, typical: Vector) -> Metric | None:
    """Return the metric of the node whose covariance bounds the others with the least loss.

    The loss is measured on a song that is about as good as any: by what its mixture, with the
    scales that the bound leaves it, has above its quantile.
    """
    belief, longest = query.belief, query.songs.longest
    features = typical[np.newaxis]
    content, variances = features @ belief.means.T, belief.variances_of(features)
    never = np.array([longest])
    value = quantiles(belief, Given(content, variances, never), query.level)
    if value is None:
        return None
    weights, deviations = belief.weights, np.sqrt(np.maximum(variances[0], _TINY))
    curves = novelty(longest, belief.recovery_times)
    beyond = np.cumsum(weights[::-1])[::-1]
    tried = np.unique(np.searchsorted(-beyond, -query.tail * _TRIED))
    recovery = log_novelty(belief.shortest, belief.log_recovery_times)
    growth = np.exp(np.clip(recovery[tried, np.newaxis] - recovery, 0.0, _LARGEST_LOGARITHM))
    scales = curves * np.sqrt(belief.rates / belief.shape)
    scales = scales * growth * deviations[tried, np.newaxis]
    away = np.maximum(value - curves * content, 0.0) / scales
    mass = StudentTail.of(belief.freedom).above(away) @ weights
    return Metric.of(belief, int(tried[int(np.argmin(mass))]))


def _highest(values: AnyArray, size: int) -> Indices:
    """Return the places of at least `size` of the largest values; of many, a sample tells where."""
    sample = values[:: max(len(values) // _CUT_SAMPLE, 1)]
    place = 2 * size * len(sample) // len(values) + 4
    if place < len(sample) // 4:
        found = np.flatnonzero(values >= np.partition(sample, -place)[-place])
        if size <= len(found) <= 64 * size:
            return found[np.argpartition(values[found], -size)[-size:]]
    return np.argpartition(values, len(values) - size)[len(values) - size :]


def _base_rows(allowed: CandidateSet) -> Indices:
    """Return the rows that are marked or listed; what is tested besides differs by question."""
    listed, mask = allowed.listed, allowed.mask
    if listed is not None:
        return listed if mask is None else np.asarray(listed[mask[listed]])
    return np.arange(allowed.count) if mask is None else np.flatnonzero(mask)
