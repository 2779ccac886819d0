"""The listeners and songs that speed is measured on.

`PAPER`  features, taste and recovery time as in the paper's simulation, its prior; the noise,
         which the paper does not tell, has a standard deviation of 1
`STARS`  what the radio meets: standardised features with an intercept, whole stars from 1 to 5,
         the prior for real listeners; the data say less, so the posterior is wider
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import paper_prior, radio_prior
from bandstand.types import MONTH
from bandstand_lab.simulation.listener import SimulatedListener, StarListener

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import Matrix
    from bandstand_lab.simulation.listener import Listener

# Songs that were heard before were heard at most this many minutes ago: about two days.
_LONGEST_AGO: Final = 3_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A kind of listener, the songs that are played to it, and the prior that fits them."""

    name: str
    summary: str
    prior_for: Callable[[int], ListenerPrior]
    listener_for: Callable[[int, np.random.Generator], Listener]
    intercept: bool

    def features(self, songs: int, columns: int, rng: np.random.Generator) -> Matrix:
        """Return the features of a catalogue: (songs, columns)."""
        features = rng.standard_normal((songs, columns))
        if self.intercept:
            features[:, -1] = 1.0
        return features

    def history(self, ratings: int, columns: int, rng: np.random.Generator) -> History:
        """Return the answers of a new listener: half of the songs are new, half heard lately."""
        listener = self.listener_for(columns, rng)
        lately = rng.uniform(1.0, _LONGEST_AGO, ratings)
        songs = Songs.of(
            features=self.features(ratings, columns, rng),
            elapsed=np.where(rng.uniform(size=ratings) < 0.5, MONTH, lately),
            diversity=rng.uniform(0.5, 1.5, ratings),
        )
        return History.of(
            features=songs.features,
            elapsed=songs.elapsed,
            diversity=songs.diversity,
            ratings=listener.rate(songs, rng),
        )


PAPER: Final = World(
    name="paper",
    summary="the paper's simulated listener and prior",
    prior_for=paper_prior,
    listener_for=SimulatedListener.drawn,
    intercept=False,
)
STARS: Final = World(
    name="stars",
    summary="whole stars, an intercept and the prior for real listeners",
    prior_for=radio_prior,
    listener_for=StarListener.drawn,
    intercept=True,
)
