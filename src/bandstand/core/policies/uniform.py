"""Uniform choice: the paper's `random`, pure exploration."""

from dataclasses import dataclass

import numpy as np

from bandstand.core.model.prediction import Prediction
from bandstand.core.policies.policy import ScorePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform(ScorePolicy):
    """Every allowed song has the same chance, whatever is believed about it."""

    def preferences(self, prediction: Prediction, *, step: int, rng: np.random.Generator) -> None:
        """Return None: this policy prefers nothing."""
