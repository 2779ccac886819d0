"""Bayes-UCB: judge each song by a quantile of what it may be worth."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from bandstand.core.model.candidates import Choice, allowed_of, best_rows
from bandstand.core.model.prediction import Prediction
from bandstand.core.policies.policy import ScorePolicy, uniform_scores
from bandstand.errors import InvalidInputError
from bandstand.types import Indices, Vector

# Beyond this level, reached after a million songs, quantiles are only tails.
HIGHEST_LEVEL: Final = 1 - 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class BayesUcb(ScorePolicy):
    """The song with the largest quantile Q(1 − 1/l, p(U | D)) at step l (28).

    `level` fixes the quantile instead: a dial from cautious (0.05) by even-handed (0.5) to
    curious (0.95).

    >>> BayesUcb().level_at(20), BayesUcb(level=0.5).level_at(20)
    (0.95, 0.5)

    E. Kaufmann, O. Cappé and A. Garivier, "On Bayesian upper confidence bounds for bandit
    problems", AISTATS 2012.
    """

    level: float | None = None

    def __post_init__(self) -> None:
        """Refuse a level that no quantile has."""
        if self.level is not None and not 0 < self.level < 1:
            msg = f"level must be between 0 and 1, both excluded, got {self.level}"
            raise InvalidInputError(msg)

    def level_at(self, step: int) -> float | None:
        """Return the level of the quantile at `step`, or None where there is none: at step 1."""
        if self.level is not None:
            return min(self.level, HIGHEST_LEVEL)
        return min(1 - 1 / step, HIGHEST_LEVEL) if step > 1 else None

    def preferences(
        self,
        prediction: Prediction,
        *,
        step: int,
        rng: np.random.Generator,
    ) -> Vector | None:
        """Return the quantile of each song."""
        level = self.level_at(step)
        return None if level is None else prediction.quantile(level)

    def choose(
        self,
        prediction: Prediction,
        *,
        step: int,
        rng: np.random.Generator,
        count: int,
        allowed: Choice,
    ) -> Indices:
        """Return the rows of the `count` largest quantiles among `allowed`, best first.

        The prediction finds them itself, since it may not need every song's quantile.
        """
        level, some = self.level_at(step), allowed_of(allowed, len(prediction))
        if step > 1 and level is not None:
            best = prediction.best_by_quantile(level, count, some)
            if len(best):
                return best
        return best_rows(uniform_scores(prediction, rng), count, some.rows())
