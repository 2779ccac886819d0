"""The battery's players: Bandstand's algorithms, and what other programs do.

A player chooses songs and learns each answer. `Similar` is the radio of most products: the
nearest song to what was liked. `Neighbours` and `GaussianProcess` are regressions on sound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.scaling import Standardiser
from bandstand.core.recommender import Recommender
from bandstand.types import Minutes
from bandstand_lab.simulation.session import EVERYDAY

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.types import Matrix, Vector
    from bandstand_lab.people.worlds import Library

    Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

_NEIGHBOURS: Final = 10
_LIKED: Final = 4.0  # stars
# The Gaussian process: a prior of 3 ± 1 stars, and the level of its upper bound.
_MIDDLE, _SIGNAL, _NOISE, _BOUND = 3.0, 1.0, 0.5, 1.0


class Forecast(NamedTuple):
    """What a player expects of each song, and how far it says an answer may be from that."""

    mean: Vector
    standard_deviation: Vector | None = None


class Player(Protocol):
    """Chooses songs for one listener."""

    def choose(self, allowed: Mask) -> int | None:
        """Return the row of the song to play, one of those allowed; None while all are equal."""
        ...

    def learn(self, row: int, rating: float, weight: float) -> None:
        """Learn the rating of a song; one that counts less has a weight below 1."""
        ...

    def forecast(self) -> Forecast | None:
        """Return what is expected of each song, as a rating; None if there is nothing."""
        ...


class Ours:
    """One of Bandstand's algorithms, with a song every four minutes."""

    def __init__(self, library: Library, algorithm: str) -> None:
        self._radio = Recommender(
            features=library.features,
            artists=library.artist.tolist(),
            albums=library.album.tolist(),
            tags=library.tags,
            algorithm=algorithm,
        )

    @property
    def _now(self) -> float:
        return EVERYDAY.moment(self._radio.step)

    def choose(self, allowed: Mask) -> int | None:
        """Return the algorithm's own choice; the first song is drawn."""
        model = self._radio.model
        if model.step == 1:
            return None
        now = Minutes(self._now / 60)
        return int(model.choose(now, count=1, allowed=CandidateSet.marked(allowed))[0])

    def learn(self, row: int, rating: float, weight: float) -> None:
        """Learn the rating of a song."""
        self._radio.update(row, rating=rating, time=self._now, weight=weight)

    def forecast(self) -> Forecast | None:
        """Return mean and standard deviation of a rating: of the expectation, and of noise."""
        prediction = self._radio.predict(at=self._now)
        mean, doubt = prediction.mean(), prediction.standard_deviation()
        noise = self._radio.summary().noise_sd
        if mean is None:
            return None
        if doubt is None or noise is None:
            return Forecast(mean)
        return Forecast(mean, np.hypot(doubt, noise))


class SoundOnly(Ours):
    """One of Bandstand's algorithms that is given no names."""

    def __init__(self, library: Library, algorithm: str) -> None:
        self._radio = Recommender(features=library.features, algorithm=algorithm)


class Chance:
    """Any song."""

    def __init__(self, library: Library) -> None:
        del library

    def choose(self, allowed: Mask) -> None:
        """Return None: all songs are equal."""

    def learn(self, row: int, rating: float, weight: float) -> None:
        """Learn nothing."""

    def forecast(self) -> None:
        """Return None: nothing is expected."""


