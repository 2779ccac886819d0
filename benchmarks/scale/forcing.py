"""Models that find the best song by force: without shortlists, bounds or anything kept before.

To work out the exact quantile of each of 100,000 songs takes some five seconds. So only a few
answers are looked for among all songs, and others among many: those that mean and spread speak
for most, as many drawn by chance, and the one that was said, so that a better one shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.model.allowed import allowed_of
from bandstand.model.ranking import best_rows

if TYPE_CHECKING:
    from bandstand.domain import Songs
    from bandstand.model.allowed import Choice
    from bandstand.radio.choice.choosing import Model
    from bandstand.types import Indices

MANY: Final = 4_096  # that are expected to be best, and as many others
_SPREADS: Final = 2.0  # above the mean: about where the quantiles are that decide


def among_all(model: Model) -> Model:
    """Return a model that looks at every song."""
    learner = model.learner
    return model if learner is None else replace(model, learner=replace(learner, memory=None))


def among_many(model: Model, said: str, *, many: int = MANY) -> Model:
    """Return a model that looks at many songs, the one that was `said` among them."""
    learner, rows = model.learner, model.shelf.row_of.of([said])
    if learner is None:
        return model
    engine: Any = _Engine(learner.engine, rows[rows >= 0], many)
    return replace(model, learner=replace(learner, memory=None, engine=engine))


@dataclass(frozen=True, slots=True)
class _Engine:
    """An engine whose predictions of a catalogue look for the best among many songs."""

    engine: Any
    said: Indices
    many: int

    def predict(self, belief: Any, songs: Songs, *, memory: Any = None) -> Any:
        del memory
        if len(songs) <= 2 * self.many:
            return self.engine.predict(belief, songs)
        return _Prediction(self, belief, songs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


@dataclass(frozen=True, slots=True)
class _Prediction:
    """What an engine says of all songs, but for which is best."""

    among: _Engine
    belief: Any
    songs: Songs

    def __len__(self) -> int:
        return len(self.songs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.among.engine.predict(self.belief, self.songs), name)

    def best_by_quantile(self, level: float, count: int, allowed: Choice) -> Indices:
        """Return the best of many songs by the quantile of each of them."""
        rows = self._many()
        rows = rows[allowed_of(allowed, len(self)).holds(rows)]
        some = self.among.engine.predict(self.belief, self.songs.take(rows))
        values = some.quantile(level)
        if values is None:
            return rows[:0]
        return np.asarray(rows[best_rows(values, count, np.arange(len(rows)))])

    def _many(self) -> Indices:
        everything = self.among.engine.predict(self.belief, self.songs)
        mean, spread = everything.mean(), everything.standard_deviation()
        guess = np.zeros(len(self)) if mean is None else mean
        guess = guess if spread is None else guess + _SPREADS * spread
        best = np.argpartition(guess, -self.among.many)[-self.among.many :]
        # Any songs: the same whenever this is asked.
        others = np.random.default_rng(17).choice(len(self), self.among.many, replace=False)
        return np.unique(np.concatenate([best, others, self.among.said])).astype(np.intp)
