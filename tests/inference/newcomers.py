"""Listeners who have answered little, and songs that are new to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand.domain import History, Songs
from bandstand.inference.covariance_base import Diagonal
from bandstand.inference.exact import Exact
from bandstand.inference.exact_outline import ExactView
from bandstand.inference.song_table import SongTable
from bandstand.model.priors import paper_prior, radio_prior

if TYPE_CHECKING:
    from bandstand.inference.exact import ExactBelief
    from bandstand.types import AnyArray, Indices, Vector

LONGEST = 43_200.0
SONGS = 200


def songs_of(rng: np.random.Generator, columns: int, tail: float) -> AnyArray:
    """Return songs whose lengths differ by a factor e^tail or so, one of them without features."""
    features = rng.normal(size=(SONGS, columns)) * np.exp(tail * rng.normal(size=(SONGS, 1)))
    features[7] = 0.0
    return features.astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Newcomer:
    """A belief whose covariances have one basis, and songs that were never heard."""

    engine: Exact
    belief: ExactBelief
    features: AnyArray
    longest: float

    @classmethod
    def drawn(
        cls,
        seed: int,
        *,
        ratings: int,
        columns: int,
        tail: float = 0.0,
        planned: int = 0,
        longest: float = LONGEST,
        again: int = 0,
    ) -> Newcomer | None:
        """Return one who has heard some songs `again`; None where the common form does not suit."""
        rng = np.random.default_rng(seed)
        features = songs_of(rng, columns, tail)
        heard = features[rng.integers(SONGS, size=ratings)].astype(np.float64)
        engine = Exact(prior=radio_prior(columns) if seed % 2 else paper_prior(columns))
        given = 3 + heard @ rng.normal(size=columns) + rng.normal(size=ratings)
        elapsed = np.full(ratings, longest)
        elapsed[:again] = rng.uniform(5.0, longest / 20, size=len(elapsed[:again]))
        belief = engine.fit(History.of(features=heard, elapsed=elapsed, ratings=given))
        if not isinstance(belief.spread.base, Diagonal):
            return None
        for row in range(planned):
            song = features[row : row + 1].astype(np.float64)
            belief = engine.plan(belief, Songs.of(features=song, elapsed=longest))
        return cls(engine=engine, belief=belief, features=features, longest=longest)

    @property
    def rows(self) -> Indices:
        """All songs."""
        return np.arange(len(self.features))

    @property
    def table(self) -> SongTable:
        """The songs as they are looked at roughly."""
        return SongTable.of(self.features)

    def view(self, level: float) -> ExactView:
        """Return the question for a quantile."""
        return ExactView(self.belief, level, self.longest)

    def quantiles(self, level: float) -> Vector:
        """Return the quantiles of all songs."""
        songs = Songs.of(features=self.features.astype(np.float64), elapsed=self.longest)
        quantiles = self.engine.predict(self.belief, songs).quantile(level)
        assert quantiles is not None
        return quantiles
