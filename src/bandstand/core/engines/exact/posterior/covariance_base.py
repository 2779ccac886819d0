"""Two ways to keep one covariance matrix for each node of a grid.

`WrittenOut`  every matrix for itself: any history
`Diagonal`    T diag(d_g) T' with one T for all nodes: a history in which all songs had been heard
              equally long before, such as never, needs no more (8): Λ_g = V0⁻¹ + u_g² Σ w xx'

code        maths  shape      meaning
`matrices`         (G, p, p)
`modes`     T      (p, p)     T'V0⁻¹T = I, and T'(Σ w xx')T is diagonal
`levels`    d_g    (G, p)     1 where nothing is known beyond the prior
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from bandstand.types import Indices, Matrix, Stack, Vector


class CovarianceBase(Protocol):
    """One symmetric matrix for each node."""

    def __len__(self) -> int:
        """Return the number of nodes: G."""
        ...

    @property
    def columns(self) -> int:
        """The size of each matrix: p."""
        ...

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        ...

    def at(self, nodes: Indices | slice) -> Stack:
        """Return the matrices of some nodes: (n, p, p)."""
        ...

    def times(self, features: Vector) -> Matrix:
        """Return each matrix times a vector: (G, p)."""
        ...

    def variances_of(self, features: Matrix) -> Matrix:
        """Return x'Cx of each row x of `features` for each matrix C: (n, G)."""
        ...

    def pooled(self, share: Vector) -> Matrix:
        """Return the sum of all matrices, each times its share: (p, p)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenOut:
    """Every matrix for itself."""

    matrices: Stack

    def __len__(self) -> int:
        return len(self.matrices)

    @property
    def columns(self) -> int:
        """The size of each matrix: p."""
        return int(self.matrices.shape[1])

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        return int(self.matrices.nbytes)

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

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def columns(self) -> int:
        """The size of each matrix: p."""
        return len(self.modes)

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        return int(self.modes.nbytes + self.levels.nbytes)

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