class _OnSound(ABC):
    """A player that scores songs by sound, from those rated before."""

    def __init__(self, library: Library) -> None:
        sound = Standardiser.fit(library.features).apply(library.features)[:, :-1]
        self._sound: Matrix = np.asarray(sound, dtype=np.float64)
        self._rows: list[int] = []
        self._ratings: list[float] = []
        self._weights: list[float] = []

    @abstractmethod
    def scores(self) -> Vector | None:
        """Return a score for each song; None while all are equal."""

    def choose(self, allowed: Mask) -> int | None:
        """Return the song with the highest score."""
        scores = self.scores()
        return None if scores is None else int(np.argmax(np.where(allowed, scores, -np.inf)))

    def learn(self, row: int, rating: float, weight: float) -> None:
        """Learn the rating of a song."""
        self._rows.append(row)
        self._ratings.append(rating)
        self._weights.append(weight)

    def _distances(self, rows: list[int]) -> Matrix:
        """Return the squared distance of every song to each of some."""
        some = self._sound[rows]
        lengths = (self._sound**2).sum(axis=1)[:, np.newaxis] + (some**2).sum(axis=1)
        return np.asarray(np.maximum(lengths - 2 * self._sound @ some.T, 0.0))


class Neighbours(_OnSound):
    """The mean rating of the ten nearest songs."""

    def scores(self) -> Vector | None:
        """Return that mean."""
        if not self._rows:
            return None
        few = min(_NEIGHBOURS, len(self._rows))
        nearest = np.argpartition(self._distances(self._rows), few - 1, axis=1)[:, :few]
        ratings, weights = (np.array(each)[nearest] for each in (self._ratings, self._weights))
        return np.asarray(np.average(ratings, axis=1, weights=weights))

    def forecast(self) -> Forecast | None:
        """Return the same mean."""
        mean = self.scores()
        return None if mean is None else Forecast(mean)


class Similar(_OnSound):
    """The song nearest to any that was liked."""

    def scores(self) -> Vector | None:
        """Return how near each song is; None before one was liked."""
        liked = [row for row, r in zip(self._rows, self._ratings, strict=True) if r >= _LIKED]
        return -self._distances(liked).min(axis=1) if liked else None

    def forecast(self) -> None:
        """Return None: nearness is no rating."""


class GaussianProcess(_OnSound):
    """The upper bound of a Gaussian process regression with a squared exponential kernel."""

    def __init__(self, library: Library) -> None:
        super().__init__(library)
        from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: PLC0415  # slow
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel  # noqa: PLC0415

        # Two songs are √(2p) apart in the mean, where p is the number of features.
        kernel = ConstantKernel(_SIGNAL) * RBF(np.sqrt(2 * self._sound.shape[1]))
        self._regressor: Any = GaussianProcessRegressor(
            kernel=kernel, alpha=_NOISE**2, optimizer=None
        )
        self._found: Forecast | None = None

    def learn(self, row: int, rating: float, weight: float) -> None:
        """Learn the rating of a song."""
        super().learn(row, rating, weight)
        self._regressor.alpha = _NOISE**2 / np.array(self._weights)
        self._regressor.fit(self._sound[self._rows], np.array(self._ratings) - _MIDDLE)
        mean, doubt = self._regressor.predict(self._sound, return_std=True)
        self._found = Forecast(mean + _MIDDLE, doubt)

    def scores(self) -> Vector | None:
        """Return that bound."""
        found = self._found
        if found is None or found.standard_deviation is None:
            return None
        return np.asarray(found.mean + _BOUND * found.standard_deviation)

    def forecast(self) -> Forecast | None:
        """Return mean and standard deviation of a rating."""
        found = self._found
        if found is None or found.standard_deviation is None:
            return None
        return Forecast(found.mean, np.hypot(found.standard_deviation, _NOISE))


OURS: Final = "mixed-effects"
BEFORE: Final = "bayes-ucb-cn-x"
PLAYERS: Final[dict[str, Callable[[Library], Player]]] = {
    OURS: lambda library: Ours(library, OURS),
    BEFORE: lambda library: SoundOnly(library, BEFORE),
    "linucb-c": lambda library: SoundOnly(library, "linucb-c"),
    "k-NN": Neighbours,
    "similarity": Similar,
    "Gaussian process": GaussianProcess,
    "random": Chance,
}
RIVALS: Final = ("linucb-c", "k-NN", "similarity", "Gaussian process")
