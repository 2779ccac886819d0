"""The protocol of policies: from what is believed about songs to the song to play.

    prediction ── scores ──▶ one number per song ── choose ──▶ the best rows that are allowed

A policy sees a prediction, the step and a source of randomness; it knows no engine. `step`
is the number of the song to be chosen, counted from 1.

The first song is a uniform draw, whatever the policy: nothing has been said yet, so (28)
would need the 0-quantile, minus infinity for every song, and any fixed rule would give
every new listener the same song. The same holds wherever a policy needs something that
the prediction does not have.
"""

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from bandstand.core.model.candidates import Choice, allowed_of, best_rows
from bandstand.core.model.prediction import Prediction
from bandstand.types import Indices, Vector


class Policy(Protocol):
    """Chooses songs by what is believed about them."""

    def scores(self, prediction: Prediction, *, step: int, rng: np.random.Generator) -> Vector:
        """Return the policy's own score of each song, by which a list is sorted: (S,)."""
        ...

    def choose(
        self,
        prediction: Prediction,
        *,
        step: int,
        rng: np.random.Generator,
        count: int,
        allowed: Choice,
    ) -> Indices:
        """Return `count` different rows among `allowed`, best first; all if there are fewer.

        They are the rows with the largest `scores` under the same `rng`; of equal scores the
        smallest row comes first.
        """
        ...


class ScorePolicy(ABC):
    """A policy that needs only to say how it scores; the rest is the same for all."""

    __slots__ = ()

    @abstractmethod
    def preferences(
        self, prediction: Prediction, *, step: int, rng: np.random.Generator
    ) -> Vector | None:
        """Return the score of each song from the second step on, or None where there is none."""

    def scores(self, prediction: Prediction, *, step: int, rng: np.random.Generator) -> Vector:
        """Return `preferences` where there are any, otherwise random numbers: (S,)."""
        if step > 1:
            known = self.preferences(prediction, step=step, rng=rng)
            if known is not None:
                return known
        return uniform_scores(prediction, rng)

    def choose(
        self,
        prediction: Prediction,
        *,
        step: int,
        rng: np.random.Generator,
        count: int,
        allowed: Choice,
    ) -> Indices:
        """Return the rows of the `count` largest scores among `allowed`, best first."""
        rows = allowed_of(allowed, len(prediction)).rows()
        return best_rows(self.scores(prediction, step=step, rng=rng), count, rows)


def uniform_scores(prediction: Prediction, rng: np.random.Generator) -> Vector:
    """Return scores whose order is a uniform draw from all orders of the songs: (S,)."""
    return rng.random(len(prediction))
