"""Bounds of songs: no quantile is above them, whatever was heard, planned or learned since."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.exact.posterior.song_mixtures import Given
from bandstand.core.engines.exact.search import candidate_list, shortlist
from bandstand.core.engines.exact.search.candidate_list import (
    CandidateList,
    Drift,
    Push,
    SearchCache,
)
from bandstand.core.engines.exact.search.mixture_cells import Metric, MixtureCells
from bandstand.core.engines.exact.search.screen import Groups, Screen
from bandstand.core.engines.exact.search.shortlist import TightBounds
from bandstand.core.engines.exact.search.tail_budget import tail_budget
from bandstand.core.engines.song_table import SongTable
from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import paper_prior, radio_prior
from bandstand.core.model.student_mixture import quantile

if TYPE_CHECKING:
    from bandstand.core.engines.exact.engine import ExactBelief
    from bandstand.types import AnyArray, Vector

LONGEST = 43_200.0
SONGS = 200
LISTED = 40
NOISE = 0.5


@dataclass(frozen=True, kw_only=True)
class Listener:
    """A belief, and songs of which some were heard."""

    engine: Exact
    belief: ExactBelief
    songs: Songs
    typical: int
    node: int

    @classmethod
    def drawn(
        cls, seed: int, *, ratings: int, columns: int, tail: float = 0.0, again: int = 0
    ) -> Listener:
        """Return a listener; `again` of the answers are about songs heard shortly before."""
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(SONGS, columns)) * np.exp(tail * rng.normal(size=(SONGS, 1)))
        features[7] = 0.0
        features = features.astype(np.float32).astype(np.float64)
        heard = features[rng.integers(SONGS, size=ratings)]
        given = 3 + heard @ rng.normal(size=columns) + rng.normal(size=ratings)
        elapsed = np.full(ratings, LONGEST)
        elapsed[:again] = rng.uniform(5.0, LONGEST / 20, size=len(elapsed[:again]))
        engine = Exact(prior=radio_prior(columns) if seed % 2 else paper_prior(columns))
        belief = engine.fit(History.of(features=heard, elapsed=elapsed, ratings=given))
        since = np.full(SONGS, LONGEST)
        since[::9] = rng.uniform(0, LONGEST, len(since[::9]))
        songs = Songs.of(features=features, elapsed=since)
        node = int(rng.integers(len(belief.grid)))
        return cls(
            engine=engine, belief=belief, songs=songs, typical=int(rng.integers(SONGS)), node=node
        )

    def after(self, answers: int, seed: int) -> Listener:
        """Return the same listener after more answers, with a planned play."""
        rng, history, belief = np.random.default_rng(seed), self.belief.history, self.belief
        for _ in range(answers):
            rows = [self.typical, int(rng.integers(SONGS))]
            song = self.songs.features_of([int(rng.choice(rows))])[0]
            elapsed = float(rng.choice([LONGEST, 100.0]))
            history = history.append(features=song, elapsed=elapsed, rating=float(rng.normal(3, 2)))
            belief = self.engine.update(belief, history)
        planned = self.engine.plan(belief, self.songs.take([int(rng.integers(SONGS))]))
        return Listener(
            engine=self.engine,
            belief=planned,
            songs=self.songs,
            typical=self.typical,
            node=self.node,
        )

    @property
    def never(self) -> Songs:
        """All songs as if they were never heard."""
        return Songs.of(features=self.songs.features, elapsed=LONGEST)

    def quantiles(self, songs: Songs, level: float) -> Vector:
        """Return the quantiles of songs."""
        found = self.engine.predict(self.belief, songs).quantile(level)
        assert found is not None
        return found

    def cells(self, metric: Metric | None = None) -> MixtureCells:
        """Return the cells of the belief."""
        metric = metric or Metric.of(self.belief, self.node)
        assert metric is not None
        return MixtureCells(self.belief, LONGEST, metric)

    def features(self) -> Vector:
        """Return the features of a song that is taken as typical."""
        features: Vector = self.songs.features_of([self.typical])[0] + 1e-3
        return features


listeners = {
    "seed": st.integers(0, 2**32),
    "ratings": st.integers(3, 60),
    "columns": st.integers(1, 30),
    "tail": st.floats(0, 2),
    "again": st.integers(0, 8),
}
levels = st.floats(0.3, 0.9999)


def assert_above(upper: AnyArray, quantiles: Vector) -> None:
    assert (upper >= quantiles - 1e-9 * np.abs(quantiles)).all()


def listed(
    listener: Listener, level: float, noise: float = NOISE
) -> tuple[Any, CandidateList] | None:
    cells = listener.cells()
    groups = Groups.of(cells, listener.features(), 1 - level)
    if groups is None:
        return None
    screen = Screen.of(groups.knots, groups.reaches, cells.metric.form, Push.room(noise))
    assert screen is not None
    cache = SearchCache(SongTable.of(listener.songs.features), list_size=LISTED)
    table, allowed = cache.table, CandidateSet.everything(SONGS)
    push = Push.of(cells.metric, listener.features(), noise)
    bounds = screen.bounds(table, direction=push.direction)
    best = float(listener.quantiles(listener.never, level).max())
    made = CandidateList.of(cells, groups, screen, push, allowed, None, bounds, best, cache)
    return (screen, bounds, screen.bounds(table, closer=True)), made


@given(level=levels, **listeners)
def test_no_song_never_heard_is_above_the_screen(level: float, **drawn: Any) -> None:
    listener = Listener.drawn(**drawn)
    if (found := listed(listener, level)) is not None:
        (screen, bounds, closer), _ = found
        quantiles = listener.quantiles(listener.never, level)
        assert_above(screen.unit * bounds.upper.astype(np.float64), quantiles)
        assert_above(screen.unit * closer.upper.astype(np.float64), quantiles)


@given(level=levels, **listeners)
def test_no_song_is_above_its_tight_bound(level: float, **drawn: Any) -> None:
    listener = Listener.drawn(**drawn)
    close = TightBounds.of(listener.cells(), listener.features(), 1 - level)
    if close is not None:
        songs = listener.songs
        quantiles = listener.quantiles(songs, level)
        assert_above(close.upper(songs.features_of(slice(None)), songs.elapsed), quantiles)


def check_known_songs(listener: Listener, level: float) -> None:
    """Compare songs that are known at the nodes, with a planned play, with their quantiles."""
    close = TightBounds.of(listener.cells(), listener.features(), 1 - level)
    if close is None:
        return
    planned = replace(
        listener, belief=listener.engine.plan(listener.belief, listener.songs.take([7]))
    )
    songs, rows = listener.songs, np.arange(SONGS)
    quantiles = planned.quantiles(songs, level)
    known = close.known(
        close.lengths(songs.features_of(rows)), Given.of(planned.belief, songs, rows)
    )
    values = quantiles - 1e-9 * np.abs(quantiles) - 1e-300
    above = [known.above(value)[row] for row, value in enumerate(values)]
    assert (np.array(above) >= (1 - level) * (1 - 1e-7)).all()


@given(level=levels, **listeners)
def test_no_known_song_has_more_above_its_quantile(level: float, **drawn: Any) -> None:
    check_known_songs(Listener.drawn(**drawn), level)


def check_some_known_songs() -> None:
    for seed in range(10):
        check_known_songs(Listener.drawn(seed, ratings=12, columns=6, again=3), 0.9)


def test_what_known_songs_bend_by_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    check_some_known_songs()
    monkeypatch.setattr(shortlist, "_highest", lambda at_nodes: at_nodes[:, 1:])
    with pytest.raises(AssertionError):
        check_some_known_songs()


def check_list(listener: Listener, level: float, answers: int, later_level: float) -> None:
    """Compare the bounds of a list with the quantiles of a later belief."""
    found = listed(listener, level)
    later = listener.after(answers, 1)
    if found is None or not found[1].metric.suits(later.belief):
        return
    assert_list_holds(found[1], later, later_level)


def assert_list_holds(candidates: CandidateList, later: Listener, level: float) -> None:
    drift = candidates.drift(later.cells(candidates.metric), 1 - level)
    if drift.beyond < np.inf:
        quantiles = later.quantiles(later.never, level)
        assert_above(candidates.upper(drift), quantiles[candidates.rows])
        outside = np.delete(quantiles, candidates.rows)
        assert (outside <= candidates.outside(drift) + 1e-9 * np.abs(outside)).all()


@given(level=levels, later_level=levels, answers=st.integers(0, 6), **listeners)
def test_a_list_holds_after_more_answers(
    level: float, later_level: float, answers: int, **drawn: Any
) -> None:
    check_list(Listener.drawn(**drawn), level, answers, later_level)


def check_some_lists() -> None:
    for seed in range(20):
        check_list(Listener.drawn(seed, ratings=12, columns=6, again=3), 0.9, 3, 0.92)


def test_some_lists_hold() -> None:
    check_some_lists()


def test_centres_that_have_not_moved_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_list, "from_line", lambda points, *_: 0 * points)
    with pytest.raises(AssertionError):
        check_some_lists()


def check_single_answers() -> None:
    for seed in range(60):
        check_list(Listener.drawn(seed, ratings=30, columns=1), 0.9, 1, 0.9)


def test_lists_hold_after_a_single_answer() -> None:
    check_single_answers()


def test_a_push_beyond_its_room_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = CandidateList.drift

    def as_if_pushed(self: CandidateList, cells: MixtureCells, tail: float) -> Drift:
        wide = replace(self, push=self.push._replace(low=-np.inf, high=np.inf))
        return Drift(honest(wide, cells, tail).beyond, self.push.low, self.push.high)

    monkeypatch.setattr(CandidateList, "drift", as_if_pushed)
    with pytest.raises(AssertionError):
        check_single_answers()


def check_pushed_lists() -> None:
    """Compare lists with beliefs that the next rating, of the best song, has pushed far."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(SONGS, 6))
        # Of equal length: a short song outside would make the certificate loose.
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        songs = Songs.of(features=features, elapsed=LONGEST)
        heard = songs.take(rng.integers(SONGS, size=8)).features
        ratings = heard @ rng.normal(size=6) + 0.3 * rng.normal(size=8)
        engine = Exact(prior=paper_prior(6))
        belief = engine.fit(History.of(features=heard, elapsed=LONGEST, ratings=ratings))
        node = int(np.argmax(belief.weights))
        before = Listener(engine=engine, belief=belief, songs=songs, typical=0, node=node)
        hoped = before.quantiles(songs, 0.9)
        best = int(np.argmax(hoped))
        found = listed(replace(before, typical=best), 0.9, noise=3.0)
        assert found is not None
        answer = float(hoped[best]) - 5
        history = belief.history.append(features=features[best], elapsed=LONGEST, rating=answer)
        after = replace(before, belief=engine.update(belief, history))
        assert_list_holds(found[1], after, 0.9)


