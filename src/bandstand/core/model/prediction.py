"""The protocol of predictions: an engine's belief p(U | D) about each song's expected rating.

A quantity that does not exist (the mean of a Cauchy, the standard deviation of an
engine that has none) is `None`, never a huge number or NaN. Existence is the same
for all songs of a prediction, so it is the whole array that is absent.
"""

from typing import Protocol

import numpy as np

from bandstand.core.model.candidates import Choice
from bandstand.types import Indices, Matrix, Vector


class Prediction(Protocol):
    """The belief about the expected ratings of S songs."""

    def __len__(self) -> int:
        """Return S."""
        ...

    def mean(self) -> Vector | None:
        """Return E[U | D] of each song: (S,)."""
        ...

    def standard_deviation(self) -> Vector | None:
        """Return the standard deviation of p(U | D) of each song: (S,)."""
        ...

    def quantile(self, level: float) -> Vector | None:
        """Return the value that U stays below with probability `level`, for each song: (S,)."""
        ...

    def sample(self, rng: np.random.Generator, size: int) -> Matrix | None:
        """Return `size` joint draws of the expected ratings of all songs: (size, S).

        One draw is one possible listener: the songs of a row belong together.
        """
        ...

    def parts(self) -> dict[str, Vector]:
        """Return the parts of the prediction by name, each (S,), for people to read."""
        ...

    def best_by_quantile(self, level: float, count: int, allowed: Choice) -> Indices:
        """Return the rows of the `count` largest quantiles among `allowed`, best first.

        No rows come back where there are no quantiles.
        """
        ...


class PointPrediction:
    """The part of a prediction that is absent where the engine knows no p(U | D), only a point."""

    __slots__ = ()

    def standard_deviation(self) -> None:
        """Return None: there is no p(U | D)."""

    def quantile(self, level: float) -> None:
        """Return None: there is no p(U | D)."""

    def sample(self, rng: np.random.Generator, size: int) -> None:
        """Return None: there is no p(U | D)."""

    def best_by_quantile(
        self,
        level: float,
        count: int,
        allowed: Choice,
    ) -> Indices:
        """Return no rows, since there are no quantiles to compare."""
        return np.empty(0, dtype=np.intp)
