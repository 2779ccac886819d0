from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.exact.search import candidate_list, screen, shortlist, top_k
from bandstand.core.engines.exact.search.candidate_list import CandidateList, Drift, SearchCache
from bandstand.core.engines.exact.search.mixture_cells import MixtureCells
from bandstand.core.engines.exact.search.shortlist import Shortlist, TightBounds
from bandstand.core.engines.exact.search.tail_budget import tail_budget
from bandstand.core.engines.song_table import SongTable
from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import paper_prior, radio_prior
from tests.fixtures.search_walks import Walk, check
from tests.fixtures.simulated_listeners import MONTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.types import Indices

WALKS = 10  # each of them makes up to 22 choices
LONG_RUNS, WALKS_PER_RUN = 10, 50


@settings(max_examples=WALKS)
@given(seed=st.integers(0, 2**32))
def test_the_search_finds_what_brute_force_finds(seed: int) -> None:
    Walk(seed).run()


@pytest.mark.long
@pytest.mark.parametrize("run", range(LONG_RUNS))
def test_ten_thousand_choices_are_those_of_brute_force(run: int) -> None:
    seeds = range(1_000 * run, 1_000 * run + WALKS_PER_RUN)
    assert sum([Walk(seed, songs=400).run() for seed in seeds]) >= 1_000


def check_walks(count: int = WALKS) -> None:
    for seed in range(count):
        Walk(seed).run()


def test_fixed_walks_are_right() -> None:
    """The same walks as those below that must end in a difference."""
    check_walks()


def test_walks_are_partly_answered_by_lists() -> None:
    walks = [Walk(seed, songs=400) for seed in range(WALKS)]
    cases = sum(walk.run() for walk in walks)
    assert sum(walk.memory.passes for walk in walks) < 0.9 * cases


def test_a_list_without_drift_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CandidateList, "drift", lambda *_: Drift(0.0, 0.0, 0.0))
    with pytest.raises(AssertionError):
        check_walks(40)


def test_a_list_for_every_filter_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CandidateList, "suits", lambda *_: True)
    with pytest.raises(AssertionError):
        check_walks(40)


def test_widths_that_are_too_small_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = MixtureCells.widths.func  # type: ignore[attr-defined]
    monkeypatch.setattr(MixtureCells, "widths", property(lambda self: 0.3 * honest(self)))
    with pytest.raises(AssertionError):
        check_walks(40)


def test_a_budget_above_the_tail_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def generous(shares: Any, locations: Any, scales: Any, tail: float, freedom: float) -> Any:
        return tail_budget(shares, locations, scales, min(4 * tail, 0.99), freedom)

    for module in (candidate_list, screen, shortlist):
        monkeypatch.setattr(module, "tail_budget", generous)
    with pytest.raises(AssertionError):
        check_walks(40)


def small_cache(features: Any) -> SearchCache:
    """Return a cache that lists songs of small catalogues too."""
    return SearchCache(SongTable.of(features), list_size=40)


def check_disliked_songs() -> None:
    """Compare songs that are all disliked, so that one heard just now is the best."""
    rng = np.random.default_rng(8)
    features = np.hstack([rng.normal(size=(500, 3)), np.ones((500, 1))])
    heard = features[:60]
    ratings = heard @ [1.0, 1.0, 1.0, -30.0] + rng.normal(size=60)
    history = History.of(features=heard, elapsed=MONTH, ratings=ratings)
    engine, elapsed = Exact(prior=paper_prior(4)), np.full(500, MONTH)
    elapsed[np.argsort(features[:, 0])[:20]] = rng.uniform(0, 10, 20)
    songs = Songs.of(features=features, elapsed=elapsed)
    prediction = engine.predict(engine.fit(history), songs, memory=small_cache(features))
    found = prediction.best_by_quantile(0.9, 3, CandidateSet.everything(500))
    values = prediction.quantile(0.9)
    assert values is not None
    assert values.max() < 0
    check(found, values, 3, np.arange(500), songs)


def test_disliked_songs_are_best_just_after_they_were_heard() -> None:
    check_disliked_songs()


def test_forgotten_heard_songs_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Songs, "heard", np.empty(0, dtype=np.intp))
    honest = TightBounds.upper

    def as_if_never_heard(self: TightBounds, features: Any, _: Any) -> Any:
        return honest(self, features, np.full(len(features), MONTH))

    monkeypatch.setattr(TightBounds, "upper", as_if_never_heard)
    with pytest.raises(AssertionError):
        check_disliked_songs()


