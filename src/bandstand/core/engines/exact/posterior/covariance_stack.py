"""One covariance matrix for each node of a grid, kept so that an answer costs hardly anything.

    Λ_g⁻¹ = base_g − Σ_k d_kg d_kg'

An answer takes one dyad from every matrix (14). Writing them all would cost more than anything
else in an update, so the directions are kept beside matrices that successive beliefs share,
and are taken off only when there are many.

code       maths  shape      meaning
`base`            (G, p, p)  the covariances some answers ago, or before the first of them
`taken`    d      (K, G, p)  what the answers since have taken from them
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.engines.exact.posterior.covariance_base import Diagonal, WrittenOut
from bandstand.types import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.core.engines.exact.posterior.covariance_base import CovarianceBase
    from bandstand.types import Indices, Matrix, Stack, Vector

# What is smaller than any number is zero.
_tiny_is_zero: Final = np.errstate(under="ignore")
# So many directions cost about as much as taking them off at once, shared among as many answers.
_MOST_TAKEN: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class CovarianceStack:
    """The covariances Λ_g⁻¹ of all nodes, symmetric to the last bit.

    >>> stack = CovarianceStack.of(2 * np.eye(2)[np.newaxis]).without(np.ones((1, 2)))
    >>> stack.dense[0].tolist(), stack.times(np.array([1.0, 0.0]))[0].tolist()
    ([[1.0, -1.0], [-1.0, 1.0]], [1.0, -1.0])
    """

    base: CovarianceBase
    taken: Stack

    @classmethod
    def of(cls, covariances: Stack) -> CovarianceStack:
        """Return the stack of these matrices, from which nothing has been taken."""
        nodes, columns, _ = covariances.shape
        return cls(
            base=WrittenOut(matrices=frozen(covariances)),
            taken=frozen(np.empty((0, nodes, columns))),
        )

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        return int(self.base.nbytes + self.taken.nbytes)

    @property
    def room(self) -> int:
        """How many directions there may be before they are taken off."""
        # Matrices that are not written out are worth as many as would fill them.
        return max(_MOST_TAKEN, self.base.columns if isinstance(self.base, Diagonal) else 0)

    @property
    def dense(self) -> Stack:
        """All matrices written out, (G, p, p): this takes its time, and nothing of it is kept."""
        is_plain = not len(self.taken) and isinstance(self.base, WrittenOut)
        return self.base.at(slice(None)) if is_plain else self._at(slice(None))

    def at(self, nodes: Indices | Sequence[int]) -> Stack:
        """Return the matrices of some nodes written out: (n, p, p)."""
        return self._at(np.asarray(nodes, dtype=np.intp))

    @_tiny_is_zero
    def times(self, features: Vector) -> Matrix:
        """Return Λ_g⁻¹x for each node: (G, p)."""
        taken, nodes, columns = self.taken.shape
        product = self.base.times(features)
        if taken:
            along = (self.taken.reshape(-1, columns) @ features).reshape(-1, nodes)
            product -= np.matmul(along.T[:, np.newaxis], self.taken.transpose(1, 0, 2))[:, 0]
        return product

    @_tiny_is_zero
    def variances_of(self, features: Matrix) -> Matrix:
        """Return x'Λ_g⁻¹x of each row x of `features`, (n, p), at each node: (n, G)."""
        taken, nodes, columns = self.taken.shape
        variances = self.base.variances_of(features)
        if taken:
            along = features @ self.taken.reshape(-1, columns).T
            variances -= np.square(along, out=along).reshape(-1, taken, nodes).sum(axis=1)
        # Rounding may leave a hair below zero where the truth is zero.
        return np.maximum(variances, 0.0, out=variances)

    @_tiny_is_zero
    def pooled(self, share: Vector) -> Matrix:
        """Return Σ share_g Λ_g⁻¹, for shares that are not negative: (p, p)."""
        halves = (self.taken * np.sqrt(share)[:, np.newaxis]).reshape(-1, self.base.columns)
        total: Matrix = self.base.pooled(share) - halves.T @ halves
        return total

    def without(self, directions: Matrix) -> CovarianceStack:
        """Return Λ_g⁻¹ − d_g d_g', for one direction per node: (G, p)."""
        if len(self.taken) + 1 < self.room:
            taken = np.concatenate([self.taken, directions[np.newaxis]])
            return CovarianceStack(base=self.base, taken=frozen(taken))
        last = frozen(directions[np.newaxis].copy())
        return CovarianceStack(base=WrittenOut(matrices=self.dense), taken=last)

    @_tiny_is_zero
    def _at(self, nodes: Indices | slice) -> Stack:
        directions = self.taken[:, nodes].transpose(1, 0, 2)
        # A matrix times its own transpose is computed once and mirrored.
        dyads = np.matmul(directions.transpose(0, 2, 1), directions)
        matrices: Stack = frozen(np.subtract(self.base.at(nodes), dyads, out=dyads))
        return matrices
