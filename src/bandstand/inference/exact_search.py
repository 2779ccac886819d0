"""The songs with the largest exact quantiles, without computing all of them.

Three facts (docs/model.md, "A whole catalogue") bound every song from one pass over the
feature matrix; only songs whose bound beats the best exact value are looked at closely:

* a mixture's quantile is at most the largest quantile of its components;
* u falls as s grows, so x'Λ_s⁻¹x grows with s: a variance at a larger s bounds this one from
  above, one at a smaller s from below;
* an answer only shrinks Λ⁻¹, and by a known amount: v −= w q (x'Λ⁻¹z)², Λ after the answer.

Songs that survive are tested once: if the mixture with the bounded scales has less than
1 − α above the threshold, its quantile is below it. What then survives is computed exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from bandstand.model.novelty import novelty
from bandstand.model.ranking import best_rows

if TYPE_CHECKING:
    from bandstand.arrays import Indices, Matrix, Vector
    from bandstand.inference.exact_prediction import ExactPrediction
    from bandstand.inference.search_memory import SearchMemory, Variances
    from bandstand.inference.song_table import SongTable

_SLACK: Final = 1e-7
# Nodes that together carry less than this share of the tail are left out of the bound.
_LEFT_OUT: Final = 0.1
_FIRST_LOOK: Final = 4
_STEPS_PER_SCALE: Final = 64
_FARTHEST_SCALE: Final = 12


def search(
    prediction: ExactPrediction, memory: SearchMemory, level: float, count: int, allowed: Indices
) -> Indices | None:
    """Return the rows of the `count` largest quantiles among `allowed`, or None if not worth it."""
    belief = prediction.belief
    if len(allowed) <= 4 * (count + _FIRST_LOOK):
        return None
    variances = memory.follow(belief, low=level < 0.5)
    bounds = _Bounds(prediction, memory.table, variances, level)
    if not abs(bounds.reach) < 1e100:
        return None
    upper, guess = (values[allowed] for values in bounds.upper_and_guess())
    first = allowed[np.argpartition(-guess, count + _FIRST_LOOK)[: count + _FIRST_LOOK]]
    exact = prediction.quantile_of(first, level)
    if exact is None:
        return None
    threshold = np.partition(exact, -count)[-count]
    slack = _SLACK * (abs(threshold) + bounds.size)

    hopeful = allowed[upper >= threshold - slack]
    hopeful = np.setdiff1d(hopeful, first, assume_unique=True)
    hopeful = hopeful[bounds.may_exceed(hopeful, threshold - slack)]
    rows = np.concatenate([first, hopeful])
    closer = prediction.quantile_of(hopeful, level)
    values = exact if closer is None else np.concatenate([exact, closer])
    order = np.argsort(rows)
    # Equal songs may differ by rounding, since they were computed in different batches.
    unit = 1e-12 * (abs(threshold) + bounds.size)
    return rows[order][best_rows(np.round(values[order] / unit), count, np.arange(len(rows)))]


class _Bounds:
    """Upper bounds of all songs' quantiles, from bounds of their variances.

    Above the median a quantile grows with the scale, so that upper bounds count; below it
    falls, and lower bounds count. x'Λ_s⁻¹x grows with s: a node's variance is at most that of
    the next one that is kept, and at least that of the one before.
    """

    def __init__(
        self, prediction: ExactPrediction, table: SongTable, variances: Variances, level: float
    ) -> None:
        belief = prediction.belief
        self.table, self.belief, self.elapsed = table, belief, prediction.songs.elapsed
        self.tail = 1 - level
        self.inside = _heaviest(belief.weights, _LEFT_OUT * self.tail)
        self.share = belief.weights[self.inside]
        self.times = belief.recovery_times[self.inside]
        self.means = belief.means[self.inside]
        self.noise = np.sqrt(belief.rates[self.inside] / belief.shape)
        # The nodes left out may lie anywhere, so the others must hold a little more.
        self.reach = float(stdtrit(belief.freedom, min(level / float(self.share.sum()), 1.0)))
        # What a component has above each of so many scales: looked up, rounded up.
        distances = np.arange(_FARTHEST_SCALE * _STEPS_PER_SCALE + 1) / _STEPS_PER_SCALE
        self.survival = stdtr(belief.freedom, -distances)
        nodes = np.arange(len(belief.weights))[self.inside]
        self.above = _Deviations.above(variances, nodes)
        self.below = _Deviations.below(variances, nodes)
        self.outer = self.above if self.reach >= 0 else self.below
        largest = float(np.sqrt((self.means**2).sum(axis=1).max())) * table.largest_norm
        self.rounding = self.means.shape[1] * float(np.finfo(np.float32).eps) * largest
        self.size = largest + float(abs(self.reach) * self.noise.max())

    def upper_and_guess(self) -> tuple[Vector, Vector]:
        """Return what no song's quantile exceeds, and about where it is.

        The first is the largest of the components' quantiles, the second that of the
        heaviest component; only the order of looking depends on it.
        """
        longest = float(self.elapsed.max(initial=0.0))
        heaviest = int(np.argmax(self.share))
        curve = novelty(longest, self.times)
        ends = (self.means * curve[:, np.newaxis]).astype(np.float32) @ self.table.single
        width = np.zeros((len(curve), len(self.outer.values)), dtype=np.float32)
        width[np.arange(len(curve)), self.outer.reference] = self.reach * self.noise * curve
        ends += width @ self.outer.values.astype(np.float32)
        upper, guess = ends.max(axis=0) + self.rounding, ends[heaviest]

        heard = np.flatnonzero(self.elapsed < longest)
        curves, locations = self._components(heard)
        ends = locations + self.reach * self._scales(curves, heard, self.outer)
        upper[heard], guess[heard] = ends.max(axis=1), ends[:, heaviest]
        return upper, guess

    def may_exceed(
        self, rows: Indices, threshold: float
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return for each song whether its quantile could be above `threshold`."""
        curves, locations = self._components(rows)
        gap = threshold - locations
        # A component centred below the threshold has the more above it the wider it is …
        low = gap > 0
        above = self._beyond(np.where(low, gap, 0.0), self._scales(curves, rows, self.above))
        above[~low] = 1.0
        if self.reach < 0:
            # … and one that is centred above it the narrower it is; elsewhere such a component
            # may as well count as a whole.
            narrow = self._scales(curves, rows, self.below)
            short = self._beyond(np.where(low, np.inf, -gap), narrow, further=1)
            above -= np.where(low, 0.0, short)
        left_out = 1 - self.share.sum()
        return np.asarray(above @ self.share + left_out >= self.tail * (1 - _SLACK))

    def _beyond(self, distance: Matrix, scales: Matrix, *, further: int = 0) -> Matrix:
        """Return what a component has beyond a distance from its centre, looked up.

        Rounded up; or rounded down if it is looked up one step `further`.
        """
        steps = np.divide(distance, scales, out=np.full_like(distance, np.inf), where=scales > 0)
        steps = np.minimum(steps * _STEPS_PER_SCALE, len(self.survival) - 1)
        found: Matrix = self.survival[
            np.minimum(steps.astype(np.intp) + further, len(self.survival) - 1)
        ]
        if further:
            found[steps >= len(self.survival) - 1] = 0.0
        return found

    def _components(self, rows: Indices) -> tuple[Matrix, Matrix]:
        """Return novelty and exact locations of the components: (rows, inside) each."""
        curves = novelty(self.elapsed[rows][:, np.newaxis], self.times)
        return curves, curves * (self.table.features[rows] @ self.means.T)

    def _scales(self, curves: Matrix, rows: Indices, deviations: _Deviations) -> Matrix:
        """Return bounds of the components' scales: (rows, inside)."""
        each = deviations.values[deviations.reference][:, rows].T
        scales: Matrix = curves * self.noise * each
        return scales


