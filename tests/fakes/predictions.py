"""A small prediction that policies can be tried on: normal beliefs with known parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from bandstand.core.model.candidates import Choice, allowed_of, best_rows
from bandstand.core.model.prediction import Prediction
from bandstand.types import Indices, Matrix, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalPrediction:
    """U = mean + standard deviation · ⟨direction, z⟩, one normal z for all songs of a draw."""

    means: Vector
    deviations: Vector
    directions: Matrix

    def __len__(self) -> int:
        return len(self.means)

    def mean(self) -> Vector:
        return self.means

    def standard_deviation(self) -> Vector:
        return self.deviations

    def quantile(self, level: float) -> Vector:
        return self.means + self.deviations * float(ndtri(level))

    def sample(self, rng: np.random.Generator, size: int) -> Matrix:
        listeners = rng.standard_normal((size, self.directions.shape[1]))
        drawn: Matrix = self.means + self.deviations * (listeners @ self.directions.T)
        return drawn

    def parts(self) -> dict[str, Vector]:
        return {"width": self.deviations}

    def best_by_quantile(self, level: float, count: int, allowed: Choice) -> Indices:
        rows = allowed_of(allowed, len(self)).rows()
        return best_rows(self.quantile(level), count, rows)

    def permuted(self, order: Indices) -> NormalPrediction:
        """Return the same songs in another order: row i is what row order[i] was."""
        return NormalPrediction(
            means=self.means[order],
            deviations=self.deviations[order],
            directions=self.directions[order],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindPrediction:
    """Nothing is known of any song."""

    size: int

    def __len__(self) -> int:
        return self.size

    def mean(self) -> None: ...

    def standard_deviation(self) -> None: ...

    def quantile(self, level: float) -> None: ...

    def sample(self, rng: np.random.Generator, size: int) -> None: ...

    def parts(self) -> dict[str, Vector]:
        return {}

    def best_by_quantile(
        self,
        level: float,
        count: int,
        allowed: Choice,
    ) -> Indices:
        return allowed_of(allowed, len(self)).rows()[:0]


def normal_prediction(seed: int, size: int) -> NormalPrediction:
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((size, 3))
    directions /= np.sqrt(np.square(directions).sum(axis=1, keepdims=True))
    return NormalPrediction(
        means=rng.normal(3, 1, size), deviations=rng.gamma(2, 0.5, size), directions=directions
    )


def flat_prediction(size: int) -> NormalPrediction:
    """Return songs that cannot be told apart, each of them known for certain."""
    return NormalPrediction(
        means=np.full(size, 3.0), deviations=np.zeros(size), directions=np.ones((size, 1))
    )


# Checked by mypy: the fakes satisfy the protocol.
FAKES: tuple[Prediction, Prediction] = (flat_prediction(1), BlindPrediction(size=1))