def test_bounds_that_are_too_low_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = TightBounds.upper

    def dishonest(self: TightBounds, features: Any, elapsed: Any) -> Any:
        upper = honest(self, features, elapsed)
        return upper - 0.2 * np.abs(upper)

    monkeypatch.setattr(TightBounds, "upper", dishonest)
    with pytest.raises(AssertionError):
        check_walks(40)


# -- playlists ---------------------------------------------------------------------------------


def check_playlists(plays: int = 12) -> int:
    """Plan plays that soon recover, as the clock goes on; return how often all songs were read."""
    passes = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(400, 5))
        rated = rng.integers(400, size=30)
        history = History.of(
            features=features[rated],
            elapsed=np.where(rng.random(30) < 0.3, 20.0, MONTH),
            ratings=2 + features[rated] @ rng.normal(size=5) + rng.normal(size=30),
        )
        engine, last, memory = (
            Exact(prior=paper_prior(5)),
            np.full(400, -np.inf),
            small_cache(features),
        )
        last[rated] = -40.0
        belief = engine.fit(history)
        for number in range(plays):
            now = 60.0 * number
            songs = Songs.of(features=features, elapsed=np.clip(now - last, 0, MONTH))
            prediction = engine.predict(belief, songs, memory=memory)
            level = 1 - 1 / (30 + number)
            found = prediction.best_by_quantile(level, 2, CandidateSet.everything(400))
            check(found, prediction.quantile(level), 2, np.arange(400), songs)
            belief = engine.plan(belief, songs.take(found[:1]))
            last[found[0]] = now + 4.0
        passes += memory.passes
    return passes


def test_playlists_are_those_of_brute_force_and_read_all_songs_rarely() -> None:
    assert check_playlists() < 6 * 12 / 3


def test_playlists_that_outgrow_their_shortlist_are_those_of_brute_force(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(top_k, "_BOUNDED_PLANNED", 3)
    assert check_playlists() < 6 * 12 / 3


def test_variances_without_the_planned_plays_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def careless(self: Shortlist, *_: Any) -> bool:
        return self.outside < np.inf

    monkeypatch.setattr(Shortlist, "suits", careless)
    with pytest.raises(AssertionError):
        check_playlists()


# -- lists that say nothing --------------------------------------------------------------------


def check_a_second_question(spoil: Callable[[CandidateList], CandidateList]) -> list[float]:
    """Ask for a level that the list was not made for; return how far the lists drift by it."""
    drifts = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(400, 3))
        rated = rng.integers(400, size=4)
        history = History.of(
            features=features[rated], elapsed=[MONTH, MONTH, 30.0, 5.0], ratings=rng.normal(size=4)
        )
        engine, songs = Exact(prior=paper_prior(3)), Songs.of(features=features, elapsed=MONTH)
        belief, memory, everything = (
            engine.fit(history),
            small_cache(features),
            CandidateSet.everything(400),
        )
        engine.predict(belief, songs, memory=memory).best_by_quantile(0.3, 1, everything)
        assert memory.candidates is not None
        memory.candidates = spoil(memory.candidates)
        cells = MixtureCells(belief, songs.longest, memory.candidates.metric)
        drifts.append(memory.candidates.drift(cells, 1e-4).beyond)
        prediction = engine.predict(belief, songs, memory=memory)
        found = prediction.best_by_quantile(0.9999, 3, everything)
        check(found, prediction.quantile(0.9999), 3, np.arange(400), songs)
    return drifts


def test_a_list_with_an_infinite_drift_says_nothing() -> None:
    assert np.inf in check_a_second_question(lambda made: made)


def test_an_infinite_drift_that_is_taken_for_none_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = CandidateList.outside

    def careless(self: CandidateList, drift: Drift) -> float:
        return honest(self, drift if drift.beyond < np.inf else drift._replace(beyond=0.0))

    monkeypatch.setattr(CandidateList, "outside", careless)
    with pytest.raises(AssertionError):
        check_a_second_question(lambda made: made)


def without_limit(made: CandidateList) -> CandidateList:
    """Return a list of a few songs with no number for the others."""
    some = slice(0, 5)
    return replace(
        made,
        rows=made.rows[some],
        bounds=made.bounds.at(np.arange(5)),
        limit=np.nan,
    )


def test_a_list_without_a_limit_says_nothing() -> None:
    check_a_second_question(without_limit)


