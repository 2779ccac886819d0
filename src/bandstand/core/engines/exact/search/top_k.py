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

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import stdtrit

from bandstand.core.engines.exact.posterior.song_mixtures import (
    Given,
    may_reach,
    quantiles,
)
from bandstand.core.engines.exact.search.candidate_list import (
    CandidateList,
    Drift,
    Push,
)
from bandstand.core.engines.exact.search.mixture_cells import Metric, MixtureCells, log_novelty
from bandstand.core.engines.exact.search.screen import Groups, Screen
from bandstand.core.engines.exact.search.shortlist import Shortlist, TightBounds
from bandstand.core.model.candidates import EQUAL, best_of
from bandstand.core.model.novelty import novelty
from bandstand.core.model.student_mixture import StudentTail
from bandstand.errors import ConvergenceError

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.belief import ExactBelief
    from bandstand.core.engines.exact.search.candidate_list import SearchCache
    from bandstand.core.model.candidates import CandidateSet
    from bandstand.core.model.history import Songs
    from bandstand.types import AnyArray, Indices, Vector

# Fewer songs are computed one by one.
_EXACT_BELOW_ROWS: Final = 64
# Songs of which the most promising one is taken as typical, where nothing was found before.
_SAMPLE: Final = 1_024
# Songs that tell about where the largest bounds begin.
_CUT_SAMPLE: Final = 16_384
# Songs bounded closely at a time, at first and later.
_FIRST_BOUNDED: Final = 128
_BOUNDED_PLANNED: Final = 8_192
_CHUNK: Final = 2_048
# Songs computed at a time, at first and later.
_FIRST_EXACT: Final = 16
_EXACT_CHUNK: Final = 512
# Of tails, and of bounds in single precision.
_ROUNDING: Final = 1e-7
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
    if (
        count <= 0
        or belief.freedom <= 1
        or allowed.upper_count <= max(_EXACT_BELOW_ROWS, 4 * count)
    ):
        return None
    if not abs(float(stdtrit(belief.freedom, level))) < _WIDEST:
        return None
    query = _Query(belief, songs, cache, level, count, allowed)
    if not (query.answer_from_shortlist() or query.answer_from_list() or query.answer_from_all()):
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
    ) -> None:
        self.belief, self.songs, self.cache, self.level = belief, songs, cache, level
        self.count, self.allowed = count, allowed
        self.tail = (1 - level) * (1 - _ROUNDING)
        self.rows: Indices = _NO_ROWS
        self.values: Vector = np.empty(0)
        self.threshold = -np.inf
        self._found: Shortlist | None = None  # whose bounds hold for this question
        # After a planned play there mostly are more, for which the threshold falls.
        self._first_bounded = _BOUNDED_PLANNED if belief.has_planned_plays else _FIRST_BOUNDED

    def answer_from_shortlist(self) -> bool:
        """Compare songs that are known from the question before; return whether that will do."""
        known = self.cache.shortlist
        if known is None or not known.suits(self.belief, self.songs, self.allowed, self.tail):
            return False
        self._found = known
        self._evaluate(known, np.arange(len(known.places)))
        self._compare(known)
        return known.outside < self.threshold and self.threshold > 0

    def answer_from_list(self) -> bool:
        """Compare the candidates; return whether no other song could be returned."""
        candidates = self.cache.candidates
        longest = self.songs.longest
        if candidates is None or not candidates.suits(self.belief, longest, self.allowed):
            return False
        cells = MixtureCells(self.belief, longest, candidates.metric)
        found = self._found
        if found is None:
            close = TightBounds.of(cells, self._typical(None), self.tail)
            if close is None:
                return False
            found = Shortlist(self.belief, close, self.allowed)
        drift = candidates.drift(cells, found.bounds.tail)
        upper, outside = candidates.upper(drift), candidates.outside(drift)
        upper[np.isin(candidates.rows, found.rows)] = -np.inf
        if not outside < upper.max(initial=-np.inf):
            return False
        first = _highest(upper, self._first_bounded)
        self._bound(found, candidates.rows[first])
        if not outside < self.threshold:
            return False
        self._bound_others(found, candidates.rows, upper, first, outside)
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
        close = TightBounds.of(cells, typical, self.tail)
        groups = None if close is None else Groups.of(cells, typical, close.tail)
        if groups is None or close is None:
            return False
        noise = float(
            np.sqrt(self.belief.rates[np.argmax(self.belief.weights)] / self.belief.shape)
        )
        room = Push.room(noise)
        screen = Screen.of(groups.knots, groups.reaches, metric.form, room, metric.own)
        if screen is None:
            return False
        self.cache.passes += 1
        every = np.arange(len(self.songs)) if rows is None else rows
        push = Push.of(metric, typical, noise)
        bounds = screen.bounds(self.cache.table, rows, direction=push.direction)
        found = Shortlist(self.belief, close, allowed)
        first = _highest(bounds.upper, self._first_bounded)
        self._bound(found, every[first])
        self.cache.candidates = None
        if self.threshold > -np.inf:
            made = CandidateList.of(
                cells, groups, screen, push, allowed, rows, bounds, self.threshold, self.cache
            )
            still = Drift(0.0, 0.0, 0.0)
            if made.outside(still) < self.threshold:
                self.cache.candidates = made
                first = np.flatnonzero(np.isin(made.rows, every[first]))
                self._bound_others(found, made.rows, made.upper(still), first, made.outside(still))
                return True
        upper = screen.unit * bounds.upper.astype(np.float64)
        self._bound_others(found, every, upper + np.abs(upper) * _ROUNDING, first, -np.inf)
        return True

    def _typical(self, rows: Indices | None) -> Vector:
        """Return the features of the best song so far, or of a sample."""
        best = self.cache.best
        if len(self.rows):
            best = int(self.rows[np.argmax(self.values)])
        elif best is None or rows is not None:
            count = len(self.songs) if rows is None else len(rows)
            some = np.linspace(0, count - 1, min(count, _SAMPLE), dtype=np.intp)
            some = some if rows is None else rows[some]
            means = self.songs.features_of(some) @ (self.belief.weights @ self.belief.means)
            best = int(some[np.argmax(means)])
        features: Vector = self.songs.features_of([best])[0]
        return features

    def _bound(self, found: Shortlist, rows: Indices) -> None:
        """Bound songs closely, and compute those that could be returned."""
        found.add(np.sort(rows), self.songs)
        self._compare(found)

    def _bound_others(
        self, found: Shortlist, rows: Indices, upper: Vector, first: Indices, outside: float
    ) -> None:
        """Bound all of `rows` that could be returned, besides the first; keep what was found."""
        upper[first] = -np.inf
        left = np.flatnonzero(upper >= self.threshold)
        left = left[np.argsort(-upper[left])]
        for start in range(0, len(left), _CHUNK):
            some = left[start : start + _CHUNK]
            some = some[upper[some] >= self.threshold]
            if not len(some):
                break
            self._bound(found, rows[some])
            upper[some] = -np.inf
        if self.threshold <= 0:  # bounds of songs never heard say nothing of others
            heard = np.setdiff1d(self.songs.heard, found.rows)
            found.add_bounded(heard, np.full(len(heard), np.inf), np.zeros(len(heard)))
            self._compare(found)
        found.outside = max(outside, float(upper.max(initial=-np.inf)))
        self.cache.shortlist = found

    def _compare(self, found: Shortlist) -> None:
        """Compute songs until none that is left could be returned."""
        size = _FIRST_EXACT
        while len(places := found.unknown(self.threshold, size, self.allowed)):
            self._evaluate(found, found.compute(places, self.belief, self.songs))
            size = min(4 * size, _EXACT_CHUNK)

    def _evaluate(self, found: Shortlist, known: Indices) -> None:
        """Compute quantiles of songs, but for those that are seen to be below the threshold.

        Whether enough of a mixture lies above a value is known at once, and its quantile only
        after several such looks.
        """
        places = found.places[known]
        rows, upper = found.rows[places], found.upper[places]
        is_open = (upper >= self.threshold) & ~np.isin(rows, self.rows)
        is_open &= self.allowed.contains(rows)
        if not is_open.any():
            return
        rows, (given, cells) = rows[is_open], found.given(known[is_open], self.songs)
        is_left = np.ones(len(rows), dtype=np.bool_)
        if len(self.values) < self.count:
            value = found.value if found.value > -np.inf else float(upper.max())
            first = np.argsort(-cells.above(value), kind="stable")[: self.count]
            self._take(rows[first], given.at(first))
            is_left[first] = False
        if self.threshold > -np.inf:
            is_left &= cells.above(self.threshold) >= self.tail
        left = np.flatnonzero(is_left)
        if len(left):
            given = given.at(left)
            may = may_reach(self.belief, given, self.level, self.threshold)
            self._take(rows[left[may]], given.at(may))
        found.value = self.threshold

    def _take(self, rows: Indices, given: Given) -> None:
        """Compute the quantiles of songs."""
        if not len(rows):
            return
        values = quantiles(self.belief, given, self.level)
        if values is None:
            msg = f"the quantile of level {self.level} must exist, got none"
            raise ConvergenceError(msg)
        self.cache.evaluated += len(rows)
        self.rows = np.concatenate([self.rows, rows])
        self.values = np.concatenate([self.values, values])
        self.cache.best = int(self.rows[np.argmax(self.values)])
        if len(self.values) >= self.count:
            lowest = float(np.partition(self.values, -self.count)[-self.count])
            self.threshold = lowest - 4 * EQUAL * abs(lowest)


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
    shortest = float(belief.history.elapsed.min(initial=np.inf))
    recovery = log_novelty(shortest, belief.log_recovery_times)
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
    size = min(size, len(values))
    return np.argpartition(values, len(values) - size)[len(values) - size :]


def _base_rows(allowed: CandidateSet) -> Indices:
    """Return the rows that are marked or listed; what is tested besides differs by question."""
    listed, mask = allowed.listed, allowed.mask
    if listed is not None:
        return listed if mask is None else np.asarray(listed[mask[listed]])
    return np.arange(allowed.count) if mask is None else np.flatnonzero(mask)
