"""What is believed of one listener, brought up to date play by play."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.algorithms.randomness import randomness
from bandstand.algorithms.registry import algorithm_named
from bandstand.algorithms.situation import Listening
from bandstand.domain import Songs
from bandstand.inference.search_memory import SearchMemory
from bandstand.model.piecewise_linear import RADIO_BASIS
from bandstand.model.priors import radio_prior
from bandstand.radio.choice.chosen import Glimpse
from bandstand.radio.choice.learning import LONGEST, Reader

if TYPE_CHECKING:
    from bandstand.algorithms.situation import Catalogue
    from bandstand.arrays import AnyArray
    from bandstand.domain import History
    from bandstand.inference.engine import Engine
    from bandstand.policies import ScorePolicy
    from bandstand.radio.choice.learning import FeaturesOf, Told
    from bandstand.radio.choice.shelf import Shelf
    from bandstand.radio.log.ledger import Columns

# More news than this are learnt sooner all at once.
_MOST_UPDATES: Final = 64
# What of a belief grows with the features squared.
_LARGE: Final = ("covariances", "means", "covariance_root")


@dataclass(frozen=True, kw_only=True, eq=False)
class Learner:
    """A listener's engine and policy over one shelf, and what the engine believes by now."""

    catalogue: Catalogue  # with the column of ones, or without it
    engine: Engine[Any]
    policy: ScorePolicy
    memory: Any  # of the engine: it belongs to this listener and is used by one thread at a time
    reader: Reader
    seed: int
    told: Told
    belief: Any

    @classmethod
    def begin(
        cls,
        shelf: Shelf,
        columns: Columns,
        *,
        algorithm: str,
        intercept: bool,
        seed: int,
        features_of: FeaturesOf,
    ) -> Learner | None:
        """Return what is learnt from all plays; None while no song has features."""
        named = algorithm_named(algorithm)
        if shelf.catalogue is None or shelf.bare is None:
            return None
        catalogue, table = (shelf.catalogue, shelf.table) if intercept else shelf.bare
        prior = radio_prior(catalogue.features.shape[1], intercept=intercept)
        engine = named.engine_for(prior, basis=RADIO_BASIS)
        reader = Reader(shelf, catalogue, features_of, intercept=intercept)
        told = reader.told(columns)
        return cls(
            catalogue=catalogue,
            engine=engine,
            policy=named.policy,
            memory=engine.remember(_never_heard(catalogue), shared=table),
            reader=reader,
            seed=seed,
            told=told,
            belief=_fitted(engine, told.history, seed),
        )

    def follow(self, columns: Columns) -> Learner:
        """Return what is learnt after more plays: the same as begun with them, only sooner."""
        told = self.reader.continued(self.told, columns)
        if told is None:
            told = self.reader.told(columns)
            return replace(self, told=told, belief=_fitted(self.engine, told.history, self.seed))
        return replace(self, told=told, belief=self._updated(told.history))

    def glimpse(self, song: str, *, since: float | None) -> Glimpse:
        """Return what is believed of a song that was heard `since` minutes ago, or never."""
        features = self.reader.features(song)
        if features is None or not len(self.told.history):
            return Glimpse()
        elapsed = LONGEST if since is None else min(max(since, 0.0), LONGEST)
        seen = Songs.of(features=features[np.newaxis], elapsed=elapsed)
        prediction = self.engine.predict(self.belief, seen)
        return Glimpse(
            expected=_only(prediction.mean()),
            standard_deviation=_only(prediction.standard_deviation()),
            novelty=_only(prediction.parts().get("novelty")),
        )

    @property
    def nbytes(self) -> int:
        """About how much memory belongs to this listener alone."""
        kept = self.memory.nbytes if isinstance(self.memory, SearchMemory) else 0
        believed = sum(_bytes_of(getattr(self.belief, name, None)) for name in _LARGE)
        return kept + believed + int(self.told.history.features.nbytes)

    def _updated(self, history: History) -> Any:
        known = len(self.told.history)
        if len(history) == known:
            return self.belief
        if not self.engine.online or len(history) - known > _MOST_UPDATES:
            return _fitted(self.engine, history, self.seed)
        belief = self.belief
        for count in range(known + 1, len(history) + 1):
            if count < len(history) and not getattr(belief, "resolved", True):
                # Each answer would place the grid anew, which once for all of them does as well.
                return _fitted(self.engine, history, self.seed)
            rng = randomness(self.seed, count, "learn")
            belief = self.engine.update(belief, history.first(count), rng=rng)
            if isinstance(self.memory, SearchMemory) and self.memory.is_used:
                # It keeps up at little cost if it sees every answer.
                self.memory.follow(belief)
        return belief


def _fitted(engine: Engine[Any], history: History, seed: int) -> Any:
    return engine.fit(history, rng=randomness(seed, len(history), "learn"))


def _never_heard(catalogue: Catalogue) -> Songs:
    return catalogue.songs(Listening.nothing(len(catalogue), longest=LONGEST), LONGEST)


def _only(values: AnyArray | None) -> float | None:
    return None if values is None else float(values[0])


def _bytes_of(value: object) -> int:
    """Return how much an array takes, or several; other things are small."""
    if isinstance(value, tuple | list):
        return sum(_bytes_of(part) for part in value)
    return int(value.nbytes) if isinstance(value, np.ndarray) else 0
