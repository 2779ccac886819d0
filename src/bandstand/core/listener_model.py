"""One listener as a frozen value that learns, predicts, chooses and plans.

    answers ─ after, fit ─▶ belief ─ predict ─▶ choose one song or a list
                              └─ plan: the same choice again and again on a simulated clock

A planned song's novelty drops to zero, and the belief grows more certain as if it had been
heard, while its expectation stays: so a playlist explores different songs, and a song comes
back once its novelty has recovered. (Feeding back the predicted rating would be wrong: it
shrinks the noise and moves the mean.)

Time comes in with every call, in minutes since any fixed moment; randomness comes from the seed
and the step alone, so any choice can be replayed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from bandstand.core.engines.engine import BeliefT, array_bytes
from bandstand.core.model.history import History, PlayTimes, SongsAt
from bandstand.types import MONTH, Minutes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from bandstand.core.engines.engine import Engine, EngineCache
    from bandstand.core.model.candidates import CandidateSet
    from bandstand.core.model.history import SongFeatures, Songs
    from bandstand.core.model.prediction import Prediction
    from bandstand.core.policies.policy import ScorePolicy
    from bandstand.types import Indices, Rows, Vector

Purpose: TypeAlias = Literal["choose", "learn"]
_PURPOSES: Final = ("choose", "learn")
# More new answers than this are learned sooner by one fit.
_MAX_UPDATES: Final = 64
# Of a history, beside the features: elapsed time, rating and weight.
_OTHER_COLUMNS: Final = 3
_NUMBER_BYTES: Final = 8


def randomness(seed: int, number: int, purpose: Purpose) -> np.random.Generator:
    """Return the randomness of a step; choosing and learning do not share it.

    >>> randomness(7, 1, "choose").random() == randomness(7, 1, "choose").random()
    True
    """
    return np.random.default_rng([seed, number, _PURPOSES.index(purpose)])


class RatedRow(NamedTuple):
    """An answer about the song in `row` at a time; of weight 0 it only says that it was heard."""

    row: int
    time: Minutes
    rating: float
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class ListenerModel(Generic[BeliefT]):
    """One listener over one catalogue."""

    song_features: SongFeatures
    engine: Engine[BeliefT] = field(repr=False)
    policy: ScorePolicy
    seed: int
    play_times: PlayTimes = field(repr=False)
    belief: BeliefT
    # Of the engine: it is used by one thread at a time.
    cache: EngineCache | None = field(repr=False)

    @classmethod
    def begin(
        cls,
        song_features: SongFeatures,
        engine: Engine[BeliefT],
        policy: ScorePolicy,
        *,
        seed: int,
        longest: Minutes = MONTH,
    ) -> Self:
        """Return a listener who has heard nothing yet; `longest` minutes stand for never."""
        history = History.empty(song_features.features.shape[1])
        return cls(
            song_features=song_features,
            engine=engine,
            policy=policy,
            seed=seed,
            play_times=PlayTimes.nothing(len(song_features), longest=longest),
            belief=fitted(engine, history, seed),
            cache=engine.new_cache(song_features.features),
        )

    @property
    def history(self) -> History:
        """The answers that the belief was learned from."""
        return self.belief.history

    @property
    def step(self) -> int:
        """The number of the next recommendation, counted from 1."""
        return len(self.history) + 1

    @property
    def nbytes(self) -> int:
        """About how much memory belongs to this listener alone."""
        times, columns = self.play_times, self.song_features.features.shape[1]
        answers = _NUMBER_BYTES * len(self.history) * (columns + _OTHER_COLUMNS)
        heard = times.heard_rows.nbytes + times.heard_at.nbytes
        kept = 0 if self.cache is None else self.cache.nbytes
        return array_bytes(self.belief) + answers + int(heard) + kept

    # ── Learning ─────────────────────────────────────────────────────────────────────────

    def after(self, answer: RatedRow) -> Self:
        """Return the listener after one more answer."""
        history, times = self._recorded([answer])
        belief = self.belief
        if len(history) > len(self.history):
            rng = randomness(self.seed, len(history), "learn")
            belief = self.engine.update(belief, history, rng=rng)
        return replace(self, belief=belief, play_times=times)

    def fit(self, answers: Iterable[RatedRow]) -> Self:
        """Return the listener after more answers, learned from scratch with those before."""
        history, times = self._recorded(list(answers))
        return replace(self, belief=fitted(self.engine, history, self.seed), play_times=times)

    def belief_after(self, history: History) -> BeliefT:
        """Return the belief after a history that goes on from the present one: soon, if it can."""
        known, count = len(self.history), len(history)
        if count == known:
            return self.belief
        if not self.engine.online or count - known > _MAX_UPDATES:
            return fitted(self.engine, history, self.seed)
        belief = self.belief
        for number in range(known + 1, count + 1):
            if number < count and not self.engine.is_converged(belief):
                # Each answer would place the grid again; one fit for all of them is quicker.
                return fitted(self.engine, history, self.seed)
            rng = randomness(self.seed, number, "learn")
            belief = self.engine.update(belief, history.first(number), rng=rng)
        return belief

    @property
    def needs_rebuild(self) -> bool:
        """Whether `rebuilt` has something to do; this takes no time."""
        return self.engine.needs_rebuild(self.belief)

    def rebuilt(self) -> Self:
        """Return the same listener, ready for more answers; it may take a while."""
        if not self.needs_rebuild:
            return self
        return replace(self, belief=self.engine.rebuilt(self.belief))

    def _recorded(self, answers: Sequence[RatedRow]) -> tuple[History, PlayTimes]:
        """Return the history and the play times with these answers, in order of time."""
        if not answers:
            return self.history, self.play_times
        rows, times, ratings, weights = (np.array(each) for each in zip(*answers, strict=True))
        songs = self.song_features
        more = History.of(
            features=songs.features[rows],
            elapsed=self.play_times.elapsed_between(rows, times),
            ratings=ratings,
            weights=weights,
            groups=None if songs.groups is None else songs.groups.take(rows),
        )
        return self.history.extended(more), self.play_times.after(rows, times)

    # ── Predicting and choosing ──────────────────────────────────────────────────────────

    def songs(self, now: Minutes) -> Songs:
        """Return the catalogue as the model sees it at that moment."""
        return SongsAt(self.song_features, self.play_times, now)

    def predict(self, now: Minutes, rows: Rows | None = None) -> Prediction:
        """Return the prediction of every song at that moment, or of those in `rows`."""
        songs = self.songs(now)
        if rows is None:
            return self.engine.predict(self.belief, songs, memory=self.cache)
        return self.engine.predict(self.belief, songs.take(rows))

    def choose(
        self, now: Minutes, *, count: int, allowed: CandidateSet, step: int | None = None
    ) -> Indices:
        """Return the rows of the `count` songs to play now, best first; all if there are fewer."""
        number = self.step if step is None else step
        rng = randomness(self.seed, number, "choose")
        prediction = self.predict(now)
        return self.policy.choose(prediction, step=number, rng=rng, count=count, allowed=allowed)

    # ── Planning ─────────────────────────────────────────────────────────────────────────

    def planned(self, row: int, now: Minutes, end: Minutes) -> Self:
        """Return the listener as if the song in `row` had been heard from `now` to `end`."""
        belief = self.engine.plan(self.belief, self.songs(now).take([row]))
        return replace(self, belief=belief, play_times=self.play_times.after(row, end))

    def plan(
        self, start: Minutes, *, count: int, allowed: CandidateSet, lengths: Vector
    ) -> list[tuple[int, Minutes]]:
        """Return the rows of the next songs of a playlist, and when each begins.

        `lengths` are the minutes that each song of the catalogue lasts: (S,).
        """
        state, found = PlanState(model=self, now=start, step=self.step), []
        for _ in range(count):
            some = allowed if self.step > 1 else _not_yet(allowed, state.planned)
            best = state.model.choose(state.now, count=1, allowed=some, step=state.step)
            if not best.size:
                break
            row = int(best[0])
            found.append((row, state.now))
            state = state.after(row, float(lengths[row]))
        return found


ModelT = TypeVar("ModelT", bound=ListenerModel[Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanState(Generic[ModelT]):
    """A listener at one moment of a simulated clock."""

    model: ModelT
    now: Minutes
    step: int  # the number of the next song among all recommendations
    planned: tuple[int, ...] = ()  # rows of the songs that come before it, in order

    def after(self, row: int, length: float) -> PlanState[ModelT]:
        """Return the state when the song in `row`, which lasts `length` minutes, is over."""
        end = Minutes(self.now + length)
        return PlanState(
            model=self.model.planned(row, self.now, end),
            now=end,
            step=self.step + 1,
            planned=(*self.planned, row),
        )


def fitted(engine: Engine[BeliefT], history: History, seed: int) -> BeliefT:
    """Return the belief after `history`, from scratch."""
    return engine.fit(history, rng=randomness(seed, len(history), "learn"))


def _not_yet(allowed: CandidateSet, planned: Sequence[int]) -> CandidateSet:
    """Return the songs that are not planned yet; all of them once every song is."""
    others = allowed.without(planned)
    return others if others.rows().size else allowed
