"""LinUCB: the expected rating plus a multiple of its confidence width."""

import math
from dataclasses import dataclass

import numpy as np

from bandstand.core.model.prediction import Prediction
from bandstand.core.policies.policy import ScorePolicy
from bandstand.errors import InvalidInputError
from bandstand.types import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class LinUcb(ScorePolicy):
    """The largest mean + `exploration` · width (31), the width being √(x'A⁻¹x) of (27).

    It needs a prediction that has a part called "width", as the ridge regression's has.

    L. Li, W. Chu, J. Langford and R. E. Schapire, "A contextual-bandit approach to
    personalized news article recommendation", WWW 2010; `exploration` is its α.
    """

    exploration: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is no multiple."""
        if not 0 <= self.exploration < math.inf:
            msg = f"exploration must be finite and not negative, got {self.exploration}"
            raise InvalidInputError(msg)

    def preferences(
        self,
        prediction: Prediction,
        *,
        step: int,
        rng: np.random.Generator,
    ) -> Vector | None:
        """Return the upper confidence bound of each song."""
        expected, width = prediction.mean(), prediction.parts().get("width")
        if expected is None or width is None:
            return None
        with np.errstate(under="ignore"):
            return np.asarray(expected + self.exploration * width)
