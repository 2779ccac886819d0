"""What a step is measured against: reading the matrix once, and LinUCB over the same songs.

    LinUCB       A += xx'    b += r x    score = x'A⁻¹b + √(x'A⁻¹x)
    rank one     a = A⁻¹x    x'A⁻¹x −= (x'a)²/(1 + x'a) for every song

Both work in the precision of the catalogue that they are given, as one would write them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand_lab.speed.linucb_reference import PlainLinUcb, RankOneLinUcb

if TYPE_CHECKING:
    from bandstand.domain import History
    from bandstand.types import AnyArray, Vector


def stream(features: AnyArray) -> float:
    """Return the sum of a matrix: the least that anybody does who reads all of it."""
    return float(features.sum(dtype=features.dtype))


class ProductLinUcb(PlainLinUcb):
    """LinUCB whose widths take one product of all songs with A⁻¹ at each step."""

    def __init__(self, catalogue: AnyArray, history: History) -> None:
        super().__init__(catalogue, history)

    def choose(self) -> int:
        """Return the row of the song with the largest score."""
        # Cast down first: NumPy would otherwise bring the whole catalogue to double precision.
        kind = self.catalogue.dtype
        covariance = self.covariance.astype(kind, copy=False)
        mean = self.catalogue @ (self.covariance @ self.evidence).astype(kind, copy=False)
        width = np.sqrt(((self.catalogue @ covariance) * self.catalogue).sum(axis=1))
        return int(np.argmax(mean + width))


class WidthsLinUcb(RankOneLinUcb):
    """LinUCB that keeps every song's width, and takes from it what an answer takes."""

    def __init__(self, catalogue: AnyArray, history: History) -> None:
        super().__init__(catalogue, history)
        covariance = self.covariance.astype(catalogue.dtype, copy=False)
        self.variances: AnyArray = ((catalogue @ covariance) * catalogue).sum(axis=1)

    def absorb(self, features: Vector, rating: float) -> None:
        """Learn one answer: one product with the catalogue."""
        towards = self.covariance @ features
        growth = 1 + features @ towards
        shadow = self.catalogue @ (towards / np.sqrt(growth)).astype(self.catalogue.dtype)
        self.variances -= shadow * shadow
        super().absorb(features, rating)

    def choose(self) -> int:
        """Return the row of the song with the largest score: another product."""
        mean = (self.covariance @ self.evidence).astype(self.catalogue.dtype, copy=False)
        return int(np.argmax(self.catalogue @ mean + np.sqrt(np.maximum(self.variances, 0.0))))
