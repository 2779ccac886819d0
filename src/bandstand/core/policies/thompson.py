"""Thompson sampling: choose each song as often as it is believed to be the best."""

from dataclasses import dataclass

import numpy as np

from bandstand.core.model.prediction import Prediction
from bandstand.core.policies.policy import ScorePolicy
from bandstand.types import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Thompson(ScorePolicy):
    """The song that is best for one listener drawn from the belief (29)."""

    def preferences(
        self,
        prediction: Prediction,
        *,
        step: int,
        rng: np.random.Generator,
    ) -> Vector | None:
        """Return one joint draw of the expected ratings of all songs."""
        drawn = prediction.sample(rng, 1)
        return None if drawn is None else drawn[0]
