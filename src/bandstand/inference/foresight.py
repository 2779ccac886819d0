"""What the belief may be after the next answer, so that shortlists are made before it comes.

Somebody of whom little is known moves all that is expected a long way with every answer, but not
anywhere: the song that is answered next is the one that plays, and by (14) an answer r moves

    m_g(r) = m_g + a_g (r − u x'm_g)/q_g        a = uΛ⁻¹x,  q = 1 + ux'a

along one line for each node. So every centre that an answer between two may lead to lies between
those that the two lead to, and the box around both holds it. Λ only grows, whatever is said: the
covariances are left as they are.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.inference.exact_outline import ExactView
from bandstand.inference.shortlist.outline import Outline
from bandstand.model.novelty import novelty

if TYPE_CHECKING:
    from bandstand.inference.exact_belief import ExactBelief, Thought
    from bandstand.inference.exact_outline import Origin
    from bandstand.types import Matrix, Vector

# Answers are expected within so many standard deviations, and mostly so far away at most.
DEVIATIONS: Final = 1.5
_USUAL: Final = 1.0


class ForeseeingView(ExactView):
    """A question whose asker knows, once it is answered, what will be rated next."""

    next: Thought | None = None

    @property
    def expects(self) -> object:
        """What will be rated next: equal as long as it is the same."""
        song = None if self.next is None else self.next.features.tobytes()
        return len(self.belief.history), song

    def after_next(self) -> ExpectedView | None:
        """Return what it may be after the next answer, if that can be told."""
        expected = None if self.next is None else ExpectedView(self, self.next)
        return expected if expected is not None and expected.is_finite else None


class ExpectedView:
    """All that a view may be after an answer about `song`, as one outline."""

    def __init__(self, view: ExactView, song: Thought) -> None:
        # That of the song after it, where levels rise with every song as the paper's do.
        level = 1 - 1 / (1 / (1 - view.level) + 1) if view.level > 0.5 else view.level
        self.low, self.high, self._usual = (
            ExactView(after_answer(view.belief, song, away), level, view.longest)
            for away in (-DEVIATIONS, DEVIATIONS, _USUAL)
        )

    @property
    def is_finite(self) -> bool:
        """Whether all of it can be written down."""
        ends = (self.low, self.high, self._usual)
        return all(np.isfinite([end.reach, *end.widths]).all() for end in ends) and bool(
            np.isfinite(self.centres).all()
        )

    @cached_property
    def centres(self) -> Matrix:
        """The centres that either end leads to: (K, p)."""
        return np.concatenate([self.low.centres, self.high.centres])

    @cached_property
    def slack(self) -> float:
        """What has to be added per |x|."""
        return max(self.low.slack, self.high.slack)

    def outline(self) -> Outline:
        """Return one outline for both ends, as wide as it will mostly be."""
        spread = self._usual.outline().spread
        return Outline(centres=self.centres, spread=spread, slack=self.slack)

    def recovered(self, elapsed: Vector) -> Vector:
        """Return what fraction of its bound a song heard so long ago has at most."""
        return np.maximum(self.low.recovered(elapsed), self.high.recovered(elapsed))

    def origin(self) -> Origin:
        """Return what a later view is compared with."""
        return self._usual.origin()


def after_answer(belief: ExactBelief, song: Thought, away: float) -> ExactBelief:
    """Return the belief after an answer so many standard deviations from what is expected.

    Its covariances and its history are those from before.
    """
    curve: Vector = novelty(song.elapsed, belief.grid.nodes)
    towards = curve[:, np.newaxis] * belief.learnt.times(song.features)
    growth = 1 + curve * (towards @ song.features)
    expected = curve * (belief.means @ song.features)
    centre = float(belief.weights @ expected)
    spread = belief.weights @ (belief.rates / belief.shape * growth + (expected - centre) ** 2)
    error = centre + away * float(np.sqrt(spread)) - expected
    step = error / growth
    return replace(
        belief,
        shape=belief.shape + 0.5,
        means=belief.means + towards * step[:, np.newaxis],
        log_determinants=belief.log_determinants + np.log(growth),
        rates=belief.rates + 0.5 * step * error,
        before=None,
        thoughts=(),
    )
