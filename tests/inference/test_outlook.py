"""Playlists from an outlook: every song is the one that brute force finds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.domain import History, Songs
from bandstand.inference import outlook
from bandstand.inference.exact import Exact
from bandstand.inference.outlook import Outlook, SongsLater
from bandstand.inference.search_memory import SearchMemory
from bandstand.inference.song_table import SongTable
from bandstand.model.allowed import Allowed
from bandstand.model.priors import paper_prior, radio_prior
from tests.inference.search_walks import catalogue, check
from tests.simulated import MONTH

if TYPE_CHECKING:
    from bandstand.inference.exact_belief import ExactBelief

SONGS = 300
LENGTH = 14
FIXED = range(6)


class Playlist:
    """A listener with a past, and a playlist whose songs are compared one by one."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        columns = int(rng.integers(2, 12))
        self.features = catalogue(rng, SONGS, columns)
        self.engine = Exact(prior=(radio_prior if rng.random() < 0.5 else paper_prior)(columns))
        self.memory = SearchMemory(SongTable.of(self.features), sizes=(120, 80))
        self.last = np.full(SONGS, -np.inf)
        self.now = 0.0
        self.belief = self.engine.fit(self._past(int(rng.integers(3, 60))))
        self.mask = rng.random(SONGS) < rng.choice([0.6, 1.0])
        self.used = 0

    def _past(self, count: int) -> History:
        rng, history = self.rng, History.empty(self.features.shape[1])
        typical = max(float(np.abs(self.features).mean()), 1e-9)
        preference = rng.normal(size=self.features.shape[1]) / typical
        for row in rng.integers(0, SONGS, count):
            self.now += float(rng.choice([5.0, 400.0]))
            song = np.asarray(self.features[row], dtype=np.float64)
            rating = float(song @ preference + rng.choice([0.3, 1.0]) * rng.normal())
            elapsed = float(self._songs().elapsed[row])
            history = history.append(features=song, elapsed=elapsed, rating=rating)
            self.last[row] = self.now
        return history

    def _songs(self) -> Songs:
        elapsed = np.clip(self.now - self.last, 0, MONTH)
        return Songs(features=self.features, elapsed=elapsed, diversity=np.ones(SONGS))

    def _allowed(self) -> Allowed:
        """Return one filter for the whole playlist, and others that change with each song."""
        rng, allowed = self.rng, Allowed.everything(SONGS)
        if not self.mask.all():
            allowed = replace(Allowed.everything(SONGS), mask=self.mask)
        if rng.random() < 0.4:
            allowed = allowed.without(rng.integers(0, SONGS, 20))
        if rng.random() < 0.3:
            allowed = allowed.where(lambda rows: rows % 3 != 0)
        return allowed

    def queued(self, belief: ExactBelief, *places: int) -> ExactBelief:
        """Return the belief as if some of the best songs had been heard."""
        songs = self._songs()
        best = self.engine.predict(belief, songs).best_by_quantile(0.9, 9, np.arange(SONGS))
        for place in places:
            belief = self.engine.plan(belief, songs.take([int(best[place])]))
        return belief

    def make(self, length: int = LENGTH, *, behind: ExactBelief | None = None) -> int:
        """Return how many songs came from an outlook; all are those of brute force."""
        planned: ExactBelief = behind or self.belief
        step = len(self.belief.history) + 1
        for number in range(length):
            songs, allowed = self._songs(), self._allowed()
            level = 1 - 1 / (step + number)
            prediction = self.engine.predict(planned, songs, memory=self.memory)
            found = prediction.best_by_quantile(level, 1, allowed)
            values = self.engine.predict(planned, songs).quantile(level)
            assert values is not None
            check(found, values, 1, allowed.rows(), songs)
            self.used += self.memory.outlook is not None
            row = int(found[0])
            planned = self.engine.plan(planned, songs.take([row]))
            self.now += float(self.rng.choice([4.0, 4.0, 90.0]))
            self.last[row] = self.now
        return self.used


@settings(max_examples=6)
@given(seed=st.integers(0, 2**32))
def test_playlists_are_those_of_brute_force(seed: int) -> None:
    Playlist(seed).make()


def check_queues(seeds: range) -> int:
    """Make playlists behind queues that begin alike and then part, with one memory."""
    used = 0
    for seed in seeds:
        playlist = Playlist(seed)
        playlist.make(1)
        first = playlist.queued(playlist.belief, 0)
        for behind in (first, playlist.queued(first, 3), playlist.queued(playlist.belief, 1, 4)):
            playlist.make(9, behind=behind)
        used += playlist.used
    return used


def test_playlists_behind_queues_are_those_of_brute_force() -> None:
    assert check_queues(range(160, 172)) > 0


def test_an_outlook_from_another_queue_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlook, "go_on", lambda *_: True)
    with pytest.raises(AssertionError):
        check_queues(range(160, 172))


@pytest.mark.long
@pytest.mark.parametrize("run", range(10))
def test_hundreds_of_queues_have_playlists_of_brute_force(run: int) -> None:
    assert check_queues(range(1_000 * run, 1_000 * run + 20)) > 0


@pytest.mark.long
@pytest.mark.parametrize("run", range(10))
def test_thousands_of_planned_songs_are_those_of_brute_force(run: int) -> None:
    used = [Playlist(1_000 * run + seed).make(20) for seed in range(20)]
    assert sum(used) > 100


def test_disliked_songs_are_planned_just_after_they_were_heard() -> None:
    """All others that are allowed are worth less than nothing."""
    Playlist(6_001).make(20)


def check_playlists() -> int:
    return sum(Playlist(seed).make() for seed in FIXED)


def test_most_songs_come_from_an_outlook() -> None:
    """The same playlists as those below that must end in a difference."""
    assert check_playlists() > len(FIXED) * LENGTH // 3


def test_a_ceiling_that_is_not_asked_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Outlook._kept.__func__  # type: ignore[attr-defined]

    def forgetful(cls: Any, found: Any, fixed: Any) -> Any:
        made = honest(cls, found, fixed)
        return made and replace(made, ceiling=-np.inf)

    monkeypatch.setattr(outlook, "_WANTED", 4)
    monkeypatch.setattr(Outlook, "_kept", classmethod(forgetful))
    with pytest.raises(AssertionError):
        check_playlists()


def test_bounds_that_are_too_low_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Outlook._bounds
    monkeypatch.setattr(
        Outlook, "_bounds", lambda self, elapsed: honest(self, elapsed) * 0.5 - self.rows
    )
    monkeypatch.setattr(outlook, "_BATCH", 1)
    with pytest.raises(AssertionError):
        check_playlists()


def test_songs_later_have_waited_longer() -> None:
    songs = Songs.of(features=np.ones((4, 1)), elapsed=[10.0, MONTH, MONTH - 50, 400.0])
    later = SongsLater(songs, 100.0)
    assert later.elapsed_of([0, 1, 2, 3]).tolist() == [110.0, MONTH, MONTH, 500.0]
    assert later.heard.tolist() == [0, 3]
    assert later.longest == songs.longest
