"""Those who take part in the race of one online step: learn an answer, choose the next song."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from bandstand.algorithms.recommender import Answer, Recommender
from bandstand.domain import Songs
from bandstand.inference.exact import Exact
from bandstand.model.ranking import best_rows
from bandstand.policies.bayes_ucb import BayesUcb
from bandstand.types import MONTH, frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.domain import History
    from bandstand.model.priors import ListenerPrior
    from bandstand.types import Matrix, Vector
    from bandstand_lab.speed.linucb_reference import PlainLinUcb


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A song that was played, and what the listener said."""

    row: int
    features: Vector
    elapsed: float  # minutes since it had been heard before
    minute: float  # when it was played
    rating: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """The moment of a choice: the time, and when each song was last heard (−∞ for never)."""

    minute: float
    last_heard: Vector

    def elapsed(self) -> Vector:
        """Return the minutes since each song was heard; never is a month."""
        return np.clip(self.minute - self.last_heard, 0.0, MONTH)


class Contender(Protocol):
    """Learns an answer, then chooses a song."""

    def absorb(self, heard: Heard) -> None:
        """Learn one answer."""
        ...

    def choose(self, now: Now) -> int:
        """Return the row of the song to play."""
        ...


class ExactContender:
    """The exact engine and Bayes-UCB, with the memory that spares most of the search."""

    def __init__(self, prior: ListenerPrior, catalogue: Matrix, history: History) -> None:
        self.engine, self.policy = Exact(prior=prior), BayesUcb()
        self.catalogue, self.history = catalogue, history
        self.belief = self.engine.fit(history)
        self._ones: Vector = frozen(np.ones(len(catalogue)))
        self._all = np.arange(len(catalogue))
        self._rng = np.random.default_rng(0)  # for the first song alone
        self.memory = self.engine.remember(self._songs(np.full(len(catalogue), MONTH)))

    def absorb(self, heard: Heard) -> None:
        """Learn one answer: a rank-one update of every node, or a new grid."""
        self.history = self.history.append(
            features=heard.features, elapsed=heard.elapsed, rating=heard.rating
        )
        self.belief = self.engine.update(self.belief, self.history)

    def choose(self, now: Now) -> int:
        """Return the song with the largest exact quantile at level 1 − 1/step."""
        prediction = self.engine.predict(
            self.belief, self._songs(now.elapsed()), memory=self.memory
        )
        rows = self.policy.choose(
            prediction, step=self._step, rng=self._rng, count=1, allowed=self._all
        )
        return int(rows[0])

    def agrees(self, choice: int, now: Now) -> bool:
        """Return whether `choice` is the best song when every one's quantile is worked out."""
        level = self.policy.level_at(self._step)
        if level is None:
            return True
        scores = self.engine.predict(self.belief, self._songs(now.elapsed())).quantile(level)
        if scores is None:
            return True
        best = best_rows(scores, 1, self._all)[0]
        return bool(np.isclose(scores[choice], scores[best], rtol=1e-9, atol=0))

    @property
    def grid(self) -> Any:
        """The grid of recovery times: another object whenever it was placed anew."""
        return self.belief.grid

    def bytes_kept(self) -> int:
        """Return the size of what is kept between steps: the belief, and the search's memory."""
        return self.memory.table.single.nbytes + self.memory.nbytes + self.belief.nbytes

    @property
    def _step(self) -> int:
        return len(self.history) + 1

    def _songs(self, elapsed: Vector) -> Songs:
        return Songs(features=self.catalogue, elapsed=frozen(elapsed), diversity=self._ones)


class LinUcbContender:
    """LinUCB in plain NumPy; it knows nothing of time."""

    def __init__(self, linucb: PlainLinUcb) -> None:
        self.linucb = linucb

    def absorb(self, heard: Heard) -> None:
        """Learn one answer."""
        self.linucb.absorb(heard.features, heard.rating)

    def choose(self, now: Now) -> int:
        """Return the song with the largest score."""
        del now
        return self.linucb.choose()


class RecommenderContender:
    """The interactive object that people use, with all of its bookkeeping."""

    def __init__(self, prior: ListenerPrior, catalogue: Matrix, past: Sequence[Heard]) -> None:
        self.radio = Recommender(features=catalogue, raw=True, prior=prior)
        self.radio.replay(
            Answer(song=heard.row, rating=heard.rating, time=60 * heard.minute) for heard in past
        )

    def absorb(self, heard: Heard) -> None:
        """Learn one answer."""
        self.radio.update(heard.row, rating=heard.rating, time=60 * heard.minute)

    def choose(self, now: Now) -> int:
        """Return the recommended song."""
        (song,) = self.radio.recommend(1, at=60 * now.minute)
        return cast("int", song)  # the ids are the rows
