"""What is believed of one listener, brought up to date play by play."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.core.engines.exact.engine import ExactBelief
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model.history import History
from bandstand.core.model.piecewise_linear import RADIO_BASIS
from bandstand.core.model.priors import radio_prior
from bandstand.core.model.songs import Songs
from bandstand.core.play_times import PlayTimes
from bandstand.core.random_streams import randomness
from bandstand.core.registry import algorithm_named
from bandstand.radio.selection.chosen import Glimpse
from bandstand.radio.selection.training_data import LONGEST, Reader

if TYPE_CHECKING:
    from bandstand.core.engines.engine import Engine
    from bandstand.core.engines.song_table import SongTable
    from bandstand.core.play_times import SongFeatures
    from bandstand.core.policies import ScorePolicy
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.log.play_table import PlayTable
    from bandstand.radio.selection.training_data import FeaturesOf, Told
    from bandstand.types import AnyArray

# More news than this are learnt sooner all at once.
_MOST_UPDATES: Final = 64
# What a belief refers to and does not own.
_SHARED: Final = ("history", "model", "prior")
# Of a history, beside the features: elapsed time, diversity, rating and weight.
_OTHER_COLUMNS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stage:
    """A shelf's features, with the column of ones or without it."""

    catalogue: SongFeatures
    table: SongTable | None
    intercept: bool

    @classmethod
    def on(cls, shelf: Catalogue, *, intercept: bool) -> _Stage | None:
        """Return the features that are wanted; None while no song has any."""
        if shelf.song_features is None:
            return None
        if intercept:
            return cls(catalogue=shelf.song_features, table=shelf.table, intercept=True)
        bare = shelf.bare
        return None if bare is None else cls(catalogue=bare[0], table=bare[1], intercept=False)

    def reader(self, shelf: Catalogue, features_of: FeaturesOf) -> Reader:
        return Reader(shelf, self.catalogue, features_of, intercept=self.intercept)

    def memory(self, engine: Engine[Any]) -> Any:
        """Return room for what an engine keeps of these songs for one listener."""
        never = PlayTimes.nothing(len(self.catalogue), longest=LONGEST)
        return engine.remember(self.catalogue.songs(never, LONGEST), shared=self.table)


@dataclass(frozen=True, kw_only=True, eq=False)
class Learner:
    """A listener's engine and policy over one shelf, and what the engine believes by now."""

    catalogue: SongFeatures  # with the column of ones, or without it
    engine: Engine[Any]
    policy: ScorePolicy
    memory: Any  # of the engine: it belongs to this listener and is used by one thread at a time
    reader: Reader
    seed: int
    told: Told
    belief: Any
    # Before the last play, which may still be rated, or be taken back.
    earlier: Learner | None = None

    @classmethod
    def begin(
        cls,
        shelf: Catalogue,
        plays: PlayTable,
        *,
        algorithm: str,
        intercept: bool,
        seed: int,
        features_of: FeaturesOf,
    ) -> Learner | None:
        """Return what is learnt from all plays; None while no song has features."""
        named, stage = algorithm_named(algorithm), _Stage.on(shelf, intercept=intercept)
        if stage is None:
            return None
        prior = radio_prior(stage.catalogue.features.shape[1], intercept=intercept)
        engine = named.engine_for(prior, basis=RADIO_BASIS)
        reader = stage.reader(shelf, features_of)
        told = reader.told(plays)
        return cls(
            catalogue=stage.catalogue,
            engine=engine,
            policy=named.policy,
            memory=stage.memory(engine),
            reader=reader,
            seed=seed,
            told=told,
            belief=_fitted(engine, told.history, seed),
        )

    def follow(self, plays: PlayTable) -> Learner:
        """Return what is learnt after more plays: the same as begun with them, only sooner."""
        for known in (self, self.earlier):
            told = None if known is None else known.reader.continued(known.told, plays)
            if known is not None and told is not None:
                return known.after(told)
        told = self.reader.told(plays)
        belief = _fitted(self.engine, told.history, self.seed)
        return replace(self, told=told, belief=belief, earlier=None)

    def after(self, told: Told) -> Learner:
        """Return what is learnt when all that was told is followed by more."""
        belief, more = self._updated(told.history), len(told.plays) - len(self.told.plays)
        if more == 0:
            return replace(self, told=told, belief=belief)
        is_near = more == 1 and _share_most(belief, self.belief)
        earlier = replace(self, earlier=None) if is_near else None
        return replace(self, told=told, belief=belief, earlier=earlier)

    def moved(
        self, shelf: Catalogue, *, intercept: bool, features_of: FeaturesOf
    ) -> Learner | None:
        """Return the same learner over another shelf; None where it has to begin anew.

        Songs that came or went change nothing of what is believed of a listener, as long as the
        songs that were heard sound as they did.
        """
        stage = _Stage.on(shelf, intercept=intercept)
        if stage is None or stage.catalogue.features.shape[1] != self.told.history.columns:
            return None
        reader = stage.reader(shelf, features_of)
        told = reader.told(self.told.plays)
        if not _says_the_same(self.engine, told.history, self.told.history):
            return None
        return replace(
            self,
            catalogue=stage.catalogue,
            memory=stage.memory(self.engine),
            reader=reader,
            told=told,
            belief=replace(self.belief, history=told.history),
            earlier=None,
        )

    @property
    def is_worn(self) -> bool:
        """Whether `prepared` has something to do; to find out takes no time."""
        is_worn = getattr(self.engine, "is_worn", None)
        return is_worn is not None and bool(is_worn(self.belief))

    def prepared(self) -> Learner | None:
        """Return the same learner, ready for more answers; None if it is.

        It may take a while, and can be done at any time: what is believed stays the same.
        """
        prepare = getattr(self.engine, "prepared", None)
        belief = None if prepare is None else prepare(self.belief)
        return None if belief is None else replace(self, belief=belief)

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
        believed = getattr(self.belief, "nbytes", None)
        believed = _bytes_of(self.belief) if believed is None else int(believed)
        return believed + _bytes_of(self.told.history) + int(getattr(self.memory, "nbytes", 0))

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
        return belief


def _fitted(engine: Engine[Any], history: History, seed: int) -> Any:
    return engine.fit(history, rng=randomness(seed, len(history), "learn"))


def _share_most(belief: Any, earlier: Any) -> bool:
    """Return whether two beliefs together take hardly more room than one."""
    if not isinstance(belief, ExactBelief):
        return True  # they are small
    same: bool = belief.learnt.base is earlier.learnt.base
    return same


def _says_the_same(engine: Engine[Any], history: History, other: History) -> bool:
    """Return whether an engine would learn the same from two histories."""
    names = ["ratings", "weights", "elapsed", "features"]
    factors = engine.model.factors if isinstance(engine, Variational) else ()
    if any(factor.name == "diversity" for factor in factors):
        names.append("diversity")  # which is measured by the shelf
    return len(history) == len(other) and all(
        np.array_equal(getattr(history, name), getattr(other, name)) for name in names
    )


def _only(values: AnyArray | None) -> float | None:
    return None if values is None else float(values[0])


def _bytes_of(value: object) -> int:
    """Return how much arrays take, and what is made of them; other things are small."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, History):
        return int(value.features.nbytes + _OTHER_COLUMNS * value.ratings.nbytes)
    if isinstance(value, tuple | list):
        return sum(map(_bytes_of, value))
    if not is_dataclass(value):
        return 0
    own = [field.name for field in fields(value) if field.name not in _SHARED]
    return sum(_bytes_of(getattr(value, name)) for name in own)
