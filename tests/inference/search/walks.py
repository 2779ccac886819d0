"""Listeners who hear, answer, take back and plan; every choice is compared with brute force."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand.domain import History, Songs
from bandstand.inference.exact import Exact
from bandstand.inference.search.cache import SearchCache
from bandstand.inference.song_table import SongTable
from bandstand.model.allowed import Allowed
from bandstand.model.novelty import novelty
from bandstand.model.priors import paper_prior, radio_prior
from tests.simulated import MONTH

if TYPE_CHECKING:
    from bandstand.inference.exact import ExactBelief
    from bandstand.types import Indices

# Hardly any noise makes combs of the mixtures, which take long to compute for all songs.
NOISE = (0.0, 0.1, 0.3, 0.3, 0.3, 1.0, 1.0, 1.0)
LEVELS = (0.01, 0.3, 0.5, 0.6, 0.9, 0.99, 0.999, 0.9999)


def catalogue(rng: np.random.Generator, songs: int, columns: int) -> Any:
    """Return features of some kind: also heavy-tailed, doubled, zero, huge or tiny ones."""
    features = rng.normal(size=(songs, columns))
    kind = rng.integers(5)
    if kind == 1:
        features *= 3 * rng.standard_t(2, size=(songs, 1))
    elif kind == 2:
        features = features[rng.integers(0, max(songs // 8, 1), songs)]
    elif kind == 3:
        features[rng.random(songs) < 0.3] = 0.0
    elif kind == 4:
        features *= 10.0 ** rng.uniform(-3, 3)
    if rng.random() < 0.6:
        features[:, -1] = 1.0
    return features.astype(np.float32) if rng.random() < 0.5 else features


def some_allowed(rng: np.random.Generator, count: int) -> Allowed:
    """Return filters of all kinds, or none."""
    allowed, kind = Allowed.everything(count), rng.random()
    if kind < 0.2:
        allowed = Allowed.marked(rng.random(count) < rng.choice([0.05, 0.3, 0.9]))
    elif kind < 0.3:
        some = int(rng.integers(0, count))
        allowed = Allowed.only(rng.choice(count, some, replace=False), count)
    if rng.random() < 0.2:
        allowed = allowed.without(rng.integers(0, count, 3))
    if rng.random() < 0.2:
        allowed = allowed.where(lambda rows: rows % 3 != 0)
    return allowed


@dataclass
class Walk:
    """One listener with one cache, from one step to the next."""

    seed: int
    songs: int = 150
    steps: int = 12
    forgets: bool = False  # drops the list of candidates before every question
    found: list[list[int]] = field(default_factory=list)
    cases: int = 0
    memory: SearchCache = field(init=False)

    def run(self) -> int:
        """Return how many choices were compared, all of them right."""
        rng = np.random.default_rng(self.seed)
        columns = int(rng.integers(1, 14))
        features = catalogue(rng, self.songs, columns)
        engine = Exact(prior=(radio_prior if rng.random() < 0.5 else paper_prior)(columns))
        self.memory = SearchCache(
            SongTable.of(features), listed_from=20, list_size=int(rng.choice([3, 8, 20, 60, 90]))
        )
        typical = max(float(np.abs(features).mean()), 1e-9)
        preference, noise = rng.normal(size=columns) / typical, rng.choice(NOISE)
        recovery_time = float(np.exp(rng.uniform(2, 9)))
        last, now = np.full(self.songs, -np.inf), 0.0
        history = History.empty(columns)
        belief = engine.fit(history)
        for step in range(self.steps):
            songs = Songs(
                features=features,
                elapsed=np.clip(now - last, 0, MONTH),
                diversity=np.ones(self.songs),
            )
            row = int(rng.integers(self.songs))
            if len(history):
                found = self._two_choices(engine, belief, songs, step, rng)
                row = int(found[0]) if len(found) and rng.random() < 0.5 else row
            song = np.asarray(features[row], dtype=np.float64)
            elapsed = float(songs.elapsed[row])
            rating = song @ preference * novelty(elapsed, recovery_time) + noise * rng.normal()
            history = history.append(
                features=song,
                elapsed=elapsed,
                rating=float(rating),
                weight=float(rng.choice([1.0, 0.1])),
            )
            belief = engine.update(belief, history)
            last[row] = now
            now += float(rng.choice([1.0, 60.0, 3_000.0]))
            kind = rng.random()
            if kind < 0.1:  # an answer taken back
                history = history.without(int(rng.integers(len(history))))
            if kind < 0.2:  # the grid placed anew
                belief = engine.fit(history)
        return self.cases

    def _two_choices(
        self,
        engine: Exact,
        belief: ExactBelief,
        songs: Songs,
        step: int,
        rng: np.random.Generator,
    ) -> Indices:
        for _ in range(2):
            level, count = float(rng.choice([1 - 1 / (step + 2), *LEVELS])), rng.choice([1, 2, 30])
            allowed, planned = some_allowed(rng, self.songs), belief
            for _ in range(int(rng.choice([0, 0, 1, 3]))):
                planned = engine.plan(planned, songs.take([int(rng.integers(self.songs))]))
            if self.forgets:
                self.memory.candidates = None
            found = engine.predict(planned, songs, memory=self.memory).best_by_quantile(
                level, int(count), allowed
            )
            values = engine.predict(planned, songs).quantile(level)
            assert values is not None
            check(found, values, int(count), allowed.rows(), songs)
            self.cases += 1
            self.found.append(found.tolist())
        return found


def check(found: Indices, values: Any, count: int, rows: Indices, songs: Songs) -> None:
    """Assert that `found` are the best of `rows`; rounding alone may exchange equal ones."""
    best = rows[np.lexsort((rows, -values[rows]))[:count]]
    assert len(found) == len(best) == len(set(found.tolist()))
    assert np.isin(found, rows).all()
    unit = 1e-10 * np.abs(values[rows]).max(initial=0.0)
    np.testing.assert_allclose(values[found], values[best], rtol=1e-10, atol=unit)
    # The same song twice: the smaller row comes first, and comes at all.
    keys = np.column_stack([np.asarray(songs.features, dtype=np.float64), songs.elapsed])
    for place, row in enumerate(found):
        same = rows[(keys[rows] == keys[row]).all(axis=1)]
        assert set(same[same < row].tolist()) <= set(found[:place].tolist())
