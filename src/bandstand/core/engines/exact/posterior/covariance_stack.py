"""Three ways to keep one covariance matrix for each node of a grid.

`WrittenOut`  every matrix for itself: any history
`Same`        one matrix for all nodes: answers that do not depend on the recovery time
`Diagonal`    T diag(d_g) T' with one T for all nodes: a history in which all songs had been heard
              equally long before, such as never, needs no more (8): Λ_g = V0⁻¹ + u_g² Σ w xx'

code        maths  shape      meaning
`matrices`         (G, p, p)
`modes`     T      (p, p)     T'V0⁻¹T = I, and T'(Σ w xx')T is diagonal
`levels`    d_g    (G, p)     1 where nothing is known beyond the prior
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from bandstand.types import Indices, Matrix, Stack, Vector, frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenOut:
    """Every matrix for itself."""

    matrices: Stack

    @property
    def columns(self) -> int:
        """The size of each matrix: p."""
        return int(self.matrices.shape[1])

    def at(self, nodes: Indices | slice) -> Stack:
        """Return the matrices of some nodes: (n, p, p)."""
        return self.matrices[nodes]

    def times(self, features: Vector) -> Matrix:
        """Return each matrix times a vector: (G, p)."""
        # All of them one below the other are one product.
        flat: Matrix = self.matrices.reshape(-1, self.columns)
        return np.asarray(flat @ features).reshape(-1, self.columns)

    def variances_of(self, features: Matrix) -> Matrix:
        """Return x'Cx of each row x of `features` for each matrix C: (n, G)."""
        variances: Matrix = np.einsum("gsp,sp->sg", np.matmul(features, self.matrices), features)
        return variances

    def pooled(self, share: Vector) -> Matrix:
        """Return the sum of all matrices, each times its share: (p, p)."""
        total: Matrix = np.tensordot(share, self.matrices, axes=1)
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagonal:
    """T diag(d_g) T' with one T for all nodes."""

    modes: Matrix
    levels: Matrix

    @property
    def columns(self) -> int:
        """The size of each matrix: p."""
        return len(self.modes)

    def at(self, nodes: Indices | slice) -> Stack:
        """Return the matrices of some nodes: (n, p, p)."""
        halves = self.modes * np.sqrt(self.levels[nodes])[:, np.newaxis]
        # A matrix times its own transpose is computed once and mirrored.
        products: Stack = np.matmul(halves, halves.transpose(0, 2, 1))
        return products

    def times(self, features: Vector) -> Matrix:
        """Return each matrix times a vector: (G, p)."""
        product: Matrix = (self.levels * (features @ self.modes)) @ self.modes.T
        return product

    def variances_of(self, features: Matrix) -> Matrix:
        """Return x'Cx of each row x of `features` for each matrix C: (n, G)."""
        product: Matrix = (features @ self.modes) ** 2 @ self.levels.T
        return product

    def pooled(self, share: Vector) -> Matrix:
        """Return the sum of all matrices, each times its share: (p, p)."""
        total: Matrix = (self.modes * (share @ self.levels)) @ self.modes.T
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """One matrix for all nodes."""

    matrix: Matrix
    nodes: int

    @property
    def columns(self) -> int:
        """The size of the matrix: p."""
        return len(self.matrix)

    def at(self, nodes: Indices | slice) -> Stack:
        """Return the matrices of some nodes: (n, p, p)."""
        every: Stack = np.broadcast_to(self.matrix, (self.nodes, *self.matrix.shape))
        return np.array(every[nodes])

    def times(self, features: Vector) -> Matrix:
        """Return each matrix times a vector: (G, p)."""
        return np.tile(self.matrix @ features, (self.nodes, 1))

    def variances_of(self, features: Matrix) -> Matrix:
        """Return x'Cx of each row x of `features` for each matrix C: (n, G)."""
        variances = np.einsum("sp,sp->s", features @ self.matrix, features)
        return np.tile(variances[:, np.newaxis], self.nodes)

    def pooled(self, share: Vector) -> Matrix:
        """Return the sum of all matrices, each times its share: (p, p)."""
        return np.asarray(share.sum() * self.matrix)


