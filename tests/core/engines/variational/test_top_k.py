"""The variational engine finds the same songs as brute force, without looking at all of them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from bandstand.core.engines.exact.search.candidate_list import SearchCache
from bandstand.core.engines.exact.search.screen import Screen
from bandstand.core.engines.song_table import SongTable
from bandstand.core.engines.variational import factor_prediction
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.engines.variational.factor_prediction import BestFirst
from bandstand.core.engines.variational.quantile_bounds import FactorBounds
from bandstand.core.model.candidates import CandidateSet, best_rows
from bandstand.core.model.factors import content_novelty, content_novelty_diversity
from bandstand.core.model.history import History
from bandstand.core.play_times import PlayTimes, SongFeatures
from bandstand.types import Minutes
from tests.fixtures.factor_worlds import drawable_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.core.engines.variational.engine import VariationalBelief
    from bandstand.core.model.factors import FactorModel
    from bandstand.core.model.history import Songs
    from bandstand.types import AnyArray, Indices

LEVELS: Final = (0.01, 0.3, 0.5, 0.6, 0.9, 0.99, 0.9999)
PAUSES: Final = (1.0, 60.0, 3_000.0)
QUESTIONS: Final = 5  # about one belief


class Walk:
    """A listener who hears songs, takes answers back and plans ahead, and one memory."""

    def __init__(self, rng: np.random.Generator, *, factors: int = 2) -> None:
        self.rng = rng
        features = drawn_features(rng)
        columns = features.shape[1]
        self.engine = Variational(model=drawn_model(rng, columns, factors))
        self.catalogue = SongFeatures.of(features)
        self.memory = SearchCache(SongTable.of(self.catalogue.features))
        self.listening = PlayTimes.nothing(len(features))
        self.taste = rng.normal(size=columns)
        self.loves_repeats = bool(rng.random() < 0.4)
        self.history, self.now = History.empty(columns), 0.0
        for _ in range(int(rng.integers(0, 40))):
            self.hear(self.any_row())
        self.belief = self.engine.fit(self.history)

    @property
    def songs(self) -> Songs:
        return self.catalogue.songs(self.listening, Minutes(self.now))

    def any_row(self) -> int:
        heard = self.listening.heard_rows
        if len(heard) and self.rng.random() < 0.5:
            return int(self.rng.choice(heard))
        return int(self.rng.integers(len(self.catalogue)))

    def hear(self, row: int) -> None:
        song = self.catalogue.songs(self.listening, Minutes(self.now)).take([row])
        novelty = -np.expm1(-float(song.elapsed[0]) / 300)
        liking = float(song.features[0] @ self.taste) * (
            3 - 2 * novelty if self.loves_repeats else novelty
        )
        self.history = self.history.append(
            features=song.features[0],
            elapsed=float(song.elapsed[0]),
            rating=liking + float(self.rng.normal()),
            diversity=float(song.diversity[0]),
        )
        self.listening = self.listening.after(row, Minutes(self.now))
        self.now += float(self.rng.choice(PAUSES))

    def on(self) -> None:
        """Hear one more song; now and then take an answer back."""
        self.hear(self.any_row())
        self.belief = self.engine.update(self.belief, self.history)
        if self.rng.random() < 0.1:
            self.history = self.history.without(int(self.rng.integers(len(self.history))))
            self.belief = self.engine.fit(self.history)

    def cases(self) -> Iterator[bool]:
        """Yield for one question after the other whether the answer is that of brute force."""
        while True:
            belief = self.belief
            for _ in range(QUESTIONS):
                yield self.agrees(belief)
                if self.rng.random() < 0.3:
                    belief = self.engine.plan(belief, self.songs.take([self.any_row()]))
            self.on()

    def agrees(self, belief: VariationalBelief) -> bool:
        rng, songs = self.rng, self.songs
        level = float(rng.choice([*LEVELS, rng.uniform(0.01, 0.9999)]))
        count = int(rng.choice([1, 1, 1, 2, 9, len(songs) + 1]))
        allowed = drawn_allowed(len(songs), rng)
        found = self.engine.predict(belief, songs, memory=self.memory).best_by_quantile(
            level, count, allowed
        )
        values = self.engine.predict(belief, songs).quantile(level)
        return np.array_equal(found, best_rows(values, count, allowed.rows()))


def drawn_features(rng: np.random.Generator) -> AnyArray:
    """Return a catalogue: of any size, perhaps with far larger songs, songs twice, or one at 0."""
    songs, columns = int(rng.integers(60, 160)), int(rng.integers(1, 8))
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
    return np.asarray(features, dtype=np.float32 if rng.random() < 0.5 else np.float64)


def drawn_model(rng: np.random.Generator, columns: int, factors: int) -> FactorModel:
    if factors == 3:
        return content_novelty_diversity(columns)
    return content_novelty(columns) if rng.random() < 0.5 else drawable_model(columns)


def drawn_allowed(songs: int, rng: np.random.Generator) -> CandidateSet:
    everything = CandidateSet.everything(songs)
    kind = rng.integers(5)
    if kind == 1:
        return CandidateSet.only(rng.integers(songs, size=songs // 2), songs)
    if kind == 2:
        return everything.without(rng.integers(songs, size=songs // 4))
    keep = rng.random(songs) < rng.choice([0.1, 0.5, 0.95])
    if kind == 3:
        return everything.where(lambda rows: keep[rows])
    return CandidateSet.marked(keep) if kind == 4 else everything


@pytest.fixture(autouse=True)
def _screens_of_small_catalogues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factor_prediction, "_BOUNDED_UP_TO", 40)


def agreements(cases: int, *, seed: int, length: int = 40, factors: int = 2) -> Iterator[bool]:
    """Yield for each case whether it agrees with brute force."""
    for walk in range(-(-cases // length)):
        some = Walk(np.random.default_rng([seed, walk]), factors=factors).cases()
        yield from islice(some, length)


@pytest.mark.parametrize(("factors", "cases"), [(2, 100), (3, 8)])
def test_the_best_songs_are_those_of_brute_force(factors: int, cases: int) -> None:
    assert all(agreements(cases, seed=factors - 1, length=cases // 2, factors=factors))


@pytest.mark.long
@pytest.mark.parametrize(("factors", "cases"), [(2, 10_000), (3, 200)])
def test_the_best_songs_are_those_of_brute_force_in_many_cases(factors: int, cases: int) -> None:
    seed = int(np.random.default_rng().integers(2**32))
    found = list(agreements(cases, seed=seed, factors=factors))
    assert all(found), f"{found.count(False)} of {len(found)} cases differ, seed {seed}"


def is_caught(seed: int = 1) -> bool:
    return not all(agreements(200, seed=seed))


def test_a_search_that_forgets_the_songs_heard_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = BestFirst.add_new

    def without_heard(self: BestFirst, rows: Indices, allowed: CandidateSet) -> None:
        honest(self, rows[~np.isin(rows, self.prediction.songs.heard)], allowed)

    monkeypatch.setattr(BestFirst, "add_new", without_heard)
    assert is_caught(seed=7)


def test_a_screen_that_forgets_its_widths_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Screen.of
    monkeypatch.setattr(
        Screen, "of", lambda knots, reaches, form: honest(knots, 0.2 * reaches, form)
    )
    assert is_caught()


def test_bounds_that_are_too_low_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FactorBounds.above

    def too_low(self: Any, means: Any, deviations: Any, heard: Any) -> Any:
        return real(self, means, 0.7 * deviations, heard)

    monkeypatch.setattr(FactorBounds, "above", too_low)
    assert is_caught()


def large_walk(songs: int = 6_000, columns: int = 12) -> tuple[Walk, SearchCache]:
    """Return a listener who is known well, in a catalogue of many songs."""
    walk = Walk(np.random.default_rng(4))
    rng = walk.rng
    walk.catalogue = SongFeatures.of(rng.normal(size=(songs, columns)).astype(np.float32))
    walk.listening, walk.taste = PlayTimes.nothing(songs), rng.normal(size=columns)
    walk.engine, walk.history = Variational(model=content_novelty(columns)), History.empty(columns)
    for _ in range(200):
        walk.hear(walk.any_row())
    walk.belief = walk.engine.fit(walk.history)
    walk.memory = SearchCache(SongTable.of(walk.catalogue.features))
    return walk, walk.memory


def best(walk: Walk, count: int = 1, *, remembering: bool = True, level: float = 0.99) -> Indices:
    prediction = walk.engine.predict(
        walk.belief, walk.songs, memory=walk.memory if remembering else None
    )
    return prediction.best_by_quantile(level, count, CandidateSet.everything(len(walk.songs)))


def test_a_question_reads_the_catalogue_once_and_computes_few_songs() -> None:
    walk, memory = large_walk()
    for _ in range(12):
        assert best(walk).tolist() == best(walk, remembering=False).tolist()
        walk.hear(int(best(walk)[0]))
        walk.belief = walk.engine.update(walk.belief, walk.history)
    assert memory.passes == 24
    assert memory.evaluated < 24 * 60
    assert memory.nbytes == 0


def test_a_level_too_far_out_for_bounds_is_answered_all_the_same() -> None:
    walk, _ = large_walk(songs=400, columns=3)
    found = best(walk, 2, level=1 - 1e-12)
    assert found.tolist() == best(walk, 2, remembering=False, level=1 - 1e-12).tolist()


def test_nothing_is_best_of_nothing() -> None:
    walk, memory = large_walk(songs=100, columns=3)
    prediction = walk.engine.predict(walk.belief, walk.songs, memory=memory)
    assert len(prediction.best_by_quantile(0.9, 0, CandidateSet.everything(100))) == 0
    assert len(prediction.best_by_quantile(0.9, 3, CandidateSet.only([], 100))) == 0
    nothing = CandidateSet.everything(100).where(lambda rows: np.zeros(len(rows), dtype=np.bool_))
    assert len(prediction.best_by_quantile(0.9, 3, nothing)) == 0


def test_songs_that_are_equal_come_by_their_rows() -> None:
    walk, _ = large_walk(songs=2_000, columns=4)
    features = np.asarray(walk.catalogue.features)
    walk.catalogue = SongFeatures.of(np.concatenate([features, features, features]))
    walk.listening = PlayTimes.nothing(6_000)
    walk.memory = SearchCache(SongTable.of(walk.catalogue.features))
    found = best(walk, 6)
    assert found[1] == found[0] + 2_000
    assert found[2] == found[0] + 4_000
    assert found.tolist() == best(walk, 6, remembering=False).tolist()


def test_numbers_stay_in_range() -> None:
    rng = np.random.default_rng(5)
    for scale in (1e-150, 1e-20, 1e5):
        features = scale * rng.normal(size=(300, 3))
        engine = Variational(model=content_novelty(3))
        songs = SongFeatures.of(features).songs(PlayTimes.nothing(300), Minutes(0.0))
        history = History.of(features=features[:9], elapsed=43_200, ratings=rng.normal(size=9))
        belief = engine.fit(history)
        memory = SearchCache(SongTable.of(features))
        with np.errstate(all="raise"):
            found = engine.predict(belief, songs, memory=memory).best_by_quantile(
                0.9, 3, CandidateSet.everything(300)
            )
        values = engine.predict(belief, songs).quantile(0.9)
        assert found.tolist() == best_rows(values, 3, np.arange(300)).tolist()
