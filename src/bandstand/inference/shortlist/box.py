"""Vectors that hardly differ, as one centre and a box along a few directions around it.

With any centre c and any vectors b_j, and t_kj within [low_j, high_j],

    c_k'x = c'x + Σ_j t_kj b_j'x + (c_k − c − Σ_j t_kj b_j)'x
          ≤ c'x + Σ_j max(low_j b_j'x, high_j b_j'x) + distance_k·|x|

where distance_k is the length of the vector in brackets. It also holds for vectors that came
later, so the farthest of their distances tells how much they have left the box.

Answers about the best songs move all vectors along one direction more than along any other, and
backwards as soon as those songs disappoint. There the box has room: it costs nothing for songs
with b'x > 0, which the best ones are, since then high·b'x is the larger of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.types import frozen

if TYPE_CHECKING:
    from bandstand.inference.song_table import SingleMatrix, SingleVector
    from bandstand.types import Matrix, Vector

# Directions beside that of a push, and where there is none.
_BESIDE: Final = 3
_ALONE: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Box:
    """A centre, directions, and from where to where the vectors lie along them."""

    centre: Vector  # c, (p,)
    directions: Matrix  # b, (J, p)
    low: Vector  # (J,)
    high: Vector
    rest: float  # the farthest distance of the vectors themselves

    @classmethod
    def around(cls, vectors: Matrix, push: Vector | None = None) -> Box:
        """Return a box for `vectors` (K, p), with room backwards for one `push` (p,).

        Its other directions are those in which the vectors differ most.
        """
        centre = vectors.mean(axis=0)
        away = vectors - centre
        length = 0.0 if push is None else float(np.sqrt(push @ push))
        if push is None or not length > 0:
            directions = _widest(away, _ALONE)
        else:
            first = push / length
            across = away - np.outer(away @ first, first)
            directions = np.vstack([first, _widest(across, _BESIDE)])
        along = away @ directions.T
        low, high = along.min(axis=0), along.max(axis=0)
        low[0] -= length
        return cls(
            centre=frozen(centre),
            directions=frozen(directions),
            low=frozen(low),
            high=frozen(high),
            rest=_longest(away - along @ directions),
        )

    def distance(self, vectors: Matrix) -> float:
        """Return the farthest distance of other vectors (K, p)."""
        away = vectors - self.centre
        along = np.clip(away @ self.directions.T, self.low, self.high)
        return _longest(away - along @ self.directions)

    @property
    def size(self) -> float:
        """No vector of the box is longer: |c| + Σ_j max(|low_j|, |high_j|)·|b_j|."""
        half = np.maximum(np.abs(self.low), np.abs(self.high))
        lengths = np.sqrt((self.directions**2).sum(axis=1))
        return float(np.sqrt(self.centre @ self.centre) + half @ lengths)

    def columns(self) -> Matrix:
        """Return c and b side by side: (p, 1 + J)."""
        return np.column_stack([self.centre, self.directions.T])

    def upper(self, products: SingleMatrix) -> SingleVector:
        """Return c'x + Σ_j max(low_j b_j'x, high_j b_j'x) from the products (1 + J, n)."""
        total: SingleVector = products[0].copy()
        for product, low, high in zip(products[1:], self.low, self.high, strict=True):
            total += np.maximum(np.float32(low) * product, np.float32(high) * product)
        return total


def _widest(vectors: Matrix, count: int) -> Matrix:
    """Return the directions in which vectors around 0 differ most: unit vectors, or zeros."""
    # The vectors are mostly fewer than they are long.
    _, shares = np.linalg.eigh(vectors @ vectors.T)
    directions = shares[:, ::-1][:, :count].T @ vectors
    lengths = np.sqrt(np.einsum("jp,jp->j", directions, directions))[:, np.newaxis]
    # What rounding alone has left is no direction.
    real = lengths > max(1e-6 * float(lengths[0, 0]), 1e-150)
    widest: Matrix = np.divide(directions, lengths, out=np.zeros_like(directions), where=real)
    return widest


def _longest(vectors: Matrix) -> float:
    return float(np.sqrt(np.einsum("kp,kp->k", vectors, vectors).max(initial=0.0)))
