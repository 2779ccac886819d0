"""Choices beside those of brute force: the quantile of every song, worked out one by one.

Each case is one question to an engine that remembers the questions before it. Listeners walk
through small catalogues of many kinds: they hear songs again and again, take answers back, get a
new grid, and plan whole playlists, and now some and then all songs are allowed. A choice is wrong
if brute force finds a song that is better by more than rounding; songs that are equal may come in
any order, and are counted too.

The shortlists of a large catalogue would hold all of these songs, and then nothing could go wrong.
So they are made as short here as they are beside a million songs, and it is counted how many
questions were answered by lists that left songs out, and how many of those without reading all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bandstand.algorithms.playlist import Scene
from bandstand.algorithms.situation import Catalogue, Listening
from bandstand.domain import History
from bandstand.inference.exact import Exact
from bandstand.inference.search_memory import SearchMemory
from bandstand.inference.song_table import SongTable
from bandstand.inference.variational import Variational
from bandstand.model.allowed import Allowed
from bandstand.model.factors import content_novelty
from bandstand.model.priors import paper_prior, radio_prior
from bandstand.model.ranking import best_rows
from bandstand.types import Minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bandstand.inference.shortlist.levels import Levels
    from bandstand.types import AnyArray, Indices, Vector

ENGINES: Final = ("exact", "variational")
# Of the values that are compared; the search and brute force add in another order.
_ROUNDING: Final = 1e-10
_WALK: Final = 12  # questions to one listener
_MOST_SONGS: Final = 400
# How many songs a shortlist holds, and one within it.
_LONGER: Final = (24, 48, 96)
_SHORTER: Final = (3, 6, 12)
_LONGEST_PLAYLIST: Final = 5
_MOST_COLUMNS: Final = 10
_PAUSES: Final = (1.0, 60.0, 3_000.0)
_SONG_MINUTES: Final = 4.0


class Compared(NamedTuple):
    """One choice, and what brute force says."""

    right: bool  # no allowed song is better, but for rounding
    same_rows: bool
    outside: bool = False  # the shortlists that were asked left songs out
    spared: bool = False  # and they were enough: not all songs were read
    planned: bool = False  # a song of a playlist, after the first


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: the `count` best at a level, of those that are allowed."""

    level: float
    count: int
    allowed: Allowed

    @classmethod
    def drawn(cls, songs: int, rng: np.random.Generator) -> Question:
        """Return any question about so many songs."""
        level = float(rng.choice([0.01, 0.3, 0.6, 0.9, 0.99, 0.9999, rng.uniform(0.02, 0.98)]))
        count = int(rng.choice([1, 1, 1, 3, 50, songs + 1]))
        return cls(level=level, count=count, allowed=_drawn_allowed(songs, rng))


class WatchedMemory(SearchMemory):
    """Shortlists that know which of them were asked."""

    def __init__(self, features: AnyArray, *, sizes: tuple[int, ...]) -> None:
        self._asked: list[Levels] = []
        super().__init__(SongTable.of(features), sizes=sizes)

    @property
    def among_all(self) -> Levels:
        """Those among all songs; who takes them asks them."""
        self._asked.append(self._among_all)
        return self._among_all

    @among_all.setter
    def among_all(self, levels: Levels) -> None:
        self._among_all = levels

    def filtered(self, allowed: Allowed, *, make: bool) -> Levels | None:
        """Return those for a filter."""
        found = super().filtered(allowed, make=make)
        if found is not None:
            self._asked.append(found)
        return found

    def asked(self) -> list[Levels]:
        """Return which were asked since this was called last."""
        asked, self._asked = self._asked, []
        return asked


