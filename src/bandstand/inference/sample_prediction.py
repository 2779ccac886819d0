"""A prediction made of draws: what U would be under each drawn listener.

code                 maths  shape   meaning
`preferences`        θ      (D, p)  one drawn listener per row; None where none can be drawn
`recovery_times`     s      (D,)    of the same listeners, in minutes
`degrees_of_freedom` 2A             of the tails of p(U | D), which say what exists

Draws are always finite, but the averages that they stand for may not exist: the mean
needs more than one degree of freedom, the standard deviation more than two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.model.novelty import novelty
from bandstand.model.ranking import best_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bandstand.arrays import Indices, Matrix, Vector
    from bandstand.domain import Songs

# Numbers held at a time for each table of songs by draws: 16 MB, whatever the catalogue.
_TABLE: Final = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePrediction:
    """p(U | D) of each song as draws."""

    songs: Songs
    preferences: Matrix | None
    recovery_times: Vector
    degrees_of_freedom: float

    def __len__(self) -> int:
        return len(self.songs)

    def mean(self) -> Vector | None:
        """Return the mean of the draws, where p(U | D) has one."""
        if self.preferences is None or self.degrees_of_freedom <= 1:
            return None
        return self._for_each_song(self.preferences, lambda table: table.mean(axis=1))

    def standard_deviation(self) -> Vector | None:
        """Return the standard deviation of the draws, where p(U | D) has one."""
        if self.preferences is None or self.degrees_of_freedom <= 2:
            return None
        return self._for_each_song(self.preferences, lambda table: table.std(axis=1))

    def quantile(self, level: float) -> Vector | None:
        """Return the empirical quantile of the draws."""
        if self.preferences is None:
            return None
        return self._for_each_song(
            self.preferences, lambda table: np.quantile(table, level, axis=1, overwrite_input=True)
        )

    def sample(self, rng: np.random.Generator, size: int) -> Matrix | None:
        """Return the expected ratings of `size` listeners picked among the drawn: (size, S)."""
        if self.preferences is None:
            return None
        picked = rng.integers(len(self.recovery_times), size=size)
        return _ratings(self.songs, self.preferences[picked], self.recovery_times[picked]).T

    def parts(self) -> dict[str, Vector]:
        """Return the expected liking of the content alone and the expected novelty now."""
        times, which = np.unique(self.songs.elapsed, return_inverse=True)
        curves = [float(novelty(time, self.recovery_times).mean()) for time in times]
        parts: dict[str, Vector] = {}
        if self.preferences is not None and self.degrees_of_freedom > 1:
            parts["content"] = self.songs.features @ self.preferences.mean(axis=0)
        parts["novelty"] = np.asarray(curves, dtype=np.float64)[which]
        return parts

    def best_by_quantile(self, level: float, count: int, allowed: Indices) -> Indices:
        """Return the rows of the `count` largest quantiles among `allowed`, best first."""
        scores = np.full(len(self), -np.inf)
        found = SamplePrediction(
            songs=self.songs.take(allowed),  # type: ignore[arg-type]
            preferences=self.preferences,
            recovery_times=self.recovery_times,
            degrees_of_freedom=self.degrees_of_freedom,
        ).quantile(level)
        if found is None:
            return allowed[:0]
        scores[allowed] = found
        return best_rows(scores, count, allowed)

    def _for_each_song(self, preferences: Matrix, function: Callable[[Matrix], Vector]) -> Vector:
        """Return `function` of the draws of each song, a bounded number of songs at a time."""
        values = np.empty(len(self))
        for rows in self._chunks():
            songs = self.songs.take(rows)
            with np.errstate(under="ignore"):
                values[rows] = function(_ratings(songs, preferences, self.recovery_times))
        return values

    def _chunks(self) -> Iterator[slice]:
        length = max(1, _TABLE // len(self.recovery_times))
        for start in range(0, len(self), length):
            yield slice(start, start + length)


def _ratings(songs: Songs, preferences: Matrix, recovery_times: Vector) -> Matrix:
    """Return U (3) of each song under each drawn listener: (S, D)."""
    # Most songs of a catalogue share an elapsed time: never heard.
    times, which = np.unique(songs.elapsed, return_inverse=True)
    with np.errstate(under="ignore"):
        ratings: Matrix = songs.features @ preferences.T
        ratings *= novelty(times[:, np.newaxis], recovery_times)[which]
    return ratings
