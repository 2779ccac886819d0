"""What is kept about a catalogue between steps: bounds of the songs' variances.

An answer, real or only in thought, takes (x'd)² from a song's variance, for a direction d that
depends on the answer alone. So after each of them one product with the catalogue brings all
variances up to date. It is done in single precision, whose rounding is kept in the account.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.model.novelty import novelty

if TYPE_CHECKING:
    from bandstand.arrays import Indices, Matrix, Vector
    from bandstand.inference.exact import ExactBelief
    from bandstand.inference.song_table import SongTable

# Grid nodes, as shares of posterior weight below them, whose variances are kept per song; the
# last node always is. The first are only needed by those who ask for low quantiles.
_FOR_HIGH: Final = (0.5, 0.99)
_FOR_LOW: Final = (0.02, 0.5, 0.99)
# Variances are recomputed after this many updates, so that rounding stays below the slack.
_MOST_UPDATES: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Variances:
    """Bounds of the songs' variances at some nodes: upper − error ≤ x'Λ_g⁻¹x ≤ upper.

    code      maths        shape   meaning
    `nodes`                (R,)    the grid nodes, rising s
    `upper`   x'Λ_g⁻¹x     (R, S)  at those nodes, or a little more
    `error`                (R,)    at most so much more
    """

    nodes: Indices
    upper: Matrix
    error: Vector

    def shrunk(self, directions: Matrix, table: SongTable) -> Variances:
        """Return the bounds after an answer that takes (x'd)², d being `directions` (R, p)."""
        lengths = np.sqrt((directions**2).sum(axis=1))
        rounding = directions.shape[1] * float(np.finfo(np.float32).eps) * table.largest_norm
        # Rounding of single precision may only make the bound larger.
        sure = np.abs(directions.astype(np.float32) @ table.single)
        sure -= (rounding * lengths).astype(np.float32)[:, np.newaxis]
        np.maximum(sure, 0, out=sure)
        return Variances(
            nodes=self.nodes,
            upper=self.upper - np.square(sure, out=sure),
            # (a + δ)² − (a − δ)² = 4aδ with a at most |d| |x|, doubled for what is left out here.
            error=self.error + 8 * rounding * lengths**2 * table.largest_norm,
        )


class SearchMemory:
    """Room for one listener's bounds; it is brought up to date by `follow`."""

    def __init__(self, table: SongTable) -> None:
        self.table = table
        self._belief: ExactBelief | None = None
        self._updates = 0
        self._wanted: tuple[float, ...] = _FOR_HIGH
        self._known: Variances | None = None
        # The same after songs that were heard in thought only.
        self._planned: tuple[Matrix, ...] = ()
        self._in_thought: Variances | None = None

    @property
    def is_used(self) -> bool:
        """Whether anybody has asked for bounds yet."""
        return self._known is not None

    @property
    def nbytes(self) -> int:
        """The size of what is kept for this listener alone."""
        kept = (self._known, self._in_thought)
        return sum(each.upper.nbytes for each in kept if each is not None)

    def follow(self, belief: ExactBelief, *, low: bool = False) -> Variances:
        """Return bounds for `belief`; with `low` also at nodes of short recovery times."""
        known = self._followed(belief.unplanned or belief, low=low)
        if belief.unplanned is None:
            self._planned, self._in_thought = (), None
            return known
        return self._thought(known, belief.planned)

    def _followed(self, belief: ExactBelief, *, low: bool) -> Variances:
        """Return bounds for a belief in which nothing is planned."""
        if low and self._wanted != _FOR_LOW:
            self._wanted, self._belief = _FOR_LOW, None
        before, known = self._belief, self._known
        if before is None or known is None or not self._same_lineage(before, belief):
            known = self._computed(belief)
        elif len(belief.history) == len(before.history) + 1:
            known = known.shrunk(_last_directions(belief, known.nodes), self.table)
            self._updates += 1
        elif len(belief.history) > len(before.history):
            known = self._computed(belief)
        if known is not self._known:
            self._planned, self._in_thought = (), None
        self._belief, self._known = belief, known
        return known

    def _same_lineage(self, known: ExactBelief, belief: ExactBelief) -> bool:
        """Return whether `belief` is `known` with more answers, on the same grid."""
        return (
            self._updates < _MOST_UPDATES
            and known.grid is belief.grid
            and belief.history.continues(known.history)
        )

    def _computed(self, belief: ExactBelief) -> Variances:
        below = np.cumsum(belief.weights)
        nodes = np.unique(np.append(np.searchsorted(below, self._wanted), len(below) - 1))
        features = self.table.features
        upper = np.empty((len(nodes), len(features)))
        for row, node in enumerate(nodes):
            spread = features @ belief.covariances[node]
            upper[row] = np.einsum("sp,sp->s", spread, features)
        self._updates = 0
        return Variances(nodes=nodes, upper=upper, error=np.zeros(len(nodes)))

    def _thought(self, known: Variances, planned: tuple[Matrix, ...]) -> Variances:
        """Return the bounds after what is planned, going on from what was planned before."""
        done = len(self._planned)
        if self._in_thought is None or not _are_first(self._planned, planned):
            done, self._in_thought = 0, known
        for directions in planned[done:]:
            self._in_thought = self._in_thought.shrunk(directions[known.nodes], self.table)
        self._planned = planned
        return self._in_thought


def _last_directions(belief: ExactBelief, nodes: Indices) -> Matrix:
    """Return the d of the last answer: d² = w q (Λ⁻¹z)², Λ being that after the answer."""
    history = belief.history
    weight, row = float(history.weights[-1]), history.features[-1]
    curve = novelty(history.elapsed[-1], belief.recovery_times[nodes])
    towards = (belief.covariances[nodes] @ row) * curve[:, np.newaxis]  # Λ⁻¹z
    left = 1 - weight * curve * (towards @ row)  # 1/q
    directions: Matrix = towards * np.sqrt(weight / left)[:, np.newaxis]
    return directions


def _are_first(some: tuple[Matrix, ...], others: tuple[Matrix, ...]) -> bool:
    """Return whether `others` begin with the very same matrices."""
    return len(some) <= len(others) and all(
        one is other for one, other in zip(some, others, strict=False)
    )
