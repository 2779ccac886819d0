"""One listener over a large catalogue, from one song to the next, as the radio does it.

Nothing here is as long as the catalogue but its matrix, in single precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bandstand.algorithms.playlist import PlaylistRequest, plan_playlist
from bandstand.algorithms.situation import Catalogue, Listening
from bandstand.domain import History
from bandstand.inference.exact import Exact
from bandstand.inference.song_table import SongTable
from bandstand.model.allowed import Allowed
from bandstand.policies.bayes_ucb import BayesUcb
from bandstand.types import Minutes

if TYPE_CHECKING:
    from bandstand.types import AnyArray, Indices, Vector
    from bandstand_lab.speed.world import World

# Songs drawn at a time, so that no second catalogue stands beside the first.
_BLOCK: Final = 65_536
# Of what was heard before: songs per answer, and mean minutes between two answers.
_POOL: Final = 0.6
_MINUTES_APART: Final = 10.0
_SONG_MINUTES: Final = 4.0
# Brute force looks at so many songs of a large catalogue, and at so many others.
_RIVALS: Final = 4_096


class Answered(NamedTuple):
    """A song that was heard, and what the listener said."""

    row: int
    minute: float
    rating: float


class Library(NamedTuple):
    """A catalogue, and what all listeners share of the search through it."""

    catalogue: Catalogue
    table: SongTable

    @classmethod
    def of(cls, features: AnyArray) -> Library:
        """Return the library of a matrix in single precision, which is not copied."""
        catalogue = Catalogue.of(features)
        return cls(catalogue, SongTable.of(catalogue.features))

    @property
    def nbytes(self) -> int:
        """What is kept beside the matrix, in bytes."""
        return int(self.catalogue.squared_norms.nbytes + self.table.norms.nbytes)


def drawn_features(
    world: World, songs: int, columns: int, rng: np.random.Generator, *, out: Any = None
) -> AnyArray:
    """Return the features of a world's songs in single precision; `out` is filled if given."""
    table: AnyArray = np.empty((songs, columns), dtype=np.float32) if out is None else out
    for start in range(0, songs, _BLOCK):
        block = table[start : start + _BLOCK]
        block[:] = rng.standard_normal(block.shape, dtype=np.float32)
        if world.intercept:
            block[:, -1] = 1.0
    return table


class Sitting:
    """A listener with a past, the exact engine, and what it remembers between two songs."""

    def __init__(
        self, world: World, library: Library, *, ratings: int, seed: int, again: bool = True
    ) -> None:
        """Begin after so many ratings of songs heard `again` and again, or each of them once."""
        columns = library.catalogue.features.shape[1]
        self.world, self.catalogue = world, library.catalogue
        self.rng = np.random.default_rng([seed, ratings, len(library.catalogue)])
        self.engine, self.policy = Exact(prior=world.prior_for(columns)), BayesUcb()
        self.listener = world.listener_for(columns, self.rng)
        self.listening = Listening.nothing(len(self.catalogue))
        self.history = History.empty(columns)
        self.minute = 0.0
        self.everything = Allowed.everything(len(self.catalogue))
        self.lengths: Vector = np.broadcast_to(_SONG_MINUTES, len(self.catalogue))
        self.pool = self._drawn(max(1, round(_POOL * ratings)))
        self._hear(self.rng.choice(self.pool, ratings) if again else self._drawn(ratings))
        self.belief = self.engine.fit(self.history)
        songs = self.catalogue.songs(self.listening, Minutes(self.minute))
        self.memory = self.engine.remember(songs, shared=library.table)

    def answer(self, row: int) -> Answered:
        """Return what the listener says about a song after hearing it."""
        self.minute += _SONG_MINUTES
        song = self.catalogue.song(row, self.listening, Minutes(self.minute))
        return Answered(row, self.minute, float(self.listener.rate(song, self.rng)[0]))

    def absorb(self, answer: Answered) -> None:
        """Learn one answer, and that the song was heard."""
        self._take(answer)
        self.belief = self.engine.update(self.belief, self.history)

    def choose(self) -> int:
        """Return the best of all songs, by the exact quantile at level 1 − 1/step."""
        songs = self.catalogue.songs(self.listening, Minutes(self.minute))
        prediction = self.engine.predict(self.belief, songs, memory=self.memory)
        rows = self.policy.choose(
            prediction, step=self.step, rng=self.rng, count=1, allowed=self.everything
        )
        return int(rows[0])

    def prepare(self) -> bool:
        """Return whether the grid was moved, as the radio does after it has answered.

        All songs are read then too, if they will soon have to be.
        """
        self.memory.prepare()
        belief = self.engine.prepared(self.belief)
        if belief is None:
            return False
        self.belief = belief
        return True

    def random_row(self) -> int:
        """Return one of the songs that the listener hears again and again."""
        return int(self.rng.choice(self.pool))

    def playlist(self, count: int) -> list[int]:
        """Return the rows of the next songs, each chosen as if those before had been heard."""
        request = PlaylistRequest(
            count=count,
            start=Minutes(self.minute),
            step=self.step,
            lengths=self.lengths,
            allowed=self.everything,
            randomness=lambda _: self.rng,
        )
        planned = plan_playlist(
            self.engine,
            self.policy,
            self.belief,
            self.catalogue,
            self.listening,
            request,
            memory=self.memory,
        )
        return [row for row, _ in planned]

    def agrees(self, choice: int) -> bool:
        """Return whether brute force finds no better song than `choice`.

        Of a large catalogue it looks at the songs that are expected to be liked best, and at
        others drawn by chance.
        """
        level = self.policy.level_at(self.step)
        rows = np.append(self._rivals(), choice)
        songs = self.catalogue.songs(self.listening, Minutes(self.minute)).take(rows)
        scores = None if level is None else self.engine.predict(self.belief, songs).quantile(level)
        return scores is None or bool(np.isclose(scores[-1], scores.max(), rtol=1e-9, atol=0))

    def _rivals(self) -> Indices:
        count = len(self.catalogue)
        if count <= 2 * _RIVALS:
            return np.arange(count)
        mean = (self.belief.weights @ self.belief.means).astype(self.catalogue.features.dtype)
        best = np.argpartition(self.catalogue.features @ mean, -_RIVALS)[-_RIVALS:]
        return np.concatenate([best, self.rng.choice(count, _RIVALS, replace=False)])

    @property
    def step(self) -> int:
        """The number of the next song, from 1."""
        return len(self.history) + 1

    @property
    def grid(self) -> Any:
        """The grid of recovery times: another object whenever it was placed anew."""
        return self.belief.grid

    def bytes_of_belief(self) -> int:
        """Return how much the belief takes."""
        return int(self.belief.nbytes)

    def _drawn(self, count: int) -> Indices:
        """Return different songs, as many as there are at most."""
        songs = len(self.catalogue)
        return self.rng.choice(songs, min(songs, count), replace=False)

    def _hear(self, rows: Indices) -> None:
        """Hear songs at random times, and learn nothing yet."""
        for row in rows:
            self.minute += float(self.rng.exponential(_MINUTES_APART))
            song = self.catalogue.song(int(row), self.listening, Minutes(self.minute))
            rating = float(self.listener.rate(song, self.rng)[0])
            self._take(Answered(int(row), self.minute, rating))

    def _take(self, answer: Answered) -> None:
        now = Minutes(answer.minute)
        song = self.catalogue.song(answer.row, self.listening, now)
        self.history = self.history.append(
            features=song.features[0], elapsed=float(song.elapsed[0]), rating=answer.rating
        )
        self.listening = self.listening.after(answer.row, now)
