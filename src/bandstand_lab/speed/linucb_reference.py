"""LinUCB in plain NumPy, as one writes it down: the reference of one online step.

    A += xx'    b += r x    score = x'A⁻¹b + √(x'A⁻¹x)

code                maths   shape
`precision`         A       (p, p)
`evidence`          b       (p,)
`covariance`        A⁻¹     (p, p)

Every song's width takes one product of the whole catalogue with A⁻¹. The two variants differ
in how A⁻¹ is found: inverted afresh, or by a rank-one update.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bandstand.domain import History
    from bandstand.types import Matrix, Vector


class PlainLinUcb:
    """LinUCB that inverts A at every step."""

    def __init__(self, catalogue: Matrix, history: History) -> None:
        self.catalogue = catalogue
        columns = catalogue.shape[1]
        self.precision = np.eye(columns) + history.features.T @ history.features
        self.evidence = history.features.T @ history.ratings
        self.covariance = np.linalg.inv(self.precision)

    def absorb(self, features: Vector, rating: float) -> None:
        """Learn one answer."""
        self.precision += np.outer(features, features)
        self.evidence += rating * features
        self.covariance = np.linalg.inv(self.precision)

    def choose(self) -> int:
        """Return the row of the song with the largest score."""
        mean = self.catalogue @ (self.covariance @ self.evidence)
        width = np.sqrt(((self.catalogue @ self.covariance) * self.catalogue).sum(axis=1))
        return int(np.argmax(mean + width))


class RankOneLinUcb(PlainLinUcb):
    """LinUCB that updates A⁻¹ instead: A⁻¹ −= aa'/(1 + x'a), a = A⁻¹x."""

    def absorb(self, features: Vector, rating: float) -> None:
        """Learn one answer."""
        towards = self.covariance @ features
        self.covariance -= np.outer(towards, towards) / (1 + features @ towards)
        self.evidence += rating * features
