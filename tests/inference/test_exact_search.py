from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.domain import History, Songs
from bandstand.inference import exact_search
from bandstand.inference.exact import Exact, ExactBelief
from bandstand.inference.song_table import SongTable
from bandstand.model.priors import paper_prior, radio_prior
from bandstand.model.ranking import best_rows
from tests.simulated import MONTH

if TYPE_CHECKING:
    from bandstand.inference.search_memory import SearchMemory

SONGS = 200


def check_walk(seed: int, steps: int, *, columns: int, radio: bool) -> None:
    """Follow a listener and compare every choice with the quantiles of all songs."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(SONGS, columns)) * rng.choice([0.1, 1.0, 3.0])
    features[:, -1] = 1.0
    engine = Exact(prior=radio_prior(columns) if radio else paper_prior(columns))
    everything = Songs.of(features=features, elapsed=MONTH)
    memory = engine.remember(everything)
    preference, recovery_time = rng.normal(size=columns), rng.uniform(30, 3_000)
    last, now = np.full(SONGS, -np.inf), 0.0
    history = History.empty(columns)
    belief = engine.fit(history)
    for step in range(1, steps):
        songs = Songs(
            features=everything.features,
            elapsed=np.clip(now - last, 0, MONTH),
            diversity=everything.diversity,
        )
        allowed = np.flatnonzero(rng.random(SONGS) < 0.9)
        row = int(rng.integers(SONGS))
        if step > 2 and len(history):  # everything may have been taken back
            levels = [1 - 1 / step, 0.6, 0.99, 0.05, 0.3]
            level, count = float(rng.choice(levels)), int(rng.integers(1, 4))
            row = _compared(engine, belief, songs, memory, level, count, allowed)
        rating = features[row] @ preference * -np.expm1(-songs.elapsed[row] / recovery_time)
        history = history.append(
            features=features[row], elapsed=float(songs.elapsed[row]), rating=rating + rng.normal()
        )
        belief = engine.update(belief, history)
        if rng.random() < 0.1:  # an answer taken back: nothing stale may be used
            history = history.without(int(rng.integers(len(history))))
            belief = engine.fit(history)
        last[row] = now
        now += float(rng.choice([1.0, 60.0, 3_000.0]))


def _compared(
    engine: Exact,
    belief: ExactBelief,
    songs: Songs,
    memory: SearchMemory,
    level: float,
    count: int,
    allowed: np.ndarray[tuple[int], np.dtype[np.intp]],
) -> int:
    quick = engine.predict(belief, songs, memory=memory).best_by_quantile(level, count, allowed)
    values = engine.predict(belief, songs).quantile(level)
    assert values is not None
    best = best_rows(values, count, allowed)
    assert values[quick] == pytest.approx(values[best], rel=1e-10)
    planned, row = belief, int(quick[0])
    for _ in range(2):
        planned = engine.plan(planned, songs.take([row]))
        again = engine.predict(planned, songs, memory=memory).best_by_quantile(level, 1, allowed)
        row = int(again[0])
        all_planned = engine.predict(planned, songs).quantile(level)
        assert all_planned is not None
        assert all_planned[row] == pytest.approx(all_planned[allowed].max(), rel=1e-10)
    return int(quick[0])


@settings(max_examples=5)
@given(seed=st.integers(0, 2**32), columns=st.integers(2, 12), radio=st.booleans())
def test_the_search_finds_what_brute_force_finds(seed: int, columns: int, *, radio: bool) -> None:
    check_walk(seed, 18, columns=columns, radio=radio)


@pytest.mark.long
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), columns=st.integers(2, 30), radio=st.booleans())
def test_the_search_finds_what_brute_force_finds_over_long_walks(
    seed: int, columns: int, *, radio: bool
) -> None:
    check_walk(seed, 60, columns=columns, radio=radio)


@pytest.mark.parametrize(("bound", "factor"), [("above", 0.5), ("below", 2.0)])
def test_bounds_on_the_wrong_side_would_be_noticed(
    bound: str, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same walks with bounds that are too low, or too high, must end in a difference."""
    honest = getattr(exact_search._Deviations, bound)

    def dishonest(*args: object) -> exact_search._Deviations:
        found = honest(*args)
        return exact_search._Deviations(found.values * factor, found.reference)

    monkeypatch.setattr(exact_search._Deviations, bound, dishonest)
    with pytest.raises(AssertionError):
        _check_walks(20)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), columns=st.integers(1, 12), plans=st.integers(0, 3))
def test_the_kept_variances_are_bounds_on_both_sides(seed: int, columns: int, plans: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(60, columns)) * 10.0 ** rng.uniform(-2, 2)
    engine = Exact(prior=radio_prior(columns))
    songs = Songs.of(features=features, elapsed=MONTH)
    memory = engine.remember(songs)
    history = History.empty(columns)
    belief = engine.fit(history)
    for _ in range(20):
        row = int(rng.integers(60))
        elapsed, weight = float(rng.choice([MONTH, 30.0])), float(rng.choice([1.0, 0.1]))
        history = history.append(
            features=features[row], elapsed=elapsed, rating=float(rng.normal()), weight=weight
        )
        belief = engine.update(belief, history)
        memory.follow(belief, low=True)
    for _ in range(plans):
        belief = engine.plan(belief, songs.take([int(rng.integers(60))]))
    kept = memory.follow(belief, low=True)
    truth = np.array([np.einsum("sp,pq,sq->s", features, c, features) for c in belief.covariances])
    room = 1e-9 * truth[kept.nodes].max()
    assert (truth[kept.nodes] <= kept.upper + room).all()
    assert (truth[kept.nodes] >= kept.upper - kept.error[:, np.newaxis] - room).all()


def test_listeners_share_the_table_of_the_catalogue() -> None:
    songs = Songs.of(features=np.eye(4), elapsed=MONTH)
    table = SongTable.of(songs.features)
    engine = Exact(prior=paper_prior(4))
    one, other = (engine.remember(songs, shared=table) for _ in range(2))
    assert one.table is other.table is table
    bare = table.without_last_column()
    assert bare.features.tolist() == np.eye(4)[:, :3].tolist()
    assert np.shares_memory(bare.single, table.single)
    assert bare.largest_norm == table.largest_norm == 1.0
    assert SongTable.of(np.zeros((0, 2))).largest_norm == 0.0


def _check_walks(count: int) -> None:
    for seed in range(count):
        check_walk(seed, 18, columns=8, radio=False)


def test_the_memory_only_looks_closely_at_few_songs() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(2_000, 10))
    engine = Exact(prior=paper_prior(10))
    songs = Songs.of(features=features, elapsed=MONTH)
    memory = engine.remember(songs)
    history = History.of(features=features[:100], elapsed=MONTH, ratings=features[:100].sum(axis=1))
    looked_at: list[int] = []
    prediction = engine.predict(engine.fit(history), songs, memory=memory)
    honest = type(prediction).quantile_of

    def counting(
        self: object, rows: np.ndarray[tuple[int], np.dtype[np.intp]], level: float
    ) -> object:
        looked_at.append(len(rows))
        return honest(self, rows, level)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(prediction), "quantile_of", counting)
        prediction.best_by_quantile(0.99, 1, np.arange(2_000))
    assert sum(looked_at) < 100
