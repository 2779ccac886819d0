"""The interactive object: ask it for songs, and tell it the listener's answers.

A mutable shell around a `ListenerModel`, with names for songs and dates for minutes. Time comes in
with every call; randomness comes from the seed and the step alone, so any recommendation can be
replayed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bandstand._util.timestamps import Moment, minutes_between, seconds_of
from bandstand.core.listener_model import ListenerModel, RatedRow, randomness
from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.history import SongFeatures, checked_table
from bandstand.core.model.named_items import NamedItems, Names, groups_of
from bandstand.core.model.priors import PEOPLE_EFFECTS, paper_prior
from bandstand.core.registry import DEFAULT, algorithm_named
from bandstand.errors import InvalidInputError
from bandstand.types import Minutes

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from bandstand.core.engines.engine import Summary
    from bandstand.core.model.history import History, Songs
    from bandstand.core.model.prediction import Prediction
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import Features, Vector

Song: TypeAlias = "Hashable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A listener's rating of a song at a time."""

    song: Song
    rating: float
    time: Moment
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSong:
    """One entry of a playlist."""

    song: Song
    minutes_from_now: float


class Recommender:
    """One listener's radio over a fixed catalogue.

    `features` has a row per song. Unless `raw` is set, its columns are standardised and an
    intercept is added, with the prior for real listeners; with `raw` the features are used as
    they are, with the paper's prior.

    `artists`, `albums` and `tags` have an entry per song as well: a name, or None where there is
    none, and some names. All algorithms learn from tags, which become columns of the features;
    `mixed-effects` also learns what artists, albums and songs have beyond their features.

    A pandas DataFrame of features names the songs by its index, unless there are `ids`.

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
        artists: Sequence[Hashable | None] | None = None,
        albums: Sequence[Hashable | None] | None = None,
        tags: Sequence[Iterable[str]] | None = None,
        algorithm: str = DEFAULT,
        raw: bool = False,
        prior: ListenerPrior | None = None,
        seed: int = 0,
    ) -> None:
        named = algorithm_named(algorithm)
        ids = _index_of(features) if ids is None else ids
        table, start = _design(features, tags, raw=raw, has_effects=named.has_effects)
        names = Names(songs=range(len(table)), artists=artists, albums=albums)
        groups = groups_of(len(table), names, {})
        songs = SongFeatures.of(table, groups=groups if named.has_effects else None)
        count = len(songs)
        self.ids: Sequence[Song] = range(count) if ids is None else list(ids)
        self._row_of = _Numbered(count) if ids is None else _rows_by_id(self.ids, count)
        self.model: ListenerModel[Any] = ListenerModel.begin(
            songs,
            named.engine_for(prior or start),
            named.policy,
            seed=_checked_seed(seed),
            longest=named.never,
        )
        self._new = self.model
        self._answers: list[Answer] = []
        self.algorithm = algorithm

    def __repr__(self) -> str:
        known = f"{len(self.ids):,} songs, {len(self._answers):,} answers"
        return f"<Recommender: {known}, algorithm {self.algorithm!r}>"

    @property
    def history(self) -> History:
        """The answers that count."""
        return self.model.history

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Everything the listener said, in order: `replay` of it makes the same radio."""
        return tuple(self._answers)

    @property
    def step(self) -> int:
        """The number of the next recommendation, counted from 1."""
        return self.model.step

    def update(self, song: Song, rating: float, time: Moment, weight: float = 1.0) -> None:
        """Learn the listener's rating of `song`."""
        answer = Answer(song=song, rating=rating, time=time, weight=weight)
        [rated] = self._rated(self._answers, [answer])
        self.model = self.model.after(rated)
        self._answers.append(answer)

    def replay(self, answers: Iterable[Answer]) -> None:
        """Learn many answers at once: as one `update` after the other, only sooner.

        A pandas DataFrame has the columns `song`, `rating`, `time` and perhaps `weight`.
        Engines that draw, or that start from where they were, may end a little elsewhere.
        """
        more = _listed(answers)
        self.model = self.model.fit(self._rated(self._answers, more))
        self._answers += more

    def undo(self) -> None:
        """Forget the last answer, as if it had never been given."""
        if not self._answers:
            msg = "there must be an answer to take back, got none so far"
            raise InvalidInputError(msg)
        left = self._answers[:-1]
        self.model = self._new.fit(self._rated([], left))
        self._answers = left

    def recommend(
        self, n: int = 1, *, exclude: Iterable[Song] = (), at: Moment | None = None
    ) -> list[Song]:
        """Return the `n` songs to play now, best first; fewer if there are not as many."""
        rows = self.model.choose(
            self._minutes(at), count=_checked_count(n), allowed=self._allowed(exclude)
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
        start = self._minutes(at)
        planned = self.model.plan(
            start,
            count=_checked_count(n),
            allowed=self._allowed(exclude),
            lengths=_checked_lengths(minutes, len(self.ids)),
        )
        return [
            PlannedSong(song=self.ids[row], minutes_from_now=float(moment - start))
            for row, moment in planned
        ]

    def predict(
        self, *, only: Iterable[Song] | None = None, at: Moment | None = None
    ) -> Prediction:
        """Return the prediction of every song at that moment, or of some in their order."""
        rows = None if only is None else [self._row(song) for song in only]
        return self.model.predict(self._minutes(at), rows)

    def elapsed(self, *, at: Moment | None = None) -> Vector:
        """Return the minutes since each song was last heard.

        At most a month, which stands for never; for `mixed-effects`, ∞ does.
        """
        return self.model.play_times.elapsed(self._minutes(at))

    def scores(self, *, at: Moment | None = None) -> Vector:
        """Return the algorithm's own score of every song; a list is sorted by it."""
        return self.model.policy.scores(self.predict(at=at), step=self.step, rng=self.randomness())

    def songs(self, *, at: Moment | None = None) -> Songs:
        """Return the whole catalogue as the model sees it at that moment."""
        return self.model.songs(self._minutes(at))

    def randomness(self) -> np.random.Generator:
        """Return the randomness of this step's choice: from the seed and the step alone."""
        return randomness(self.model.seed, self.step, "choose")

    def summary(self) -> Summary:
        """Return what has been learned about the listener, in a few numbers."""
        return self.model.engine.summary(self.model.belief)

    def _rated(self, before: Sequence[Answer], answers: Iterable[Answer]) -> Iterator[RatedRow]:
        """Yield answers by row and minute, in order of time after those before."""
        latest = self._latest(before)
        start = seconds_of(before[0].time) if before else None
        for answer in answers:
            row, seconds = self._row(answer.song), seconds_of(answer.time)
            start = seconds if start is None else start
            now = minutes_between(start, seconds)
            _check_order(now, latest, "answers must come in order of time")
            latest = now
            yield RatedRow(row=row, time=now, rating=answer.rating, weight=answer.weight)

    def _latest(self, answers: Sequence[Answer]) -> Minutes:
        """Return the minutes from the first answer to the last."""
        if len(answers) < 2:
            return Minutes(0.0)
        return minutes_between(seconds_of(answers[0].time), seconds_of(answers[-1].time))

    def _row(self, song: Song) -> int:
        try:
            return self._row_of[song]
        except (KeyError, TypeError):
            msg = f"a song must be one of the {len(self.ids)} in the catalogue, got {song!r}"
            raise InvalidInputError(msg) from None

    def _allowed(self, exclude: Iterable[Song]) -> CandidateSet:
        return CandidateSet.everything(len(self.ids)).without([self._row(song) for song in exclude])

    def _minutes(self, at: Moment | None) -> Minutes:
        """Return the minutes since the first answer; minutes since 1970 would lose digits."""
        latest = self._latest(self._answers)
        if at is None:
            return latest
        seconds = seconds_of(at)
        if not self._answers:
            return Minutes(0.0)
        now = minutes_between(seconds_of(self._answers[0].time), seconds)
        _check_order(now, latest, "the moment must not be before the last answer")
        return now


def _design(
    features: ArrayLike, tags: Sequence[Iterable[str]] | None, *, raw: bool, has_effects: bool
) -> tuple[Features, ListenerPrior]:
    """Return the features of songs as the model sees them, and the prior that goes with them."""
    if not raw:
        items = NamedItems.fit(features, tags, is_curved=has_effects)
        return items.table(features, tags), items.prior()
    if tags is not None:
        msg = "raw features must hold all columns themselves, got tags beside them"
        raise InvalidInputError(msg)
    table = checked_table(features)
    start = paper_prior(table.shape[1])
    return table, replace(start, effects=PEOPLE_EFFECTS) if has_effects else start


def _index_of(features: object) -> Sequence[Song] | None:
    """Return the index of a table of pandas; None of any other, as a list has a method there."""
    index: Any = getattr(features, "index", None)
    return None if index is None or callable(index) else list(index)


def _listed(answers: Any) -> list[Answer]:
    """Return answers, or the rows of a table of pandas as such."""
    if not hasattr(answers, "itertuples"):
        return list(answers)
    names = [field.name for field in fields(Answer)]
    missing = sorted({"song", "rating", "time"} - {*answers.columns})
    if missing:
        msg = f"answers must have the columns {', '.join(names)}, got none called {missing[0]}"
        raise InvalidInputError(msg)
    known = [name for name in names if name in answers.columns]
    rows = answers[known].itertuples(index=False)
    return [Answer(**dict(zip(known, row, strict=True))) for row in rows]


class _Numbered:
    """The row of each song where songs have no names but their rows; a million take no room."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __getitem__(self, song: Song) -> int:
        if isinstance(song, int | np.integer) and 0 <= song < self._count:
            return int(song)
        raise KeyError(song)


def _check_order(now: Minutes, latest: Minutes, expected: str) -> None:
    if now < latest:
        msg = f"{expected}, got one {latest - now:g} minutes earlier"
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
