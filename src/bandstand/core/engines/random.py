"""The engine of `random`: it learns nothing and predicts nothing.

It exists so that every named algorithm is an engine and a policy, this one too.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.model.history import History, Songs
from bandstand.core.model.prediction import PointPrediction
from bandstand.types import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class NoBelief:
    """A history that nothing was learned from."""

    history: History


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPrediction(PointPrediction):
    """Songs about which nothing is said; not even the mean exists."""

    songs: Songs

    def __len__(self) -> int:
        return len(self.songs)

    def mean(self) -> None:
        """Return None: nothing was learned."""

    def parts(self) -> dict[str, Vector]:
        """Return no parts."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoModel(Engine[NoBelief]):
    """The engine that learns nothing.

    >>> from bandstand import History, Songs
    >>> belief = NoModel().fit(History.empty(1))
    >>> NoModel().predict(belief, Songs.of(features=[[1.0]], elapsed=10)).mean() is None
    True
    """

    online: ClassVar[bool] = True

    def fit(self, history: History, *, rng: np.random.Generator | None = None) -> NoBelief:
        """Return a belief that holds `history` and nothing else."""
        del rng
        return NoBelief(history=history)

    def update(
        self, belief: NoBelief, history: History, *, rng: np.random.Generator | None = None
    ) -> NoBelief:
        """Return a belief that holds `history` and nothing else."""
        del belief, rng
        return NoBelief(history=history)

    def predict(self, belief: NoBelief, songs: Songs, *, memory: Any = None) -> NoPrediction:
        """Return a prediction in which everything is absent."""
        del belief, memory
        return NoPrediction(songs=songs)

    def plan(self, belief: NoBelief, song: Songs) -> NoBelief:
        """Return the belief as it is."""
        del song
        return belief

    def summary(self, belief: NoBelief) -> Summary:
        """Return a summary in which everything is absent."""
        del belief
        return Summary()
