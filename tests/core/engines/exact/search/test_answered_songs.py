from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.exact.posterior.song_mixtures import Given
from bandstand.core.engines.exact.search import answered_songs
from bandstand.core.engines.exact.search.equal_songs import first_of_each, kinds_of
from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.history import Songs
from bandstand.core.model.song_groups import SongGroups
from tests.fixtures.effect_worlds import World, effect_prior

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.belief import ExactBelief
    from bandstand.core.model.history import History


class Walk:
    """Questions and answers over a catalogue of artists, some with answers and some without."""

    def __init__(self, seed: int, *, songs: int = 300, different: int | None = None) -> None:
        self.rng = rng = np.random.default_rng(seed)
        artists, columns = int(rng.integers(2, 100)), int(rng.integers(1, 8))
        self.world = World.drawn(
            rng, songs=songs, albums=2 * artists, artists=artists, columns=columns
        )
        if different is not None:
            same = rng.integers(different, size=songs)
            self.world = replace(self.world, features=self.world.features[same])
        artist, album, song = rng.choice([0.0, 0.1, 1.0, 5.0], size=3)
        prior = effect_prior(rng, columns, artist=artist, album=album, song=song + 0.01)
        rows = rng.integers(songs, size=int(rng.integers(1, 80)))
        share, noise = rng.choice([0.3, 0.9, 1.0]), float(rng.choice([0.01, 1.0]))
        self.history: History = self.world.history(rng, rows, share_never=share, noise=noise)
        self.engine = Exact(prior=prior)
        self.belief: ExactBelief = self.engine.fit(self.history)
        self.elapsed = np.full(songs, np.inf)
        self.elapsed[rows] = rng.exponential(rng.choice([500, 100_000]), size=len(rows))
        self.memory = self.engine.new_cache(self.world.features)

    @property
    def songs(self) -> Songs:
        return Songs.of(
            features=self.world.features, elapsed=self.elapsed, groups=self.world.groups
        )

    def is_right(self, level: float, count: int) -> bool:
        """Return whether the search finds the values that computing every song finds."""
        allowed = CandidateSet.everything(len(self.elapsed)).without(
            self.rng.integers(len(self.elapsed), size=3)
        )
        searched = self.engine.predict(self.belief, self.songs, memory=self.memory)
        self.found = searched.best_by_quantile(level, count, allowed)
        values: Any = self.engine.predict(self.belief, self.songs).quantile(level)
        best = np.sort(values[allowed.rows()])[-count:]
        every = self.engine.predict(self.belief, self.songs).best_by_quantile(level, count, allowed)
        self.is_in_order = self.found.tolist() == every.tolist()
        return np.allclose(np.sort(values[self.found]), best, rtol=1e-9, atol=1e-12)

    def go_on(self) -> None:
        """Plan the song that was found, or rate it; it was then heard three minutes ago."""
        row = int(self.found[0])
        if self.rng.random() < 0.3:
            self.belief = self.engine.plan(self.belief, self.songs.take([row]))
        elif not self.belief.has_planned_plays:
            self.history = self.history.append(
                features=self.world.features[row],
                elapsed=float(self.elapsed[row]),
                rating=3 + float(self.rng.normal()),
                groups=self.world.groups.take([row]),
            )
            self.belief = self.engine.update(self.belief, self.history)
        self.elapsed = self.elapsed.copy()
        self.elapsed[row] = 3.0


@settings(max_examples=15)
@given(seed=st.integers(0, 100_000))
def test_the_best_songs_are_those_of_every_songs_quantile(seed: int) -> None:
    walk = Walk(seed)
    for _ in range(3):
        for level, count in ((0.3, 1), (0.6, 5), (0.95, 1)):
            assert walk.is_right(level, count)
        walk.go_on()


@settings(max_examples=15)
@given(seed=st.integers(0, 100_000), different=st.integers(1, 30))
def test_equal_songs_come_in_the_order_of_the_catalogue(seed: int, different: int) -> None:
    walk = Walk(seed, different=different)
    for _ in range(3):
        for level, count in ((0.3, 1), (0.6, 5), (0.95, 40)):
            assert walk.is_right(level, count)
            assert walk.is_in_order
        walk.go_on()


def test_few_of_many_equal_songs_are_looked_at() -> None:
    walk = Walk(3, songs=2_000, different=2)
    kinds = kinds_of(walk.world.features)
    everything = CandidateSet.everything(2_000)
    left = first_of_each(walk.belief, walk.songs, kinds, everything, 5)
    assert 10 <= left.upper_count < 1_000
    assert kinds_of(np.arange(2_000.0)[:, np.newaxis]) is None


def test_few_songs_of_answered_artists_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []
    plain = Given.of

    def counted(belief: Any, songs: Any, rows: Any) -> Any:
        computed.append(len(rows))
        return plain(belief, songs, rows)

    walk = Walk(4, songs=3_000)
    monkeypatch.setattr(Given, "of", staticmethod(counted))
    assert len(walk.songs.groups_of(slice(None)).rows_of(walk.history.groups.artist)) > 1_000
    walk.engine.predict(walk.belief, walk.songs, memory=walk.memory).best_by_quantile(
        0.6, 1, CandidateSet.everything(3_000)
    )
    assert sum(computed) < 150


@pytest.mark.parametrize("method", ["moments", "may_reach"])
def test_a_bound_that_is_too_low_is_caught(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = getattr(answered_songs._Query, method)

    def low(query: Any, *rest: Any) -> Any:
        found = plain(query, *rest)
        return np.zeros_like(found) if method == "may_reach" else (found[0], found[0] - 3)

    monkeypatch.setattr(answered_songs._Query, method, low)
    assert not all(Walk(seed).is_right(0.95, 1) for seed in range(30))


def test_songs_that_sound_the_same_differ_by_their_artists() -> None:
    """Of one hundred equal songs those of the artist that was liked come first."""
    prior = effect_prior(np.random.default_rng(0), 1, artist=1.0, album=0.0, song=0.0)
    groups = SongGroups.of(song=np.arange(100), artist=np.arange(100) // 10)
    world = World(features=np.ones((100, 1)), album=np.arange(100), artist=groups.artist)
    engine = Exact(prior=prior)
    history = world.history(np.random.default_rng(0), [31, 32], share_never=1.0, noise=0.0)
    liked = engine.fit(history.extended(history.first(2)))
    songs = Songs.of(features=world.features, elapsed=np.inf, groups=groups)
    sign = 1 if liked.contents_of(np.ones((1, 1)), groups.take([30]))[0, 0] > 0 else -1
    assert sign == 1
    found = engine.predict(liked, songs, memory=engine.new_cache(world.features))
    assert found.best_by_quantile(0.5, 4, CandidateSet.everything(100)).tolist()[0] in (30, 31)