def test_a_missing_limit_that_is_taken_for_an_infinite_one_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CandidateList, "outside", lambda *_: -np.inf)
    with pytest.raises(AssertionError):
        check_a_second_question(without_limit)


def test_margins_that_overflow_leave_the_choice_right() -> None:
    """Most songs have no features, so that the margins of others are beyond all numbers."""
    rng = np.random.default_rng(1)
    for share in (0.5, 0.8, 0.9, 0.97):
        features = rng.uniform(-9e5, 9e5, size=(400, 3))
        features[rng.random(400) < share] = 0.0
        _best(features, 3, questions=3)


# -- rounding ----------------------------------------------------------------------------------


def check_cancelling_songs() -> None:
    """Compare songs whose likings are the small differences of large numbers."""
    rng = np.random.default_rng(3)
    heard = rng.normal(size=(60, 2))
    history = History.of(features=heard, elapsed=MONTH, ratings=heard @ [1.0, 0.7])
    engine = Exact(prior=paper_prior(2))
    belief = engine.fit(history)
    along = belief.weights @ belief.means
    across = 1e4 * np.array([along[1], -along[0]])
    sides, little = rng.choice([-1.0, 1.0], size=(600, 1)), 1e-3 * rng.normal(size=(600, 1))
    songs = Songs.of(features=sides * across + little * along, elapsed=MONTH)
    for seed in range(5):
        memory = small_cache(songs.features)
        out = np.flatnonzero(np.random.default_rng(seed).random(600) < 0.1)
        allowed = CandidateSet.everything(600).without(out)
        prediction = engine.predict(belief, songs, memory=memory)
        found = prediction.best_by_quantile(0.45, 2, allowed)
        values = prediction.quantile(0.45)
        assert values is not None
        check_values(values[found], values[allowed.rows()])


def check_values(found: Any, values: Any) -> None:
    """Assert that these are the largest values, to far better than single precision."""
    largest = np.sort(values)[::-1][: len(found)]
    np.testing.assert_allclose(found, largest, atol=1e-9 * np.ptp(values))


def test_small_differences_of_large_numbers_are_found() -> None:
    check_cancelling_songs()


# -- songs at rest -----------------------------------------------------------------------------


