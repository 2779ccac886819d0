"""Greedy choice: pure exploitation, what most recommenders do."""

from dataclasses import dataclass

import numpy as np

from bandstand.core.model.prediction import Prediction
from bandstand.core.policies.policy import ScorePolicy
from bandstand.types import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy(ScorePolicy):
    """The song with the largest expected rating E[U | D]."""

    def preferences(
        self,
        prediction: Prediction,
        *,
        step: int,
        rng: np.random.Generator,
    ) -> Vector | None:
        """Return the expected rating of each song."""
        return prediction.mean()
