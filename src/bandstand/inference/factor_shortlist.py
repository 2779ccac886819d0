"""The best songs of the variational engine, without looking at all of them.

For songs never heard the factors other than content are the same, so (`factor_bounds`)

    Q(x) ≤ max_k (slope_k μ + width_k σ),    μ = x'm,  σ = √(x'Λ⁻¹x),  |μ| ≤ R σ

With b the largest width, slope_k μ + width_k σ ≤ (slope_k ∓ (b − width_k)/R) μ + b σ for either
sign of μ: that is the outline which `shortlist` keeps shortlists by, with two centres along m.
It says nothing of songs heard lately: those are bounded one by one, however good the rest is.

A model of three factors has no such outline, since each song has its own diversity; there every
song is bounded in one pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.inference.factor_look import Best, Look
from bandstand.inference.shortlist.anchor import Anchor
from bandstand.inference.shortlist.outline import Outline

if TYPE_CHECKING:
    from bandstand.inference.factor_prediction import FactorPrediction
    from bandstand.inference.search_memory import SearchMemory
    from bandstand.inference.shortlist.levels import Level, Levels
    from bandstand.model.allowed import Allowed
    from bandstand.model.quantile_envelope import Envelope
    from bandstand.types import Indices, Matrix, Vector

# Of so few songs each is computed. With three factors bounds take so long to prepare that the
# same holds for as many songs as a shortlist has.
_FEW: Final = 32
# Of so many times the songs of the last shortlist each is bounded.
_BOUNDED: Final = 16
_CAUTION: Final = 1e-9


class FactorView:
    """One question to a belief, as `shortlist` wants it."""

    def __init__(self, prediction: FactorPrediction, lines: Envelope, farthest: float) -> None:
        mean, self._inverse_root = prediction.means[0], prediction.inverse_roots[0]
        self.width = max(float(lines.widths.max()), 0.0)
        spare = (self.width - lines.widths) / max(farthest, _CAUTION)
        upwards, downwards = (lines.slopes - spare).max(), (lines.slopes + spare).min()
        self.centres: Matrix = np.array([upwards, downwards])[:, np.newaxis] * mean
        self.slack = _CAUTION * float(np.abs(self.centres).max(initial=0.0)) * len(mean)
        self._grown: dict[Anchor, float] = {}

    def outline(self) -> Outline:
        """Return the outline."""
        return Outline(centres=self.centres, spread=self._spread(), slack=self.slack)

    def growth(self, anchor: Anchor) -> float:
        """Return a g ≥ 0 with F ⪯ g²·(the anchor's F)."""
        if anchor not in self._grown:
            self._grown[anchor] = anchor.growth(self._spread())
        return self._grown[anchor]

    def recovered(self, elapsed: Vector) -> Vector:
        """Return ones: songs heard lately are bounded elsewhere."""
        return np.ones(len(elapsed))

    def origin(self) -> Any:
        """Return nothing: forms are compared as they are."""

    def _spread(self) -> Matrix:
        half = self.width * (1 + _CAUTION) * self._inverse_root
        spread: Matrix = half.T @ half
        return spread


def search(
    prediction: FactorPrediction, memory: SearchMemory, level: float, count: int, allowed: Allowed
) -> Indices | None:
    """Return the rows of the `count` largest quantiles among `allowed`, or None if not worth it."""
    few = _FEW if len(prediction.factors) <= 2 else memory.sizes[0]
    if count <= 0 or allowed.most <= max(few, 4 * count):
        return None
    look = Look(prediction, level)
    with np.errstate(under="ignore"):
        best = _best(look, memory, allowed, count)
    memory.counters.looked_at += look.looked_at
    return best.rows


def _best(look: Look, memory: SearchMemory, allowed: Allowed, count: int) -> Best:
    if allowed.most <= _BOUNDED * memory.sizes[-1]:
        rows = allowed.rows()
        return look.best(Best.none(), rows, look.above(rows), count)
    lines = look.bounds.shared
    if lines is None:
        memory.counters.passes += 1
        return look.best_of_all(Best.none(), look.pass_over(), allowed, count)
    view = FactorView(look.prediction, lines, look.bounds.farthest)
    return _Search(look, memory, view, allowed, count).best()


class _Search:
    """One search by the shortlists of a memory."""

    def __init__(
        self, look: Look, memory: SearchMemory, view: FactorView, allowed: Allowed, count: int
    ) -> None:
        self.look, self.memory, self.view = look, memory, view
        self.allowed, self.count = allowed, count
        self.heard = look.prediction.songs.heard
        self.found = Best.none()

    def best(self) -> Best:
        """Return the best songs: from shortlists, made anew if need be, or from all songs."""
        self._look_at(self.heard)
        levels = self.memory.filtered(self.allowed, make=False)
        if self._are_certain(levels or self.memory.among_all):
            return self.found
        if levels is None:
            levels = self.memory.filtered(self.allowed, make=True)
            if levels is not None and self._are_certain(levels):
                return self.found
        return self._best_of_all()

    def _are_certain(self, levels: Levels) -> bool:
        """Look at the songs of shortlists; return whether no other one could be better."""
        made = len(levels.sizes)  # the levels from this number on are made of this belief
        if not levels.levels:
            made = 0
            levels.renew(self.view, 0)
        self._look_at(levels.levels[-1].rows)
        failing = self._failing(levels)
        while failing is not None and failing < made and self._may_help(levels.levels[failing]):
            made = failing
            levels.renew(self.view, failing)
            self._look_at(levels.levels[-1].rows)
            failing = self._failing(levels)
        # No shortlist as short as these will do, but one that is longer may.
        while failing:
            self._look_at(levels.levels[failing - 1].rows)
            failing = self._failing(levels, failing)
        return failing is None

    def _failing(self, levels: Levels, before: int | None = None) -> int | None:
        """Return the first level outside which a song might be better; None if there is none."""
        threshold = self.found.threshold(self.count)
        for place, level in enumerate(levels.levels[:before]):
            most = level.outside(self.view)
            # Outside of a level that holds every song nothing exceeds −∞; and what is not known to
            # be below, not even as a number, has failed.
            if not most < threshold and most != -np.inf:
                return place
        return None

    def _may_help(self, level: Level) -> bool:
        """Return whether a shortlist like this one, made now, could be enough.

        Where few of its songs are allowed it could not, however often it is made.
        """
        least = level.reference - max(level.limit, 0.0) * level.shortest
        return bool(least * level.anchor.unit < self.found.threshold(self.count))

    def _look_at(self, rows: Indices) -> None:
        known = np.sort(self.found.rows)
        self.found = self.look.best_new(self.found, known, rows, self.allowed, self.count)

    def _best_of_all(self) -> Best:
        """Return the best songs from a bound of every one: a pass over the catalogue."""
        self.memory.counters.passes += 1
        anchor = Anchor.of(self.view)
        above = anchor.bounds(self.memory.table).astype(np.float64)
        above *= anchor.unit
        above[self.heard] = -np.inf
        return self.look.best_of_all(self.found, above, self.allowed, self.count)
