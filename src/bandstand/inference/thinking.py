"""What songs heard in thought take from the variances of others, one after the other.

A song x that is heard in thought, u being its novelty, takes from every Λ⁻¹ the dyad of

    d = a/√q    a = uΛ⁻¹x    q = 1 + ux'a        (14), with a weight of 1

where Λ⁻¹ is already without the dyads of the thoughts before: Λ⁻¹x = Λ₀⁻¹x − Σ_k d_k (d_k'x). The
songs that will be heard are mostly among those that are looked at, so Λ₀⁻¹x is made for many of
them at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.model.novelty import novelty

if TYPE_CHECKING:
    from bandstand.inference.exact_belief import ExactBelief, Thought
    from bandstand.types import Indices, Matrix, Stack, Vector

# As many songs at a time are prepared for being heard in thought.
_AHEAD: Final = 24
_FIRST_ROOM: Final = 16


class Thinking:
    """Variances of some songs as thoughts go on: (n, G)."""

    def __init__(
        self, belief: ExactBelief, features: Matrix, variances: Matrix, promise: Vector
    ) -> None:
        """Begin with the variances without any thought; the most promising are likely heard."""
        self._learnt, self._features = belief.learnt, features
        self._likely: list[int] = np.argsort(-promise).tolist()
        self.variances = variances.copy()
        self._thoughts: tuple[Thought, ...] = ()
        nodes, columns = belief.means.shape
        self._directions: Stack = np.empty((nodes, _FIRST_ROOM, columns))  # as many as thoughts
        self._towards: dict[int, Matrix] = {}  # Λ₀⁻¹x by the song's place: (G, p)

    @property
    def nbytes(self) -> int:
        """The size of what is kept beside the features."""
        prepared = sum(each.nbytes for each in self._towards.values())
        return self.variances.nbytes + self._directions.nbytes + prepared

    def leads_to(self, belief: ExactBelief) -> bool:
        """Return whether the belief has had all these thoughts first."""
        return belief.learnt is self._learnt and go_on(self._thoughts, belief.thoughts)

    def go_on(self, belief: ExactBelief) -> None:
        """Hear what is new."""
        for thought in belief.thoughts[len(self._thoughts) :]:
            curve = novelty(thought.elapsed, belief.grid.nodes)
            towards = curve[:, np.newaxis] * self._times(thought.features)
            growth = 1 + curve * (towards @ thought.features)
            direction = towards / np.sqrt(growth)[:, np.newaxis]
            along = self._features @ direction.T
            self.variances -= np.square(along, out=along)
            self._add(direction)
            self._thoughts = (*self._thoughts, thought)
        np.maximum(self.variances, 0.0, out=self.variances)

    def _add(self, direction: Matrix) -> None:
        count = len(self._thoughts)
        if count == self._directions.shape[1]:
            more = np.empty_like(self._directions)
            self._directions = np.concatenate([self._directions, more], axis=1)
        self._directions[:, count] = direction

    def _times(self, features: Vector) -> Matrix:
        """Return Λ⁻¹x with all thoughts so far: (G, p)."""
        same = np.flatnonzero((self._features == features).all(axis=1))
        towards = self._prepared(same) if len(same) else self._learnt.times(features)
        count = len(self._thoughts)
        if not count:
            return towards
        taken = self._directions[:, :count]
        along = taken @ features
        return np.asarray(towards - np.matmul(along[:, np.newaxis], taken)[:, 0])

    def _prepared(self, same: Indices) -> Matrix:
        """Return Λ₀⁻¹x of a song here; those most likely to be asked for are made with it."""
        place = int(same[0])
        if place not in self._towards:
            others = (each for each in self._likely if each not in self._towards)
            places = list(dict.fromkeys([place, *others]))[:_AHEAD]
            products = self._learnt.times_all(self._features[places])
            self._towards.update((each, products[:, at]) for at, each in enumerate(places))
        return self._towards[place]


def go_on(before: tuple[Thought, ...], now: tuple[Thought, ...]) -> bool:
    """Return whether thoughts begin with those from before."""
    count = len(before)
    # They only ever get longer, so the last one tells.
    return count == 0 or (len(now) >= count and now[count - 1] is before[-1])