class Walk:
    """A listener, a catalogue and an engine with its memory."""

    def __init__(self, engine: str, rng: np.random.Generator) -> None:
        self.rng = rng
        features = _drawn_features(rng)
        columns = features.shape[1]
        prior = radio_prior(columns) if rng.random() < 0.5 else paper_prior(columns)
        self.engine: Any = (
            Exact(prior=prior) if engine == "exact" else Variational(model=content_novelty(columns))
        )
        self.catalogue = Catalogue.of(features)
        self.listening = Listening.nothing(len(features))
        self.taste = rng.normal(size=columns)
        self.history, self.now = History.empty(columns), 0.0
        for _ in range(int(rng.integers(1, 30))):
            self._hear(self._any_row())
        self.belief = self.engine.fit(self.history)
        self.memory = WatchedMemory(self.catalogue.features, sizes=_drawn_sizes(rng))

    @property
    def scene(self) -> Scene:
        """Where the listener stands."""
        return Scene(
            belief=self.belief,
            listening=self.listening,
            now=Minutes(self.now),
            step=len(self.history) + 1,
        )

    def questions(self) -> Iterator[Compared]:
        """Yield one comparison after the other, and walk on between them."""
        while True:
            question = Question.drawn(len(self.catalogue), self.rng)
            yield self._compare(self.scene, question)[1]
            if self.rng.random() < 0.3:
                yield from self._playlist(question)
            else:
                yield self._compare(self._planned(), question)[1]
            self._hear(self._any_row())
            self.belief = self.engine.update(self.belief, self.history)
            self._perhaps_begin_anew()
            self.now += float(self.rng.choice(_PAUSES))

    def _compare(self, scene: Scene, question: Question) -> tuple[Indices, Compared]:
        level, count = question.level, question.count
        passes = self.memory.passes
        self.memory.asked()
        remembering = scene.prediction(self.engine, self.catalogue, memory=self.memory)
        found = remembering.best_by_quantile(level, count, question.allowed)
        lists = (one for levels in self.memory.asked() for one in levels.levels)
        outside = any(one.limit < np.inf for one in lists)
        values = scene.prediction(self.engine, self.catalogue, memory=None).quantile(level)
        spared = outside and self.memory.passes == passes
        return found, compared(found, values, question)._replace(outside=outside, spared=spared)

    def _playlist(self, question: Question) -> Iterator[Compared]:
        """Yield song by song of a playlist: each as if those before it had been heard."""
        scene, one = self.scene, replace(question, count=1)
        for place in range(int(self.rng.integers(2, _LONGEST_PLAYLIST + 1))):
            found, outcome = self._compare(scene, one)
            yield outcome._replace(planned=place > 0)
            if not len(found):
                return
            scene = scene.after(int(found[0]), _SONG_MINUTES, self.engine, self.catalogue)

    def _planned(self) -> Scene:
        """Return the scene with songs planned that nobody would choose."""
        belief, songs = self.belief, self.catalogue.songs(self.listening, Minutes(self.now))
        for _ in range(int(self.rng.integers(1, 3))):
            belief = self.engine.plan(belief, songs.take([self._any_row()]))
        return replace(self.scene, belief=belief)

    def _perhaps_begin_anew(self) -> None:
        """Take an answer back now and then, and now and then learn all of them at once."""
        kind = self.rng.random()
        if kind < 0.1:
            self.history = self.history.without(int(self.rng.integers(len(self.history))))
        if kind < 0.2:  # the grid is placed anew
            self.belief = self.engine.fit(self.history)

    def _any_row(self) -> int:
        """Return a song, one of those that were heard as often as not."""
        heard = self.listening.heard_rows
        if len(heard) and self.rng.random() < 0.5:
            return int(self.rng.choice(heard))
        return int(self.rng.integers(len(self.catalogue)))

    def _hear(self, row: int) -> None:
        song = self.catalogue.song(row, self.listening, Minutes(self.now))
        liking = float(song.features[0] @ self.taste)
        heard = liking * -np.expm1(-float(song.elapsed[0]) / 300.0)
        self.history = self.history.append(
            features=song.features[0],
            elapsed=float(song.elapsed[0]),
            rating=heard + float(self.rng.normal()),
        )
        self.listening = self.listening.after(row, Minutes(self.now))
        self.now += float(self.rng.choice(_PAUSES))


