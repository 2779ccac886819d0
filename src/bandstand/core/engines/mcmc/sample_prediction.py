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

from bandstand.core.engines.song_blocks import BLOCK, blocks, content
from bandstand.core.model.candidates import allowed_of
from bandstand.core.model.novelty import novelty
from bandstand.core.model.ranking import best_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.core.model.candidates import Choice
    from bandstand.core.model.songs import Rows, Songs
    from bandstand.types import Indices, Matrix, Vector

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
        return self._for_each_song(self.preferences, _quantile(level))

    def sample(self, rng: np.random.Generator, size: int) -> Matrix | None:
        """Return the expected ratings of `size` listeners picked among the drawn: (size, S)."""
        if self.preferences is None:
            return None
        picked = rng.integers(len(self.recovery_times), size=size)
        drawn = np.empty((size, len(self)))
        for rows in blocks(len(self), _songs_at_a_time(size)):
            drawn[:, rows] = _ratings(
                self.songs, rows, self.preferences[picked], self.recovery_times[picked]
            ).T
        return drawn

    def parts(self) -> dict[str, Vector]:
        """Return the expected liking of the content alone and the expected novelty now."""
        parts: dict[str, Vector] = {}
        if self.preferences is not None and self.degrees_of_freedom > 1:
            parts["content"] = content(self.songs, self.preferences.mean(axis=0))
        # All songs that were not heard lately have one novelty.
        curves = np.full(len(self), self._novelty(self.songs.longest))
        heard = self.songs.heard
        times, which = np.unique(self.songs.elapsed_of(heard), return_inverse=True)
        curves[heard] = np.array([self._novelty(time) for time in times])[which]
        return {**parts, "novelty": curves}

    def best_by_quantile(self, level: float, count: int, allowed: Choice) -> Indices:
        """Return the rows of the `count` largest quantiles among `allowed`, best first."""
        rows = allowed_of(allowed, len(self)).rows()
        if self.preferences is None:
            return rows[:0]
        scores = self._for_each_song(self.preferences, _quantile(level), rows)
        return rows[best_rows(scores, count, np.arange(len(rows)))]

    def _novelty(self, elapsed: float) -> float:
        return float(novelty(elapsed, self.recovery_times).mean())

    def _for_each_song(
        self,
        preferences: Matrix,
        function: Callable[[Matrix], Vector],
        rows: Indices | None = None,
    ) -> Vector:
        """Return `function` of the draws of each song, or of those in `rows`, some at a time."""
        count = len(self) if rows is None else len(rows)
        values = np.empty(count)
        for places in blocks(count, _songs_at_a_time(len(self.recovery_times))):
            some = places if rows is None else rows[places]
            with np.errstate(under="ignore"):
                values[places] = function(
                    _ratings(self.songs, some, preferences, self.recovery_times)
                )
        return values


def _quantile(level: float) -> Callable[[Matrix], Vector]:
    return lambda table: np.quantile(table, level, axis=1, overwrite_input=True)


def _songs_at_a_time(draws: int) -> int:
    return min(max(1, _TABLE // max(draws, 1)), BLOCK)


def _ratings(songs: Songs, rows: Rows, preferences: Matrix, recovery_times: Vector) -> Matrix:
    """Return U (3) of the songs in `rows` under each drawn listener: (n, D)."""
    # Most songs of a catalogue share an elapsed time: never heard.
    times, which = np.unique(songs.elapsed_of(rows), return_inverse=True)
    with np.errstate(under="ignore"):
        ratings: Matrix = songs.features_of(rows) @ preferences.T
        ratings *= novelty(times[:, np.newaxis], recovery_times)[which]
    return ratings
