"""The songs that could be chosen lately, with what is believed of each at every node.

The same few songs are looked at again after every answer. What an answer takes from the
covariances it takes from their variances too (14), so that one product is all there is to do:

    x'm_g  anew        x'Λ_g⁻¹x − (x'd_g)²   for each direction d that was taken since

Songs that are heard in thought (`ExactBelief.thoughts`) take from the variances alone.

code         maths     shape
`rows`                 (n,)    rising
`features`   x         (n, p)  in double precision
`content`    x'm_g     (n, G)
`variances`  x'Λ_g⁻¹x  (n, G)  with what was heard in thought
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand.inference.covariance_base import Diagonal
from bandstand.inference.thinking import Thinking
from bandstand.model.allowed import is_among

if TYPE_CHECKING:
    from bandstand.inference.exact_belief import ExactBelief
    from bandstand.types import Indices, Matrix, Stack, Vector

# So many songs are kept at most, and so many when all is to be computed anew at some cost.
_MOST: Final = 128
_FEWEST: Final = 48
# Differences of so many terms are computed anew, before their rounding adds up.
_MOST_STEPS: Final = 96


class Known(NamedTuple):
    """Some songs; `rows` are rising."""

    rows: Indices
    features: Matrix
    content: Matrix
    variances: Matrix


class KnownSongs:
    """Room for one listener's songs; `follow` brings it up to date with a belief."""

    def __init__(self) -> None:
        self._mark: object = None  # of the covariances that the numbers follow from
        self._means: Matrix | None = None
        self._thinking: Thinking | None = None
        self.rows: Indices = np.empty(0, dtype=np.intp)
        self.features: Matrix = np.empty((0, 0))
        self.content: Matrix = np.empty((0, 0))
        self.promise: Vector = np.empty(0)  # about where each quantile was, to choose whom to keep
        self.steps = 0  # directions taken since the variances were computed from matrices
        self._learnt: Matrix = np.empty((0, 0))  # variances without what was heard in thought

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        thinking = 0 if self._thinking is None else self._thinking.nbytes
        return self.features.nbytes + self.content.nbytes + self._learnt.nbytes + thinking

    @property
    def variances(self) -> Matrix:
        """x'Λ⁻¹x at every node: (n, G)."""
        return self._learnt if self._thinking is None else self._thinking.variances

    def follow(self, belief: ExactBelief) -> None:
        """Make all numbers those of a belief."""
        if not len(self):
            return
        taken = belief.learnt.since(self._mark)
        if taken is None or self.steps + len(taken) > _MOST_STEPS:
            self._compute_anew(belief)
        elif len(taken):
            self._take(taken, belief)
        elif belief.means is not self._means:
            self.content = self.features @ belief.means.T
        self._mark, self._means = belief.learnt.marks[-1], belief.means
        self._think(belief)

    def keep(self, rows: Indices) -> None:
        """Forget all songs but those in `rows`, which are rising."""
        places = np.flatnonzero(is_among(self.rows, rows))
        some = self.at(places)
        self.rows, self.features, self.content, _ = some
        self.promise, self._learnt, self._thinking = (
            self.promise[places],
            self._learnt[places],
            None,
        )

    def at(self, places: Indices) -> Known:
        """Return the songs at some places."""
        if len(places) == len(self):
            return Known(self.rows, self.features, self.content, self.variances)
        return Known(
            rows=self.rows[places],
            features=self.features[places],
            content=self.content[places],
            variances=self.variances[places],
        )

    def join(self, belief: ExactBelief, some: Known, promise: Vector) -> None:
        """Add songs with what the belief that was followed says; it must be one without thoughts.

        Those that promise least are left out if they are too many.
        """
        new = ~is_among(some.rows, self.rows)
        if not len(self):
            self.features, self.content = some.features[:0], some.content[:0]
            self._learnt = some.variances[:0]
            self._mark, self._means, self.steps = belief.learnt.marks[-1], belief.means, 0
        rows = np.concatenate([self.rows, some.rows[new]])
        promise = np.concatenate([self.promise, promise[new]])
        order = np.argsort(rows)
        if len(order) > _MOST:
            lowest = np.partition(promise, len(order) - _MOST)[len(order) - _MOST]
            order = order[promise[order] >= lowest]
        self.rows, self.promise = rows[order], promise[order]
        self.features = np.concatenate([self.features, some.features[new]])[order]
        self.content = np.concatenate([self.content, some.content[new]])[order]
        self._learnt = np.concatenate([self._learnt, some.variances[new]])[order]
        self._thinking = None

    def _compute_anew(self, belief: ExactBelief) -> None:
        """Compute what is believed of the most promising songs; the others are forgotten."""
        few = _MOST if isinstance(belief.learnt.base, Diagonal) else _FEWEST
        if len(self) > few:
            best = np.sort(np.argpartition(-self.promise, few)[:few])
            self.rows, self.promise = self.rows[best], self.promise[best]
            self.features = self.features[best]
        self.content = self.features @ belief.means.T
        self._learnt, self.steps = belief.learnt.variances_of(self.features), 0
        self._thinking = None

    def _take(self, taken: Stack, belief: ExactBelief) -> None:
        """Take what answers took; the product with m is made with the same matrix."""
        nodes, columns = belief.means.shape
        vectors = np.concatenate([taken.reshape(-1, columns), belief.means])
        products = self.features @ vectors.T
        self.content = products[:, -nodes:]
        for start in range(0, products.shape[1] - nodes, nodes):
            along = products[:, start : start + nodes]
            self._learnt = self._learnt - along * along
        np.maximum(self._learnt, 0.0, out=self._learnt)
        self.steps += len(taken)
        self._thinking = None

    def _think(self, belief: ExactBelief) -> None:
        """Hear in thought what the belief has heard in thought."""
        if not belief.is_in_thought:
            self._thinking = None
            return
        if self._thinking is None or not self._thinking.leads_to(belief):
            self._thinking = Thinking(belief, self.features, self._learnt, self.promise)
        self._thinking.go_on(belief)
