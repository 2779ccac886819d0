"""The interactive object: ask it for songs, tell it what the listener said.

It holds a catalogue, one listener's history and the belief about that listener, and it is
the only thing here that changes. Time comes in with every call; randomness comes from
the seed and the step alone, so any recommendation can be replayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bandstand._util.timestamps import Moment, minutes_between, seconds_of
from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.history import History
from bandstand.core.model.priors import paper_prior, radio_prior
from bandstand.core.model.scaling import Standardiser
from bandstand.core.play_times import PlayTimes, SongFeatures
from bandstand.core.playlist import PlaylistRequest, plan_playlist
from bandstand.core.random_streams import randomness
from bandstand.core.registry import DEFAULT, algorithm_named
from bandstand.errors import InvalidInputError
from bandstand.types import Minutes

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from decimal import Decimal

    from numpy.typing import ArrayLike

    from bandstand.core.engines.engine import Engine, Summary
    from bandstand.core.model.history import Songs
    from bandstand.core.model.prediction import Prediction
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.core.random_streams import Purpose
    from bandstand.types import Vector

Song: TypeAlias = "Hashable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a listener said about a song, and when."""

    song: Song
    rating: float
    time: Moment
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSong:
    """One entry of a playlist."""

    song: Song
    minutes_from_now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What the listener has said so far, and what was heard when."""

    history: History
    listening: PlayTimes
    start: Decimal | None  # of the first answer, in seconds since 1970
    latest: Minutes  # of the last answer, since the first


class Recommender:
    """One listener's radio over a fixed catalogue.

    `features` has a row per song. Unless `raw` is set, its columns are standardised and an
    intercept is added, with the prior for real listeners; with `raw` the features are used as
    they are, with the paper's prior.

    >>> radio = Recommender(features=[[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ids=["a", "b", "c"])
    >>> radio.update("a", rating=5, time="2026-01-01T10:00:00Z")
    >>> radio.update("b", rating=1, time="2026-01-01T10:04:00Z")
    >>> radio.recommend(2, exclude=["b"], at="2026-01-08T10:00:00Z")
    ['a', 'c']
    """

    def __init__(
        self,
        *,
        features: ArrayLike,
        ids: Sequence[Song] | None = None,
        algorithm: str = DEFAULT,
        raw: bool = False,
        prior: ListenerPrior | None = None,
        seed: int = 0,
    ) -> None:
        named = algorithm_named(algorithm)
        table = features if raw else Standardiser.fit(features).apply(features)
        self.catalogue = SongFeatures.of(table)
        count = len(self.catalogue)
        self.ids: Sequence[Song] = range(count) if ids is None else list(ids)
        self._row_of = _Numbered(count) if ids is None else _rows_by_id(self.ids, count)
        columns = self.catalogue.features.shape[1]
        start = prior or (paper_prior(columns) if raw else radio_prior(columns))
        self.engine: Engine[Any] = named.engine_for(start)
        self.policy = named.policy
        self.seed = _checked_seed(seed)
        self._told = self._nothing_told()
        self._memory = self.engine.remember(self.songs())
        self._answers: list[Answer] = []
        self.belief = self.engine.fit(self.history, rng=self._rng(0, "learn"))

    def _nothing_told(self) -> _Told:
        return _Told(
            history=History.empty(self.catalogue.features.shape[1]),
            listening=PlayTimes.nothing(len(self.catalogue)),
            start=None,
            latest=Minutes(0.0),
        )

    @property
    def history(self) -> History:
        """What has been learnt from."""
        return self._told.history

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Everything the listener said, in order: `replay` of it makes the same radio."""
        return tuple(self._answers)

    @property
    def step(self) -> int:
        """The number of the next recommendation, counted from 1."""
        return len(self.history) + 1

    def update(self, song: Song, rating: float, time: Moment, weight: float = 1.0) -> None:
        """Learn what the listener said about `song`."""
        answer = Answer(song=song, rating=rating, time=time, weight=weight)
        told = self._after(self._told, answer)
        count = len(told.history)
        if count > len(self.history):
            self.belief = self.engine.update(
                self.belief, told.history, rng=self._rng(count, "learn")
            )
        self._told = told
        self._answers.append(answer)

    def replay(self, answers: Iterable[Answer]) -> None:
        """Learn many answers at once: as one `update` after the other, only sooner.

        Engines that draw, or that start from where they were, may end a little elsewhere.
        """
        self._learn(self._told, self._answers, answers)

    def undo(self) -> None:
        """Forget the last answer, as if it had never been given."""
        if not self._answers:
            msg = "there must be an answer to take back, got none so far"
            raise InvalidInputError(msg)
        self._learn(self._nothing_told(), [], self._answers[:-1])

    def _learn(self, told: _Told, before: list[Answer], answers: Iterable[Answer]) -> None:
        """Take over `told` and `before` with all of `answers`, or nothing if one is refused."""
        more = list(answers)
        for answer in more:
            told = self._after(told, answer)
        rng = self._rng(len(told.history), "learn")
        self.belief = self.engine.fit(told.history, rng=rng)
        self._told, self._answers = told, [*before, *more]

    def recommend(
        self, n: int = 1, *, exclude: Iterable[Song] = (), at: Moment | None = None
    ) -> list[Song]:
        """Return the `n` songs to play now, best first; fewer if there are not as many."""
        rows = self.policy.choose(
            self.predict(at=at),
            step=self.step,
            rng=self.randomness(),
            count=_checked_count(n),
            allowed=self._allowed(exclude),
        )
        return [self.ids[int(row)] for row in rows]

    def playlist(
        self,
        n: int,
        *,
        minutes: ArrayLike = 4.0,
        exclude: Iterable[Song] = (),
        at: Moment | None = None,
    ) -> list[PlannedSong]:
        """Return the next `n` songs, each chosen as if the ones before it had been heard.

        `minutes` is the length of a song, one for all or one for each.
        """
        request = PlaylistRequest(
            count=_checked_count(n),
            start=self._moment(at),
            step=self.step,
            lengths=_checked_lengths(minutes, len(self.ids)),
            allowed=self._allowed(exclude),
            randomness=lambda step: self._rng(step, "choose"),
        )
        planned = plan_playlist(
            self.engine,
            self.policy,
            self.belief,
            self.catalogue,
            self._told.listening,
            request,
            memory=self._memory,
        )
        return [
            PlannedSong(song=self.ids[row], minutes_from_now=float(moment - request.start))
            for row, moment in planned
        ]

    def predict(
        self, *, only: Iterable[Song] | None = None, at: Moment | None = None
    ) -> Prediction:
        """Return what is believed about every song at that moment, or about some in their order."""
        songs = self.songs(at=at)
        if only is None:
            return self.engine.predict(self.belief, songs, memory=self._memory)
        return self.engine.predict(self.belief, songs.take([self._row(song) for song in only]))

    def elapsed(self, *, at: Moment | None = None) -> Vector:
        """Return the minutes since each song was last heard, at most a month."""
        return self._told.listening.elapsed(self._moment(at))

    def scores(self, *, at: Moment | None = None) -> Vector:
        """Return the algorithm's own score of every song; a list is sorted by it."""
        return self.policy.scores(self.predict(at=at), step=self.step, rng=self.randomness())

    def songs(self, *, at: Moment | None = None) -> Songs:
        """Return the whole catalogue as the model sees it at that moment."""
        return self.catalogue.songs(self._told.listening, self._moment(at))

    def randomness(self) -> np.random.Generator:
        """Return what this step's choice is drawn with: from the seed and the step alone."""
        return self._rng(self.step, "choose")

    def summary(self) -> Summary:
        """Return what has been learnt about the listener, in a few numbers."""
        return self.engine.summary(self.belief)

    def _after(self, told: _Told, answer: Answer) -> _Told:
        """Return what has been said after `answer`; nothing is changed."""
        row, seconds = self._row(answer.song), seconds_of(answer.time)
        start = seconds if told.start is None else told.start
        now = minutes_between(start, seconds)
        _check_order(now, told, "answers must come in order of time")
        song = self.catalogue.song(row, told.listening, now)
        return _Told(
            history=told.history.append(
                features=song.features[0],
                elapsed=float(song.elapsed[0]),
                rating=answer.rating,
                weight=answer.weight,
                diversity=float(song.diversity[0]),
            ),
            listening=told.listening.after(row, now),
            start=start,
            latest=now,
        )

    def _row(self, song: Song) -> int:
        try:
            return self._row_of[song]
        except (KeyError, TypeError):
            msg = f"a song must be one of the {len(self.ids)} in the catalogue, got {song!r}"
            raise InvalidInputError(msg) from None

    def _allowed(self, exclude: Iterable[Song]) -> CandidateSet:
        return CandidateSet.everything(len(self.ids)).without([self._row(song) for song in exclude])

    def _moment(self, at: Moment | None) -> Minutes:
        """Return the minutes since the first answer; minutes since 1970 would lose digits."""
        if at is None:
            return self._told.latest
        seconds = seconds_of(at)
        if self._told.start is None:
            return Minutes(0.0)
        now = minutes_between(self._told.start, seconds)
        _check_order(now, self._told, "the moment must not be before the last answer")
        return now

    def _rng(self, number: int, purpose: Purpose) -> np.random.Generator:
        return randomness(self.seed, number, purpose)


class _Numbered:
    """The row of each song where songs have no names but their rows; a million take no room."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __getitem__(self, song: Song) -> int:
        if isinstance(song, int | np.integer) and 0 <= song < self._count:
            return int(song)
        raise KeyError(song)


def _check_order(now: Minutes, told: _Told, expected: str) -> None:
    if now < told.latest:
        msg = f"{expected}, got one {told.latest - now:g} minutes earlier"
        raise InvalidInputError(msg)


def _rows_by_id(ids: Sequence[Song], count: int) -> dict[Song, int]:
    if len(ids) != count:
        msg = f"there must be one id per song ({count}), got {len(ids)}"
        raise InvalidInputError(msg)
    try:
        rows = {song: row for row, song in enumerate(ids)}
    except TypeError as problem:
        msg = f"ids must be hashable, such as text or numbers, got one that is not: {problem}"
        raise InvalidInputError(msg) from problem
    if len(rows) < count:
        twice = next(song for row, song in enumerate(ids) if rows[song] != row)
        msg = f"ids must differ, got {twice!r} twice"
        raise InvalidInputError(msg)
    return rows


def _checked_count(n: int) -> int:
    if not isinstance(n, int | np.integer) or n < 1:
        msg = f"the number of songs must be a whole number of at least 1, got {n!r}"
        raise InvalidInputError(msg)
    return int(n)


def _checked_seed(seed: int) -> int:
    if not isinstance(seed, int | np.integer) or seed < 0:
        msg = f"a seed must be a whole number of at least 0, got {seed!r}"
        raise InvalidInputError(msg)
    return int(seed)


def _checked_lengths(minutes: ArrayLike, count: int) -> Vector:
    try:
        lengths = np.asarray(minutes, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        msg = f"song lengths must be numbers of minutes, got {minutes!r}"
        raise InvalidInputError(msg) from problem
    if lengths.shape not in {(), (count,)} or not ((lengths > 0) & (lengths < np.inf)).all():
        msg = f"song lengths must be positive minutes, one or {count} of them, got {minutes!r}"
        raise InvalidInputError(msg)
    return np.broadcast_to(lengths, (count,))
