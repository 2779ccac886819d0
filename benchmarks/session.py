"""One simulated listener over a large catalogue, and the references that a step is compared with.

stream   the sum of the matrix: the least work that reads all of it once
LinUCB   A += xx'    b += r x    score = x'A⁻¹b + √(x'A⁻¹x), one product with all songs
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from bandstand.algorithms.recommender import Answer, Recommender
from bandstand.domain import Songs
from bandstand.units import MONTH

if TYPE_CHECKING:
    from bandstand.arrays import AnyArray, Indices, Vector
    from bandstand.domain import History
    from bandstand_lab.speed.world import World

# Songs drawn at a time, so that no second catalogue stands beside the first.
_BLOCK_ROWS: Final = 65_536
# Of the listener's past: songs per rating, and mean minutes between two ratings.
_POOL_PER_RATING: Final = 0.6
_MINUTES_APART: Final = 10.0
_SONG_MINUTES: Final = 4.0
# Brute force looks at this many songs with the highest means, and at as many random ones.
_BRUTE_FORCE_ROWS: Final = 4_096


def drawn_features(
    world: World, songs: int, columns: int, rng: np.random.Generator, *, out: Any = None
) -> AnyArray:
    """Return the features of a world's songs in single precision; `out` is filled if given."""
    table: AnyArray = np.empty((songs, columns), dtype=np.float32) if out is None else out
    for start in range(0, songs, _BLOCK_ROWS):
        block = table[start : start + _BLOCK_ROWS]
        block[:] = rng.standard_normal(block.shape, dtype=np.float32)
        if world.intercept:
            block[:, -1] = 1.0
    return table


def stream(features: AnyArray) -> float:
    """Return the sum of a matrix, which reads all of it once."""
    return float(features.sum(dtype=features.dtype))


class LinUcb:
    """LinUCB in plain NumPy, in the precision of its catalogue."""

    def __init__(self, catalogue: AnyArray, history: History) -> None:
        self.catalogue = catalogue
        self.precision = np.eye(catalogue.shape[1]) + history.features.T @ history.features
        self.evidence = history.features.T @ history.ratings
        self.covariance = np.linalg.inv(self.precision)

    def learn(self, features: Vector, rating: float) -> None:
        """Learn one rating."""
        self.precision += np.outer(features, features)
        self.evidence += rating * features
        self.covariance = np.linalg.inv(self.precision)

    def choose(self) -> int:
        """Return the row of the song with the largest score."""
        # Cast down first: NumPy would otherwise bring the whole catalogue to double precision.
        kind = self.catalogue.dtype
        covariance = self.covariance.astype(kind, copy=False)
        mean = self.catalogue @ (self.covariance @ self.evidence).astype(kind, copy=False)
        width = np.sqrt(((self.catalogue @ covariance) * self.catalogue).sum(axis=1))
        return int(np.argmax(mean + width))


class BackgroundRecommender(Recommender):
    """A recommender that also does the work which the radio does behind an answer."""

    def work_behind_answer(self) -> None:
        """Prepare the search and the belief for the next rating."""
        prepare_search = getattr(self._memory, "prepare", None)
        if prepare_search is not None:
            prepare_search()
        prepared = getattr(self.engine, "prepared", lambda _: None)(self.belief)
        if prepared is not None:
            self.belief = prepared


class Session:
    """A listener with a past, and the recommender that has learned from it.

    The past are ratings at random times: of songs that were heard `again` and again, or each of
    them once.
    """

    def __init__(
        self, world: World, features: AnyArray, *, ratings: int, seed: int, again: bool = True
    ) -> None:
        columns = features.shape[1]
        self.features = features
        self.rng = np.random.default_rng([seed, ratings, len(features)])
        self.listener = world.listener_for(columns, self.rng)
        self.minute = 0.0
        self._heard_at: dict[int, float] = {}
        self._pool = self._drawn(max(1, round(_POOL_PER_RATING * ratings)))
        rows = self.rng.choice(self._pool, ratings) if again else self._drawn(ratings)
        self.recommender = BackgroundRecommender(
            features=features, raw=True, prior=world.prior_for(columns)
        )
        past = [self._rated(int(row), self.rng.exponential(_MINUTES_APART)) for row in rows]
        self.recommender.replay(past)

    def rate(self, row: int) -> Answer:
        """Return the listener's rating of a song that has just ended."""
        return self._rated(row, _SONG_MINUTES)

    def learn(self, answer: Answer) -> None:
        """Learn one rating."""
        self.recommender.update(answer.song, answer.rating, answer.time)

    def choose(self) -> int:
        """Return the row of the song to play now."""
        (song,) = self.recommender.recommend(1, at=60 * self.minute)
        return cast("int", song)  # ids are rows

    def playlist(self, count: int) -> list[int]:
        """Return the rows of the next songs, each chosen as if those before had been heard."""
        planned = self.recommender.playlist(count, minutes=_SONG_MINUTES, at=60 * self.minute)
        return [cast("int", one.song) for one in planned]

    def random_row(self) -> int:
        """Return one of the songs that the listener hears again and again."""
        return int(self.rng.choice(self._pool))

    def is_best(self, choice: int) -> bool:
        """Return whether brute force finds no better song than `choice`.

        In a large catalogue it looks at the songs with the highest means and at random ones.
        """
        radio, now = self.recommender, 60 * self.minute
        rows = np.append(self._brute_force_rows(), choice)
        prediction = radio.predict(only=rows.tolist(), at=now)
        scores = radio.policy.scores(prediction, step=radio.step, rng=radio.randomness())
        return bool(np.isclose(scores[-1], scores.max(), rtol=1e-9, atol=0))

    def _brute_force_rows(self) -> Indices:
        count = len(self.features)
        if count <= 2 * _BRUTE_FORCE_ROWS:
            return np.arange(count)
        mean = self.recommender.predict(at=60 * self.minute).mean()
        expected = np.zeros(count) if mean is None else mean
        best = np.argpartition(expected, -_BRUTE_FORCE_ROWS)[-_BRUTE_FORCE_ROWS:]
        return np.concatenate([best, self.rng.choice(count, _BRUTE_FORCE_ROWS, replace=False)])

    def _drawn(self, count: int) -> Indices:
        """Return different songs, or all of them where there are fewer."""
        songs = len(self.features)
        return self.rng.choice(songs, min(songs, count), replace=False)

    def _rated(self, row: int, minutes: float) -> Answer:
        self.minute += minutes
        elapsed = min(self.minute - self._heard_at.get(row, -np.inf), MONTH)
        song = Songs.of(features=self.features[row : row + 1], elapsed=[elapsed])
        self._heard_at[row] = self.minute
        rating = float(self.listener.rate(song, self.rng)[0])
        return Answer(song=row, rating=rating, time=60 * self.minute)