# One covariance matrix for each node of a grid, kept so that an answer costs hardly anything.
#
#     Λ_g⁻¹ = base_g − Σ_k d_kg d_kg'
#
# An answer takes one dyad from every matrix (14). Writing them all would cost more than anything
# else in an update, so the directions are kept beside matrices that successive beliefs share,
# and are taken off only when there are many.
#
# code       maths  shape      meaning
# `base`            (G, p, p)  the covariances some answers ago, or before the first of them
# `taken`    d      (K, G, p)  what the answers since have taken from them; (K, 1, p) where that
#                              is the same for all nodes


# What is smaller than any number is zero.
_tiny_is_zero: Final = np.errstate(under="ignore")
# 24 directions cost about as much as taking them off at once, shared among as many answers.
_MAX_DIRECTIONS: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class CovarianceStack:
    """The covariances Λ_g⁻¹ of all nodes, symmetric to the last bit.

    >>> stack = CovarianceStack.of(2 * np.eye(2)[np.newaxis]).without(np.ones((1, 2)))
    >>> stack.dense[0].tolist(), stack.times(np.array([1.0, 0.0]))[0].tolist()
    ([[1.0, -1.0], [-1.0, 1.0]], [1.0, -1.0])
    """

    base: WrittenOut | Diagonal | Same
    taken: Stack

    @classmethod
    def of(cls, covariances: Stack) -> CovarianceStack:
        """Return the stack of these matrices, from which nothing has been taken."""
        nodes, columns, _ = covariances.shape
        return cls(
            base=WrittenOut(matrices=frozen(covariances)),
            taken=frozen(np.empty((0, nodes, columns))),
        )

    @classmethod
    def same(cls, covariance: Matrix, nodes: int) -> CovarianceStack:
        """Return the stack of one matrix for all nodes."""
        taken = frozen(np.empty((0, 1, len(covariance))))
        return cls(base=Same(matrix=frozen(covariance), nodes=nodes), taken=taken)

    @property
    def _is_same(self) -> bool:
        """Whether all nodes have the same matrix."""
        return isinstance(self.base, Same) and self.taken.shape[1] == 1

    @property
    def room(self) -> int:
        """How many directions there may be before they are taken off."""
        # Matrices that are not written out are worth as many as would fill them.
        is_small = not isinstance(self.base, WrittenOut)
        return max(_MAX_DIRECTIONS, self.base.columns if is_small else 0)

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
        # Rounding may leave it slightly negative where the truth is zero.
        return np.maximum(variances, 0.0, out=variances)

    @_tiny_is_zero
    def pooled(self, share: Vector) -> Matrix:
        """Return Σ share_g Λ_g⁻¹, for shares that are not negative: (p, p)."""
        halves = (self.taken * np.sqrt(share)[:, np.newaxis]).reshape(-1, self.base.columns)
        total: Matrix = self.base.pooled(share) - halves.T @ halves
        return total

    @_tiny_is_zero
    def times_each(self, rows: Stack) -> Stack:
        """Return Λ_g⁻¹y for n vectors y that differ by node: (n, G, p), or (n, 1, p) for all."""
        base = self.base.matrix if isinstance(self.base, Same) else self.base.at(slice(None))
        each, taken = rows.transpose(1, 0, 2), self.taken.transpose(1, 0, 2)
        along = np.matmul(each, taken.transpose(0, 2, 1))
        return np.asarray((np.matmul(each, base) - np.matmul(along, taken)).transpose(1, 0, 2))

    def without(self, directions: Matrix) -> CovarianceStack:
        """Return Λ_g⁻¹ − d_g d_g', for one direction per node: (G, p)."""
        if self._is_same and (directions == directions[0]).all():
            directions = directions[:1]
        if len(self.taken) + 1 < self.room:
            nodes = max(self.taken.shape[1], len(directions))
            every = np.empty((len(self.taken) + 1, nodes, directions.shape[1]))
            every[:-1], every[-1] = self.taken, directions
            return CovarianceStack(base=self.base, taken=frozen(every))
        is_same, taken = self._is_same, self.taken[:0]
        base = (
            replace(self.base, matrix=self.at([0])[0])
            if is_same
            else WrittenOut(matrices=self.dense)
        )
        return CovarianceStack(base=base, taken=taken).without(directions)

    @_tiny_is_zero
    def _at(self, nodes: Indices | slice) -> Stack:
        directions = (self.taken if self._is_same else self.taken[:, nodes]).transpose(1, 0, 2)
        # A matrix times its own transpose is computed once and mirrored.
        dyads = np.matmul(directions.transpose(0, 2, 1), directions)
        matrices: Stack = frozen(self.base.at(nodes) - dyads)
        return matrices
