"""ε-greedy choice: greedy, but now and then a song at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bandstand.core.policies.policy import ScorePolicy
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np

    from bandstand.core.model.prediction import Prediction
    from bandstand.types import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonGreedy(ScorePolicy):
    """With probability ε = `exploration` a uniform draw, otherwise the largest E[U | D].

    The coin is tossed once for a whole list.
    """

    exploration: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what is no probability."""
        if not 0 <= self.exploration <= 1:
            msg = f"exploration must be between 0 and 1, got {self.exploration}"
            raise InvalidInputError(msg)

    def preferences(
        self,
        prediction: Prediction,
        *,
        step: int,
        rng: np.random.Generator,
    ) -> Vector | None:
        """Return the expected rating of each song, or None when the coin says explore."""
        return None if rng.random() < self.exploration else prediction.mean()