def compared(found: Indices, values: Vector | None, question: Question) -> Compared:
    """Return whether `found` are the best by `values`, those of all songs."""
    if values is None:
        return Compared(right=not len(found), same_rows=not len(found))
    best = best_rows(values, question.count, question.allowed.rows())
    if len(found) != len(best) or not question.allowed.holds(found).all():
        return Compared(right=False, same_rows=False)
    scale = float(np.abs(values).max(initial=0.0))
    near = np.allclose(values[found], values[best], rtol=0, atol=_ROUNDING * scale)
    return Compared(right=bool(near), same_rows=bool((found == best).all()))


def measure_correctness(
    *, cases: int, seed: int, on_run: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Return how many of so many cases, half of them of each engine, were as brute force says."""
    return {
        engine: _counted(engine, cases - cases // 2 if place == 0 else cases // 2, seed, on_run)
        for place, engine in enumerate(ENGINES)
    }


def _counted(engine: str, cases: int, seed: int, on_run: Callable[[str], None]) -> dict[str, Any]:
    on_run(f"{cases:,} cases of the {engine} engine beside brute force")
    found: list[Compared] = []
    wrong_walks: list[int] = []
    walk = 0
    while len(found) < cases:
        rng = np.random.default_rng([seed, ENGINES.index(engine), walk])
        asked = min(_WALK, cases - len(found))
        some = [one for one, _ in zip(Walk(engine, rng).questions(), range(asked), strict=False)]
        if not all(one.right for one in some):
            wrong_walks.append(walk)
        found += some
        walk += 1
    return {
        "cases": len(found),
        "wrong": sum(not one.right for one in found),
        "same_rows": sum(one.same_rows for one in found),
        "songs_outside": sum(one.outside for one in found),
        "without_a_pass": sum(one.spared for one in found),
        "in_playlists": sum(one.planned for one in found),
        "walks": walk,
        "wrong_walks": wrong_walks[:10],
    }


def _drawn_sizes(rng: np.random.Generator) -> tuple[int, ...]:
    """Return how long shortlists are: one within another, or one alone."""
    longer, shorter = int(rng.choice(_LONGER)), int(rng.choice(_SHORTER))
    return ((longer, shorter), (longer, shorter), (longer,), (shorter,))[int(rng.integers(4))]


def _drawn_features(rng: np.random.Generator) -> AnyArray:
    """Return a catalogue: of any size, perhaps with far larger songs, songs twice, or none at 0."""
    songs = int(rng.choice([1, 2, 30, *rng.integers(3, _MOST_SONGS, size=7)]))
    columns = int(rng.integers(1, _MOST_COLUMNS + 1))
    features = rng.normal(size=(songs, columns)) * rng.choice([0.1, 1.0, 3.0])
    kind = rng.integers(4)
    if kind == 1:
        features *= np.exp(rng.normal(size=(songs, 1)))
    elif kind == 2:
        features[songs // 2 :] = features[: songs - songs // 2]
    elif kind == 3:
        features[:, -1] = 1.0
    if rng.random() < 0.2:
        features[int(rng.integers(songs))] = 0.0
    kind_of_number = np.float32 if rng.random() < 0.5 else np.float64
    return np.asarray(features, dtype=kind_of_number)


def _drawn_allowed(songs: int, rng: np.random.Generator) -> Allowed:
    everything = Allowed.everything(songs)
    kind = rng.integers(4)
    if kind == 1:
        return Allowed.only(rng.integers(songs, size=max(1, songs // 4)), songs)
    if kind == 2:
        return everything.without(rng.integers(songs, size=songs // 4))
    if kind == 3:
        keep = rng.random(songs) < rng.choice([0.05, 0.5, 0.95])
        return everything.where(lambda rows: keep[rows])
    return everything