def test_lists_hold_after_a_rating_that_pushes_them_far() -> None:
    check_pushed_lists()


def test_margins_without_room_for_the_push_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = candidate_list._margins

    def without_room(bounds: Any, screen: Screen, push: Push, reference: float) -> Any:
        return honest(bounds, screen, push._replace(low=0.0, high=0.0), reference)

    monkeypatch.setattr(candidate_list, "_margins", without_room)
    with pytest.raises(AssertionError):
        check_pushed_lists()


def test_listed_songs_that_are_not_pushed_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = CandidateList.upper
    monkeypatch.setattr(
        CandidateList, "upper", lambda self, drift: honest(self, Drift(drift.beyond, 0.0, 0.0))
    )
    with pytest.raises(AssertionError):
        check_pushed_lists()


def test_lengths_of_another_metric_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Metric.whitened
    monkeypatch.setattr(Metric, "whitened", lambda self, vectors: 0.1 * honest(self, vectors))
    with pytest.raises(AssertionError):
        check_some_lists()


def test_a_list_says_nothing_after_an_answer_is_taken_back() -> None:
    listener = Listener.drawn(1, ratings=12, columns=4)
    found = listed(listener, 0.9)
    assert found is not None
    shorter = listener.engine.fit(listener.belief.history.without(3))
    assert not found[1].suits(shorter, LONGEST, CandidateSet.everything(SONGS))


@given(seed=st.integers(0, 2**32), tail=st.floats(1e-4, 0.7), freedom=st.floats(1.5, 200))
def test_a_budget_is_above_every_mixture_and_tight_for_its_own(
    seed: int, tail: float, freedom: float
) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(7))
    locations, scales = rng.normal(size=(30, 7)), np.exp(rng.normal(size=(30, 7)))
    budget = tail_budget(shares, locations[0], scales[0], tail, freedom)
    assert budget is not None
    bounds = (locations + budget.reaches * scales)[:, budget.reaches > -np.inf].max(axis=1)
    true = quantile(1 - tail, locations, scales, shares, freedom)
    assert true is not None
    assert_above(bounds, true)
    if (locations[0] <= true[0]).all():
        assert bounds[0] <= true[0] + 4e-3 * scales[0].max()
