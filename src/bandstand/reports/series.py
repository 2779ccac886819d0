"""The numbers of a session, one per song, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.arrays import Vector
    from bandstand.simulation.learning import Glimpse


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """What the listener gave to the radio and to a random one, and would have given at best."""

    radio: Vector
    random: Vector
    best: Vector

    @classmethod
    def of(cls, glimpses: Sequence[Glimpse]) -> Ratings:
        """Return the ratings of each song."""
        return cls(
            radio=np.array([glimpse.step.rating for glimpse in glimpses]),
            random=np.array([glimpse.random.rating for glimpse in glimpses]),
            best=np.array([glimpse.step.best_expected_rating for glimpse in glimpses]),
        )

    def smoothed(self, window: int) -> Ratings:
        """Return the means of the last `window` ratings."""
        return Ratings(
            radio=trailing_mean(self.radio, window),
            random=trailing_mean(self.random, window),
            best=trailing_mean(self.best, window),
        )


def trailing_mean(values: Sequence[float] | Vector, window: int) -> Vector:
    """Return at each place the mean of the last `window` values, of fewer at the start.

    >>> trailing_mean([1.0, 3.0, 5.0, 7.0], 2).tolist()
    [1.0, 2.0, 4.0, 6.0]
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(sums))
    starts = np.maximum(ends - window, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))
