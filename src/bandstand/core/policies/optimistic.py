"""Optimistic Bayesian sampling: Thompson sampling that never looks down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand.core.policies.policy import ScorePolicy

if TYPE_CHECKING:
    from bandstand.core.model.prediction import Prediction
    from bandstand.types import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimistic(ScorePolicy):
    """The largest max(draw, mean) (30): a draw counts only where it is better than expected.

    B. C. May, N. Korda, A. Lee and D. S. Leslie, "Optimistic Bayesian sampling in
    contextual-bandit problems", Journal of Machine Learning Research 13 (2012).
    """

    def preferences(
        self,
        prediction: Prediction,
        *,
        step: int,
        rng: np.random.Generator,
    ) -> Vector | None:
        """Return the larger of one joint draw and the expected rating, for each song."""
        expected = prediction.mean()
        if expected is None:
            return None
        drawn = prediction.sample(rng, 1)
        return None if drawn is None else np.maximum(drawn[0], expected)
