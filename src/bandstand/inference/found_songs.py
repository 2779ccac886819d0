"""The quantiles that were computed for one question, and which songs they make hopeless.

Of the songs that are looked at, few are computed: bounds from a close look exclude the others, as
soon as as many have been computed as are wanted. `threshold` is what a song must reach then.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import ConvergenceError
from bandstand.inference.close_look import CloseLook
from bandstand.inference.equal_songs import EQUAL, best_of
from bandstand.inference.known_songs import Known
from bandstand.model.allowed import is_among

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.inference.close_look import Some
    from bandstand.inference.exact_outline import ExactView
    from bandstand.inference.exact_prediction import ExactPrediction
    from bandstand.inference.search_memory import SearchMemory
    from bandstand.model.allowed import Allowed
    from bandstand.types import AnyArray, Indices, Matrix, Vector

    # x'm and x'Λ⁻¹x of the songs at some places of a list, and the minutes since they were heard.
    Given = Callable[[Indices], tuple[Matrix, Matrix, Vector]]

# As many more songs than are wanted are computed before the others are compared with them.
FIRST_LOOK: Final = 3
# Songs looked at, and songs computed exactly, at a time.
_CHUNK: Final = 2_048
_CLOSER_CHUNK: Final = 64
# So many songs at a time become known.
_MOST_NEW: Final = 32
_NO_ROWS: Final = np.empty(0, dtype=np.intp)


class FoundSongs:
    """What was computed so far, for the `count` best songs of those allowed."""

    def __init__(
        self,
        prediction: ExactPrediction,
        memory: SearchMemory,
        view: ExactView,
        count: int,
        allowed: Allowed,
    ) -> None:
        self.prediction, self.memory, self.view = prediction, memory, view
        self.count, self.allowed, self.songs = count, allowed, prediction.songs
        self.rows: Indices = _NO_ROWS
        self.values: Vector = np.empty(0)
        self.threshold = -np.inf  # what a song must reach to be returned, once there are enough
        self.settled: Indices = _NO_ROWS  # rising; none of them needs another look
        self._may_join = False  # those known, since they have followed this belief

    @cached_property
    def close(self) -> CloseLook:
        """What bounds some songs closely."""
        return CloseLook(self.view, self.songs)

    def look_at_known(self) -> None:
        """Look at the songs that could be chosen lately, of which most is known already."""
        known = self.memory.known
        known.follow(self.view.belief)
        self._may_join = not self.view.belief.is_in_thought
        places = np.flatnonzero(self.allowed.holds(known.rows))
        if len(places) > self.count:
            known.promise[places] = self.settle_known(known.at(places), known.steps)
            self.settled = known.rows[places]

    def look(self, rows: Indices) -> None:
        """Compute the quantiles of those songs of `rows`, all allowed, that could be returned."""
        if len(self.settled):
            rows = rows[~is_among(rows, self.settled)]
        for start in range(0, len(rows), _CHUNK):
            some = rows[start : start + _CHUNK]
            if len(some) <= _MOST_NEW and self._may_join:
                self._get_to_know(some)
            else:
                self._settle(some, self.close.look(some), partial(self._given_of, some))

    def best(self) -> Indices:
        """Return the best of what was computed; equal songs by row, the smallest first."""
        return best_of(self.songs, self.rows, self.values, self.count)

    def _get_to_know(self, rows: Indices) -> None:
        """Look at songs that are not known; from now on they are."""
        belief, features = self.view.belief, self.songs.features_of(rows)
        some = Known(
            rows=rows,
            features=features,
            content=features @ belief.means.T,
            variances=belief.variances_of(features),
        )
        self.memory.known.join(belief, some, self.settle_known(some))

    def settle_known(self, known: Known, steps: int = 0) -> Vector:
        """Compute those songs that could be returned; return what none of them exceeds."""
        rows, content, variances = known.rows, known.content, known.variances
        elapsed = self.songs.elapsed_of(rows)

        def given(part: Indices) -> tuple[Matrix, Matrix, Vector]:
            return content[part], variances[part], elapsed[part]

        some = self.close.look_at_known(elapsed, known.features, content, variances, steps)
        return self._settle(rows, some, given, first_look=0)

    def _settle(
        self, rows: Indices, some: Some, given: Given, first_look: int = FIRST_LOOK
    ) -> Vector:
        """Compute the quantiles of those songs of `some` that could be returned.

        Which ones could is known only when as many as are wanted have been computed, so those
        that seem best come first. Return what none of the songs exceeds.
        """
        hopeful = np.ones(len(rows), dtype=np.bool_)
        if len(self.rows):
            hopeful = ~np.isin(rows, self.rows)
        if self.threshold == -np.inf:
            wanted = min(self.count + first_look - len(self.rows), int(hopeful.sum()))
            guess = np.where(hopeful, self.close.guess(some), -np.inf)
            first = np.argsort(-guess, kind="stable")[:wanted]
            self.take(rows[first], self._quantiles(*given(first)))
            hopeful[first] = False
        upper, sure = self.close.upper(some, self.threshold)
        hopeful &= may_reach(self.close, some, upper, sure, self.threshold)
        order = np.flatnonzero(hopeful)
        order = order[np.argsort(-upper[order])]
        for start in range(0, len(order), _CLOSER_CHUNK):
            part = order[start : start + _CLOSER_CHUNK]
            part = part[upper[part] >= self.threshold]
            if len(part):
                self._compute(rows[part], *given(part))
        return upper

    def _compute(self, rows: Indices, content: Matrix, variances: Matrix, elapsed: Vector) -> None:
        """Compute the quantiles of songs, of several only those that are not below the threshold.

        Whether enough of a mixture lies above a value is known at once, and its quantile only
        after several such looks.
        """
        if len(rows) > 1 and self.threshold > -np.inf:
            left = np.flatnonzero(
                self.prediction.may_reach(
                    self.threshold, content, variances, elapsed, self.view.level
                )
            )
            rows, content, variances, elapsed = (
                rows[left],
                content[left],
                variances[left],
                elapsed[left],
            )
        if len(rows):
            self.take(rows, self._quantiles(content, variances, elapsed))

    def _quantiles(self, content: Matrix, variances: Matrix, elapsed: Vector) -> Vector | None:
        return self.prediction.quantile_given(content, variances, elapsed, self.view.level)

    def _given_of(self, rows: Indices, part: Indices) -> tuple[Matrix, Matrix, Vector]:
        """Return what is given of some of the songs in `rows`."""
        features, belief = self.songs.features_of(rows[part]), self.view.belief
        content, variances = features @ belief.means.T, belief.variances_of(features)
        return content, variances, self.songs.elapsed_of(rows[part])

    def take(self, rows: Indices, values: Vector | None) -> None:
        """Remember quantiles that were computed."""
        if values is None:
            msg = f"the quantile of level {self.view.level} must exist, got none"
            raise ConvergenceError(msg)
        self.memory.counters.looked_at += len(rows)
        self.rows = np.concatenate([self.rows, rows])
        self.values = np.concatenate([self.values, values])
        if len(self.values) >= self.count:
            lowest = float(np.partition(self.values, -self.count)[-self.count])
            self.threshold = lowest - 4 * EQUAL * abs(lowest)


def may_reach(
    close: CloseLook, some: Some, upper: Vector, sure: AnyArray, threshold: float
) -> AnyArray:
    """Return which songs could reach a value, by their bounds and then by a test of each."""
    may = upper >= threshold
    if threshold > -np.inf:
        for which, test in ((sure, close.may_exceed), (~sure, close.may_exceed_on_cells)):
            if (doubtful := np.flatnonzero(may & which)).size:
                may[doubtful] = test(some.where(doubtful), threshold)
    return may
