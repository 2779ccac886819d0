"""The protocol of every inference engine.

    history ── fit ──▶ belief ── predict ──▶ prediction of any songs
                         ▲ │
       one more answer ──┘ └── update is `fit` of the longer history, only sooner

An engine is a frozen value that holds its prior and its settings; a belief is a
frozen value that holds what was learned, with the history it was learned from.
"""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Final, Protocol, TypeVar

import numpy as np

from bandstand.core.engines.song_table import SongTable
from bandstand.core.model.history import History, Songs
from bandstand.core.model.prediction import Prediction
from bandstand.core.model.priors import ListenerPrior
from bandstand.errors import InvalidInputError
from bandstand.types import Features

# Fields of a belief that it refers to and does not own.
_SHARED: Final = ("before", "history", "model", "prior")


def refuse_effects(prior: ListenerPrior, algorithm: str) -> None:
    """Refuse a prior with effects of names or kinds of listeners, which only `Exact` learns."""
    if prior.effects.total or prior.kinds:
        msg = f"a prior for {algorithm} must have no effects and no kinds, got one that has"
        raise InvalidInputError(msg)


class Belief(Protocol):
    """A frozen dataclass with what was learned from a history."""

    @property
    def history(self) -> History:
        """The answers that it was learned from."""
        ...


class EngineCache(Protocol):
    """What an engine keeps between two predictions of one catalogue, for one listener."""

    @property
    def nbytes(self) -> int:
        """Its size."""
        ...


BeliefT = TypeVar("BeliefT", bound=Belief)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The numbers of a belief that people ask for; `None` is what does not exist (yet)."""

    recovery_time_mean: float | None = None  # minutes
    recovery_time_sd: float | None = None  # minutes
    noise_sd: float | None = None  # in units of the rating: E[σ | D]


class Engine(Protocol[BeliefT]):
    """Turns a listener's history into a belief, and a belief into predictions.

    Engines inherit from it: the methods with a body suit engines with small, quick beliefs.
    """

    # Whether `update` ends where `fit` would, to rounding; others may end a little elsewhere.
    online: ClassVar[bool]

    def fit(self, history: History, *, rng: np.random.Generator) -> BeliefT:
        """Return the belief after `history`, from scratch."""
        ...

    def update(self, belief: BeliefT, history: History, *, rng: np.random.Generator) -> BeliefT:
        """Return the belief after `history`, which is the belief's own plus one answer."""
        ...

    def predict(self, belief: BeliefT, songs: Songs, *, memory: Any = None) -> Prediction:
        """Return the prediction of `songs`; `memory` is a cache from `new_cache` for them."""
        ...

    def plan(self, belief: BeliefT, song: Songs) -> BeliefT:
        """Return the belief as if the one `song` had been heard and its rating were still to come.

        It only grows more certain; the expectation stays. Playlists are planned with it.
        """
        ...

    def summary(self, belief: BeliefT) -> Summary:
        """Return the numbers that people ask for."""
        ...

    def new_cache(
        self,
        features: Features,
        *,
        table: SongTable | None = None,
    ) -> EngineCache | None:
        """Return an empty cache for predictions of one catalogue; None where nothing is kept.

        `table` is that of the same features, if there is one already: listeners can share it.
        """
        del features, table
        return None

    def needs_rebuild(self, belief: BeliefT) -> bool:
        """Return whether `rebuilt` would change the belief's form; this takes no time."""
        del belief
        return False

    def rebuilt(self, belief: BeliefT) -> BeliefT:
        """Return the same belief in the form that is quickest to update; it may take a while."""
        return belief

    def is_converged(self, belief: BeliefT) -> bool:
        """Return whether one more `update` of the belief is quicker than a `fit`."""
        del belief
        return True

    def shares_arrays(self, belief: BeliefT, earlier: BeliefT) -> bool:
        """Return whether both beliefs together take hardly more memory than one."""
        del belief, earlier
        return True


def array_bytes(value: object) -> int:
    """Return the size of the arrays in a value, but for those that it shares."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, tuple | list):
        return sum(map(array_bytes, value))
    if not is_dataclass(value):
        return 0
    own = (field.name for field in fields(value) if field.name not in _SHARED)
    return sum(array_bytes(getattr(value, name)) for name in own)
