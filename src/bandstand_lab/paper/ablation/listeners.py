"""People who add: a song that is worn out loses the same, whether it is loved or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand.model.novelty import novelty

if TYPE_CHECKING:
    from bandstand.domain import Songs
    from bandstand.types import Features, Vector
    from bandstand_lab.simulation.listener import SimulatedListener


@dataclass(frozen=True, slots=True, kw_only=True)
class AddingListener:
    """U = θ'x + b·(1 − exp(−t/s)) plus normal noise; θ, s and the noise are another listener's."""

    like: SimulatedListener
    novelty_worth: float  # b: what a new song has over the same song just heard

    @property
    def recovery_time(self) -> float:
        """The true s, in minutes."""
        return self.like.recovery_time

    def liking(self, features: Features) -> Vector:
        """Return what each song would be worth if it were new."""
        return np.asarray(self.like.liking(features) + self.novelty_worth)

    def expected_rating(self, songs: Songs) -> Vector:
        """Return U of each song."""
        curve = novelty(songs.elapsed, self.recovery_time)
        return np.asarray(self.like.liking(songs.features) + self.novelty_worth * curve)

    def rate(self, songs: Songs, rng: np.random.Generator) -> Vector:
        """Return U plus noise for each song."""
        noise = self.like.noise_standard_deviation * rng.standard_normal(len(songs))
        return np.asarray(self.expected_rating(songs) + noise)