def check_favourites_come_back() -> None:
    """Follow somebody who hears the best songs again and again as they recover."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(200, 4))
    engine, preference = Exact(prior=paper_prior(4)), np.array([2.0, 1.0, 0.5, 0.2])
    memory = small_cache(features)
    rows = rng.integers(0, 200, 150)
    elapsed = rng.uniform(1, 1_000, 150)
    ratings = features[rows] @ preference * -np.expm1(-elapsed / 300) + rng.normal(0, 1, 150)
    history = History.of(features=features[rows], elapsed=elapsed, ratings=ratings)
    last, now, heard_again = np.full(200, -np.inf), 0.0, 0
    belief = engine.fit(history)
    for _ in range(40):
        songs = Songs(features=features, elapsed=np.clip(now - last, 0, MONTH))
        found = engine.predict(belief, songs, memory=memory).best_by_quantile(
            0.9, 1, CandidateSet.everything(200)
        )
        values = engine.predict(belief, songs).quantile(0.9)
        check(found, values, 1, np.arange(200), songs)
        heard_again += int(last[found[0]] > -np.inf)
        last[found[0]] = now
        now += 30.0
    assert heard_again > 10


def test_favourites_come_back_when_they_have_recovered() -> None:
    check_favourites_come_back()


# -- edges -------------------------------------------------------------------------------------


def _best(
    features: Any, count: int, *, rated: int = 5, allowed: Any = None, questions: int = 1
) -> Indices:
    features = np.asarray(features, dtype=np.float64)
    engine = Exact(prior=radio_prior(features.shape[1]))
    history = History.of(
        features=features[:rated], elapsed=MONTH, ratings=np.arange(rated, dtype=float)
    )
    songs = Songs.of(features=features, elapsed=MONTH)
    memory = small_cache(songs.features)
    prediction = engine.predict(engine.fit(history), songs, memory=memory)
    some = CandidateSet.everything(len(features)) if allowed is None else allowed
    for _ in range(questions):
        found = prediction.best_by_quantile(0.9, count, some)
        check(found, prediction.quantile(0.9), count, some.rows(), songs)
    return found


def test_equal_songs_come_by_row() -> None:
    assert _best(np.ones((300, 2)), 3).tolist() == [0, 1, 2]


def test_songs_without_features_are_ties() -> None:
    assert _best(np.zeros((300, 2)), 2).tolist() == [0, 1]


def test_no_data_still_has_an_order() -> None:
    _best(np.random.default_rng(0).normal(size=(300, 3)), 4, rated=0)


def test_more_songs_than_there_are_means_all_of_them() -> None:
    features = np.random.default_rng(1).normal(size=(120, 3))
    assert sorted(_best(features, 500).tolist()) == list(range(120))


def test_filters_that_leave_few_or_no_songs() -> None:
    features = np.random.default_rng(2).normal(size=(500, 3))
    nothing = CandidateSet.everything(500).where(lambda rows: rows < 0)
    assert _best(features, 3, allowed=nothing).tolist() == []
    two = CandidateSet.everything(500).where(lambda rows: rows >= 498)
    assert sorted(_best(features, 3, allowed=two).tolist()) == [498, 499]
    one = CandidateSet.marked(np.arange(500) == 17)
    assert _best(features, 1, allowed=one).tolist() == [17]


# -- what it costs -----------------------------------------------------------------------------


def test_a_step_computes_few_songs_and_rarely_reads_all() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20_000, 10)).astype(np.float32)
    engine, preference = Exact(prior=paper_prior(10)), rng.normal(size=10)
    songs = Songs(features=features, elapsed=np.full(20_000, MONTH))
    memory = SearchCache(SongTable.of(features), list_size=2_000)
    rated = features[:200].astype(np.float64)
    history = History.of(
        features=rated, elapsed=MONTH, ratings=rated @ preference + rng.normal(size=200)
    )
    belief = engine.fit(history)
    assert memory.nbytes == 0
    for _ in range(20):
        prediction = engine.predict(belief, songs, memory=memory)
        row = int(prediction.best_by_quantile(0.99, 1, CandidateSet.everything(20_000))[0])
        song = songs.features_of([row])[0]
        history = history.append(
            features=song, elapsed=MONTH, rating=float(song @ preference + rng.normal())
        )
        belief = engine.update(belief, history)
    assert memory.passes <= 3
    assert memory.evaluated < 20 * 10
    assert 0 < memory.nbytes < 100_000


class Vanishing(SearchCache):
    """A cache whose list is dropped, by another thread as it were, once it was read."""

    _kept: CandidateList | None = None

    @property
    def candidates(self) -> CandidateList | None:
        found, self._kept = self._kept, None
        return found

    @candidates.setter
    def candidates(self, made: CandidateList | None) -> None:
        self._kept = made


def test_a_list_may_be_dropped_while_it_is_counted() -> None:
    features = np.random.default_rng(0).normal(size=(300, 3))
    engine, songs = Exact(prior=paper_prior(3)), Songs.of(features=features, elapsed=MONTH)
    memory = Vanishing(SongTable.of(features), list_size=40)
    history = History.of(features=features[:5], elapsed=MONTH, ratings=np.arange(5.0))
    prediction = engine.predict(engine.fit(history), songs, memory=memory)
    prediction.best_by_quantile(0.9, 1, CandidateSet.everything(300))
    assert memory.shortlist is not None
    assert memory.nbytes > memory.nbytes == memory.shortlist.nbytes


def test_a_list_is_of_one_filter_and_holds_while_that_lasts() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3_000, 4))
    engine = Exact(prior=paper_prior(4))
    songs = Songs.of(features=features, elapsed=MONTH)
    memory = SearchCache(SongTable.of(features), list_size=200)
    ratings = features[:50, 0] + rng.normal(size=50)
    history = History.of(features=features[:50], elapsed=MONTH, ratings=ratings)
    belief = engine.fit(history)
    worst_half = CandidateSet.marked(features @ belief.means[0] < 0)
    for _ in range(5):
        prediction = engine.predict(belief, songs, memory=memory)
        allowed = worst_half.where(lambda rows: rows % 2 == 0)
        found = prediction.best_by_quantile(0.9, 2, allowed)
        values = prediction.quantile(0.9)
        check(found, values, 2, allowed.rows(), songs)
    assert memory.passes == 1
    prediction.best_by_quantile(0.9, 2, CandidateSet.everything(3_000))
    assert memory.passes == 2


def test_a_list_can_be_dropped_at_any_time() -> None:
    spared = 0
    for seed in range(4):
        honest, forgetful = Walk(seed, songs=400), Walk(seed, songs=400, forgets=True)
        honest.run()
        forgetful.run()
        assert honest.found == forgetful.found
        spared += forgetful.memory.passes - honest.memory.passes
    assert spared > 0
