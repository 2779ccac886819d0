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
from bandstand.core.model.candidates import EQUAL, best_of, is_among
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
_FEW: Final = 64
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
    if count <= 0 or belief.freedom <= 1 or allowed.upper_count <= max(_FEW, 4 * count):
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
        self._reach = float(stdtrit(belief.freedom, level))
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
        found = self._shortlist(cells, self._typical(None))
        if found is None:
            return False
        drift = candidates.drift(cells, found.bounds.tail)
        upper, outside = candidates.upper(drift), candidates.outside(drift)
        return self._bound(found, candidates.rows, upper, outside)

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
        found = self._shortlist(cells, typical)
        groups = None if found is None else Groups.of(cells, typical, found.bounds.tail)
        if groups is None or found is None:
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
        self.cache.candidates = None
        if not len(self.values):
            found.add(every[_highest(bounds.upper, self._first_bounded)], self.songs)
            self._compare_best(found, max(_FIRST_EXACT, self.count))
        if self.threshold > -np.inf:
            made = CandidateList.of(
                cells, groups, screen, push, allowed, rows, bounds, self.threshold, self.cache
            )
            still = Drift(0.0, 0.0, 0.0)
            if made.outside(still) < self.threshold:
                self.cache.candidates = made
                return self._bound(found, made.rows, made.upper(still), made.outside(still))
        upper = screen.unit * bounds.upper.astype(np.float64)
        return self._bound(found, every, upper + np.abs(upper) * _ROUNDING, -np.inf)

    def _shortlist(self, cells: MixtureCells, typical: Vector) -> Shortlist | None:
        """Return the songs bounded so far; None where there is no bound."""
        if self._found is None:
            close = TightBounds.of(cells, typical, self.tail)
            if close is not None:
                self._found = Shortlist(self.belief, close, self.allowed)
        return self._found

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

    def _bound(self, found: Shortlist, rows: Indices, upper: Vector, outside: float) -> bool:
        """Bound all of `rows`, rising, that could be returned; keep what was found.

        Return whether no song outside of them could be returned.
        """
        upper[np.searchsorted(rows, found.rows[is_among(found.rows, rows)])] = -np.inf
        size, are_others = self._first_bounded, outside != -np.inf
        if are_others and not outside < max(self.threshold, float(upper.max(initial=-np.inf))):
            return False
        while len(left := np.flatnonzero((upper >= self.threshold) & (upper > -np.inf))):
            some = left[_highest(upper[left], size)]
            found.add(np.sort(rows[some]), self.songs)
            self._compare_best(found, max(_FIRST_EXACT, self.count))
            upper[some], size = -np.inf, _CHUNK
            if are_others and not outside < self.threshold:
                return False
        if self.threshold <= 0:  # bounds of songs never heard say nothing of others
            heard = np.setdiff1d(self.songs.heard, found.rows)
            found.add_bounded(heard, np.full(len(heard), np.inf), np.zeros(len(heard)))
        self._compare(found)
        found.outside = max(outside, float(upper.max(initial=-np.inf)))
        self.cache.shortlist = found
        return True

    def _compare(self, found: Shortlist) -> None:
        """Compute songs until none that is left could be returned."""
        size = 4 * _FIRST_EXACT
        while self._compare_best(found, size):
            size = min(4 * size, _EXACT_CHUNK)

    def _compare_best(self, found: Shortlist, size: int) -> bool:
        """Compute the most promising songs that could be returned; return if there are any."""
        places = found.unknown(self.threshold, size, self.allowed)
        if len(places):
            self._evaluate(found, found.compute(places, self.belief, self.songs))
        return len(places) > 0

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
        if len(self.values) < self.count:
            first = np.argsort(-cells.about(self._reach), kind="stable")[: self.count]
            self._take(rows[first], given.at(first))
        may = (cells.above(self.threshold) >= self.tail) & ~np.isin(rows, self.rows)
        left = np.flatnonzero(may)
        if len(left):
            given = given.at(left)
            may = may_reach(self.belief, given, self.level, self.threshold)
            self._take(rows[left[may]], given.at(may))

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
