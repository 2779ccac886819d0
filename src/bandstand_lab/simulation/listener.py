"""Listeners whose taste is known, because it was drawn: the truth that learning is judged by.

code                        maths  meaning
`preference`                θ      how much each feature of a song is liked
`recovery_time`             s      minutes after which 63 % of a song's novelty is back
`noise_standard_deviation`  σ      how far two ratings of the same thing differ

The paper draws θ ~ N(0, I) and s ~ U(100, 1000) and lets its listeners answer with any real
number (4); it does not give σ. `StarListener` answers as people do, with whole stars.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from scipy.special import ndtr

from bandstand.core.model.history import Songs
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import require_positive
from bandstand.errors import InvalidInputError
from bandstand.types import Features, Vector, frozen

SHORTEST_RECOVERY: Final = 100.0
LONGEST_RECOVERY: Final = 1_000.0

# Between these values of U + noise the number of stars changes.
_STAR_BORDERS: Final = (1.5, 2.5, 3.5, 4.5)
_MIDDLE_STAR: Final = 3.0
# Narrow enough that hardly a song of some hundreds would deserve far more than five stars.
_STAR_SPREAD: Final = 0.85
_STAR_NOISE: Final = 0.5


class Listener(Protocol):
    """A listener who rates songs, and whose expected ratings are known to the experiment."""

    def expected_rating(self, songs: Songs) -> Vector:
        """Return the mean of what would be answered, for each song."""
        ...

    def rate(self, songs: Songs, rng: np.random.Generator) -> Vector:
        """Return an answer for each song."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedListener:
    """A listener of the paper: U = θ'x · (1 − exp(−t/s)) plus Gaussian noise, (1) to (4).

    >>> from bandstand import Songs
    >>> listener = SimulatedListener(
    ...     preference=np.array([2.0, 1.0]), recovery_time=300.0, noise_standard_deviation=0.5
    ... )
    >>> songs = Songs.of(features=[[1.0, 1.0], [1.0, 1.0]], elapsed=[300, 43_200])
    >>> listener.expected_rating(songs).round(2).tolist()
    [1.9, 3.0]
    """

    preference: Vector
    recovery_time: float
    noise_standard_deviation: float

    def __post_init__(self) -> None:
        """Refuse a listener that the model has no place for."""
        require_positive(recovery_time=self.recovery_time)
        if self.preference.ndim != 1 or not np.isfinite(self.preference).all():
            msg = f"the preference must be one finite number per feature, got {self.preference}"
            raise InvalidInputError(msg)
        if not 0 <= self.noise_standard_deviation < math.inf:
            msg = (
                "noise_standard_deviation must be finite and not negative, "
                f"got {self.noise_standard_deviation}"
            )
            raise InvalidInputError(msg)

    @classmethod
    def drawn(
        cls, columns: int, rng: np.random.Generator, *, noise_standard_deviation: float = 1.0
    ) -> SimulatedListener:
        """Return a listener drawn as in the paper: θ ~ N(0, I), s ~ U(100, 1000)."""
        return cls(
            preference=frozen(rng.standard_normal(columns)),
            recovery_time=drawn_recovery_time(rng),
            noise_standard_deviation=noise_standard_deviation,
        )

    def liking(self, features: Features) -> Vector:
        """Return Uc = θ'x of each song (1)."""
        if features.shape[1] != len(self.preference):
            msg = (
                f"songs must have {len(self.preference)} features as this listener expects, "
                f"got {features.shape[1]}"
            )
            raise InvalidInputError(msg)
        with np.errstate(under="ignore"):
            return np.asarray(features @ self.preference)

    def expected_rating(self, songs: Songs) -> Vector:
        """Return U of each song (3)."""
        liking = self.liking(songs.features)
        with np.errstate(under="ignore"):
            return np.asarray(liking * novelty(songs.elapsed, self.recovery_time))

    def rate(self, songs: Songs, rng: np.random.Generator) -> Vector:
        """Return U plus noise for each song (4)."""
        with np.errstate(under="ignore"):
            noise = self.noise_standard_deviation * rng.standard_normal(len(songs))
        return np.asarray(self.expected_rating(songs) + noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class StarListener:
    """A listener who answers with 1 to 5 whole stars: U plus noise, rounded and kept in range.

    The radio's model knows nothing of rounding, so it is a little wrong about this listener, as
    it is about people. What to expect is exact: E[stars] = 1 + Σ P(U + noise > 1.5, 2.5, …).
    """

    feeling: SimulatedListener

    @classmethod
    def drawn(cls, columns: int, rng: np.random.Generator) -> StarListener:
        """Return a listener for standardised features with a constant 1 as last column.

        The direction of the taste is that of θ ~ N(0, I), and s ~ U(100, 1000), as in the paper;
        its size and the constant are such that unheard songs deserve 3 ± 0.85 stars.
        """
        direction = rng.standard_normal(columns - 1)
        taste = _STAR_SPREAD * direction / np.linalg.norm(direction)
        return cls(
            feeling=SimulatedListener(
                preference=frozen(np.append(taste, _MIDDLE_STAR)),
                recovery_time=drawn_recovery_time(rng),
                noise_standard_deviation=_STAR_NOISE,
            )
        )

    def expected_rating(self, songs: Songs) -> Vector:
        """Return the expected number of stars of each song, between 1 and 5."""
        felt = self.feeling.expected_rating(songs)
        spread = self.feeling.noise_standard_deviation
        if not spread:
            return _stars(felt)
        with np.errstate(over="ignore", under="ignore"):
            above = [ndtr((felt - border) / spread) for border in _STAR_BORDERS]
        return np.asarray(1 + np.sum(above, axis=0))

    def rate(self, songs: Songs, rng: np.random.Generator) -> Vector:
        """Return 1, 2, 3, 4 or 5 for each song."""
        return _stars(self.feeling.rate(songs, rng))


def drawn_recovery_time(rng: np.random.Generator) -> float:
    """Return s ~ U(100, 1000), in minutes."""
    return float(rng.uniform(SHORTEST_RECOVERY, LONGEST_RECOVERY))


def _stars(felt: Vector) -> Vector:
    """Return the number of borders that are passed, plus one."""
    return np.asarray(1.0 + np.searchsorted(_STAR_BORDERS, felt), dtype=np.float64)
