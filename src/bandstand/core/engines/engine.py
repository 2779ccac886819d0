"""The one protocol behind which every inference engine stands.

    history ── fit ──▶ belief ── predict ──▶ prediction of any songs
                         ▲ │
       one more answer ──┘ └── update is `fit` of the longer history, only sooner

An engine is a frozen value that holds its prior and its settings; a belief is a
frozen value that holds what was learnt, with the history it was learnt from.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from bandstand.core.engines.song_table import SongTable
from bandstand.core.model.history import History, Songs
from bandstand.core.model.prediction import Prediction

BeliefT = TypeVar("BeliefT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a person wants to know of a belief; `None` is what does not exist (yet)."""

    recovery_time_mean: float | None = None  # minutes
    recovery_time_sd: float | None = None  # minutes
    noise_sd: float | None = None  # in units of the rating: E[σ | D]


class Engine(Protocol[BeliefT]):
    """Turns a listener's history into a belief, and a belief into predictions."""

    # Whether `update` ends where `fit` would, to rounding; others may end a little elsewhere.
    online: ClassVar[bool]

    def fit(self, history: History, *, rng: np.random.Generator) -> BeliefT:
        """Return what is believed after `history`, from scratch."""
        ...

    def update(self, belief: BeliefT, history: History, *, rng: np.random.Generator) -> BeliefT:
        """Return what is believed after `history`, which is the belief's own plus one answer."""
        ...

    def predict(self, belief: BeliefT, songs: Songs, *, memory: Any = None) -> Prediction:
        """Return the prediction of `songs`; `memory` is what `remember` gave for them."""
        ...

    def plan(self, belief: BeliefT, song: Songs) -> BeliefT:
        """Return the belief as if the one `song` had been heard and its rating were still to come.

        It only grows more certain; what it expects stays. Playlists are planned with it.
        """
        ...

    def remember(self, songs: Songs, *, shared: SongTable | None = None) -> Any:
        """Return room for what is worth keeping about a fixed set of songs between steps.

        `shared` is the table of the same songs, if there is one already: many listeners need
        it only once.
        """
        ...

    def summary(self, belief: BeliefT) -> Summary:
        """Return the numbers that people ask for."""
        ...