class _Deviations(NamedTuple):
    """Bounds of the songs' deviations, and which of them holds for which node."""

    values: Matrix  # (kept nodes, S)
    reference: Indices  # (inside,)

    @classmethod
    def above(cls, variances: Variances, nodes: Indices) -> _Deviations:
        """Return what no deviation exceeds."""
        values = np.sqrt(np.maximum(variances.upper, 0.0) * (1 + _SLACK))
        return cls(values, np.searchsorted(variances.nodes, nodes))

    @classmethod
    def below(cls, variances: Variances, nodes: Indices) -> _Deviations:
        """Return what every deviation reaches; 0 for nodes before the first that is kept."""
        sure = variances.upper - variances.error[:, np.newaxis]
        values = np.sqrt(np.maximum(sure, 0.0) * (1 - _SLACK))
        nothing = np.zeros((1, values.shape[1]))
        reference = np.searchsorted(variances.nodes, nodes, side="right")
        return cls(np.concatenate([nothing, values]), reference)


def _heaviest(weights: Vector, left_out: float) -> slice:
    """Return the shortest run of nodes found from the ends that leaves out at most `left_out`."""
    from_left = int(np.searchsorted(np.cumsum(weights), left_out / 2))
    from_right = int(np.searchsorted(np.cumsum(weights[::-1]), left_out / 2))
    return slice(from_left, len(weights) - from_right)
