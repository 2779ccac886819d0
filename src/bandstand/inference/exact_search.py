"""The songs with the largest exact quantiles, without computing all of them.

Three facts (docs/model.md, "A whole catalogue") bound every song from one pass over the
feature matrix; only songs whose bound beats the best exact value are looked at closely:

* a mixture's quantile is at most the largest quantile of its components;
* u falls as s grows, so x'Λ_s⁻¹x grows with s: a variance at a larger s bounds this one;
* an answer only shrinks Λ⁻¹, and by a known amount: v −= w q (x'Λ⁻¹z)², Λ after the answer.

Songs that survive are tested once: if the mixture with the bounded scales has less than
1 − α above the threshold, its quantile is below it. What then survives is computed exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import stdtr, stdtrit

from bandstand.model.novelty import novelty
from bandstand.model.ranking import best_rows

if TYPE_CHECKING:
    from bandstand.arrays import Indices, Matrix, Vector
    from bandstand.inference.exact import ExactBelief
    from bandstand.inference.exact_prediction import ExactPrediction

# Grid nodes, as shares of posterior weight below them, whose variances are kept per song.
_REFERENCES: Final = (0.5, 0.99)
# Variances are recomputed after this many updates, so that rounding stays below the slack.
_MOST_UPDATES: Final = 256
_SLACK: Final = 1e-7
# Nodes that together carry less than this share of the tail are left out of the bound.
_LEFT_OUT: Final = 0.1
_FIRST_LOOK: Final = 4
_STEPS_PER_SCALE: Final = 64
_FARTHEST_SCALE: Final = 12


class SearchMemory:
    """What is kept about a catalogue between steps: upper bounds of the songs' variances.

    code          maths            shape   meaning
    `nodes`                        (R,)    the grid nodes whose variances are kept, rising s
    `variances`   x'Λ_g⁻¹x         (R, S)  at those nodes
    """

    def __init__(self, features: Matrix) -> None:
        self.features = features
        # Half the bytes to stream, songs side by side; the bounds allow for its rounding.
        self.single = np.ascontiguousarray(features.T.astype(np.float32))
        self.largest_norm = float(np.sqrt((features**2).sum(axis=1).max(initial=0.0)))
        self._belief: ExactBelief | None = None
        self._updates = 0
        self.nodes: Indices = np.zeros(0, dtype=np.intp)
        self.variances: Matrix = np.zeros((0, len(features)))

    def follow(self, belief: ExactBelief) -> None:
        """Bring the variances up to date with `belief`: exact, or larger than the truth."""
        known = self._belief
        if known is not None and self._same_lineage(known, belief):
            answers = len(belief.history) - len(known.history)
            if answers == 0:  # songs heard in thought only shrink the truth below the bounds
                return
            if answers == 1 and not belief.planned:
                self._absorb(belief)
                self._belief = belief
                return
        self._compute(belief)
        self._belief = None if belief.planned else belief

    def _same_lineage(self, known: ExactBelief, belief: ExactBelief) -> bool:
        """Return whether `belief` is `known` with more answers or plans, on the same grid."""
        return (
            self._updates < _MOST_UPDATES
            and known.grid is belief.grid
            and belief.history.continues(known.history)
        )

    def _compute(self, belief: ExactBelief) -> None:
        below = np.cumsum(belief.weights)
        nodes = np.searchsorted(below, _REFERENCES)
        self.nodes = np.unique(np.append(nodes, len(below) - 1))
        self.variances = np.empty((len(self.nodes), len(self.features)))
        for row, node in enumerate(self.nodes):
            spread = self.features @ belief.covariances[node]
            self.variances[row] = np.einsum("sp,sp->s", spread, self.features)
        self._updates = 0

    def _absorb(self, belief: ExactBelief) -> None:
        """Subtract what the last answer took away: one product with the catalogue."""
        history = belief.history
        weight, row = float(history.weights[-1]), history.features[-1]
        curve = novelty(history.elapsed[-1], belief.recovery_times[self.nodes])
        towards = (belief.covariances[self.nodes] @ row) * curve[:, np.newaxis]  # Λ⁻¹z
        left = 1 - weight * curve * (towards @ row)  # 1/q
        towards *= np.sqrt(weight / left)[:, np.newaxis]
        # Rounding of single precision may only make the bound larger.
        rounding = len(row) * float(np.finfo(np.float32).eps) * self.largest_norm
        sure = np.abs(towards.astype(np.float32) @ self.single)
        sure -= (rounding * np.sqrt((towards**2).sum(axis=1))).astype(np.float32)[:, np.newaxis]
        np.maximum(sure, 0, out=sure)
        self.variances -= np.square(sure, out=sure)
        self._updates += 1


def search(
    prediction: ExactPrediction, memory: SearchMemory, level: float, count: int, allowed: Indices
) -> Indices | None:
    """Return the rows of the `count` largest quantiles among `allowed`, or None if not worth it."""
    belief = prediction.belief
    if level < 0.5 or len(allowed) <= 4 * (count + _FIRST_LOOK):
        return None
    memory.follow(belief)
    bounds = _Bounds(prediction, memory, level)
    if not bounds.reach < 1e100:
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
    """Upper bounds of all songs' quantiles, from what the memory keeps."""

    def __init__(self, prediction: ExactPrediction, memory: SearchMemory, level: float) -> None:
        belief = prediction.belief
        self.memory, self.belief, self.elapsed = memory, belief, prediction.songs.elapsed
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
        # For each node the first kept one with at least its recovery time.
        self.reference = np.searchsorted(memory.nodes, np.arange(len(belief.weights))[self.inside])
        self.deviation = np.sqrt(np.maximum(memory.variances, 0.0) * (1 + _SLACK))
        largest = float(np.sqrt((self.means**2).sum(axis=1).max())) * memory.largest_norm
        self.rounding = self.means.shape[1] * float(np.finfo(np.float32).eps) * largest
        self.size = largest + float(self.reach * self.noise.max())

    def upper_and_guess(self) -> tuple[Vector, Vector]:
        """Return what no song's quantile exceeds, and about where it is.

        The first is the largest of the components' quantiles, the second that of the
        heaviest component; only the order of looking depends on it.
        """
        longest = float(self.elapsed.max(initial=0.0))
        heaviest = int(np.argmax(self.share))
        curve = novelty(longest, self.times)
        ends = (self.means * curve[:, np.newaxis]).astype(np.float32) @ self.memory.single
        width = np.zeros((len(curve), len(self.deviation)), dtype=np.float32)
        width[np.arange(len(curve)), self.reference] = self.reach * self.noise * curve
        ends += width @ self.deviation.astype(np.float32)
        upper, guess = ends.max(axis=0) + self.rounding, ends[heaviest]

        heard = np.flatnonzero(self.elapsed < longest)
        locations, scales = self._components(heard)
        ends = locations + self.reach * scales
        upper[heard], guess[heard] = ends.max(axis=1), ends[:, heaviest]
        return upper, guess

    def may_exceed(
        self, rows: Indices, threshold: float
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return for each song whether its quantile could be above `threshold`."""
        locations, scales = self._components(rows)
        # A wider component has more above the threshold only if it is centred below it, so
        # one that is not counts as a whole.
        gap = np.maximum(threshold - locations, 0.0)
        steps = np.divide(gap, scales, out=np.full_like(gap, np.inf), where=scales > 0)
        steps = np.minimum(steps * _STEPS_PER_SCALE, len(self.survival) - 1)
        above = self.survival[steps.astype(np.intp)]
        above[gap <= 0] = 1.0
        left_out = 1 - self.share.sum()
        return np.asarray(above @ self.share + left_out >= self.tail * (1 - _SLACK))

    def _components(self, rows: Indices) -> tuple[Matrix, Matrix]:
        """Return exact locations and upper bounds of the scales: (rows, inside) each."""
        curves = novelty(self.elapsed[rows][:, np.newaxis], self.times)
        scales = curves * self.noise * self.deviation[self.reference][:, rows].T
        return curves * (self.memory.features[rows] @ self.means.T), scales


def _heaviest(weights: Vector, left_out: float) -> slice:
    """Return the shortest run of nodes found from the ends that leaves out at most `left_out`."""
    from_left = int(np.searchsorted(np.cumsum(weights), left_out / 2))
    from_right = int(np.searchsorted(np.cumsum(weights[::-1]), left_out / 2))
    return slice(from_left, len(weights) - from_right)
