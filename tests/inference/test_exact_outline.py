from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.domain import History, Songs
from bandstand.inference import kept_nodes
from bandstand.inference.close_look import CloseLook
from bandstand.inference.exact import Exact
from bandstand.inference.exact_outline import ExactView
from bandstand.inference.exact_prediction import rates_between
from bandstand.inference.shortlist.anchor import Anchor
from bandstand.model import interpolation
from bandstand.model.novelty import novelty
from bandstand.model.priors import paper_prior, radio_prior
from tests.simulated import MONTH

if TYPE_CHECKING:
    from bandstand.inference.exact import ExactBelief
    from bandstand.types import Vector

LEVELS = (0.05, 0.4, 0.5, 0.75, 0.95, 0.999)


def drawn_belief(rng: np.random.Generator, columns: int) -> tuple[Exact, ExactBelief]:
    """Return a belief after some answers, of a listener who may answer without any noise."""
    count = int(rng.choice([1, 2, 5, 20, 60]))
    engine = Exact(prior=(radio_prior if rng.random() < 0.5 else paper_prior)(columns))
    features = rng.normal(size=(count, columns))
    elapsed = np.where(rng.random(count) < 0.5, MONTH, rng.uniform(0, 3_000, count))
    liking = features @ rng.normal(size=columns) * novelty(elapsed, np.exp(rng.uniform(3, 9)))
    ratings = liking + rng.choice([1e-6, 0.1, 1.0, 1.0]) * rng.normal(size=count)
    return engine, engine.fit(History.of(features=features, elapsed=elapsed, ratings=ratings))


def bounds_of(view: ExactView, songs: Songs) -> Vector:
    outline = view.outline()
    wide = np.einsum("sp,pq,sq->s", songs.features, outline.spread, songs.features)
    norms = np.sqrt((np.asarray(songs.features) ** 2).sum(axis=1))
    unheard = (songs.features @ outline.centres.T).max(axis=1) + np.sqrt(wide)
    unheard = unheard + outline.slack * norms
    recovered = np.minimum(view.recovered(songs.elapsed), 1.0)
    heard = songs.elapsed < songs.longest
    return np.asarray(np.where(heard, np.maximum(recovered * unheard, 0.0), unheard))


def drawn_songs(rng: np.random.Generator, columns: int) -> Songs:
    elapsed = np.where(rng.random(40) < 0.5, MONTH, rng.uniform(0, 3_000, 40))
    elapsed[0] = MONTH
    return Songs.of(features=rng.normal(size=(40, columns)), elapsed=elapsed)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), columns=st.integers(1, 8), plans=st.integers(0, 2))
def test_no_quantile_exceeds_the_outline_or_the_close_bound(
    seed: int, columns: int, plans: int
) -> None:
    check_bounds(seed, columns, plans)


def check_bounds(seed: int, columns: int, plans: int) -> None:
    rng = np.random.default_rng(seed)
    engine, belief = drawn_belief(rng, columns)
    songs, rows = drawn_songs(rng, columns), np.arange(40)
    for _ in range(plans):
        belief = engine.plan(belief, songs.take([int(rng.integers(40))]))
    for level in LEVELS:
        values = engine.predict(belief, songs).quantile(level)
        if values is None:
            continue
        view = ExactView(belief, level, songs.longest)
        room = 1e-9 * (1 + np.abs(values).max())
        assert (values <= bounds_of(view, songs) + room).all()
        close = CloseLook(view, songs)
        some = close.look(rows)
        upper, sure = close.upper(some)
        assert (values <= upper + room).all()
        threshold = float(np.median(values))
        is_above = values > threshold + room
        assert close.may_exceed(some, threshold)[sure & is_above].all()


def check_many_bounds() -> None:
    for seed in range(20):
        check_bounds(seed, 4, 0)


def test_a_bound_of_combs_that_is_too_low_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CloseLook, "_upper_of_cells", lambda _, some: some.locations.min(axis=1))
    with pytest.raises(AssertionError):
        check_many_bounds()


def test_an_outline_that_forgets_the_spread_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ExactView, "widths", property(lambda self: np.zeros(len(self.tops))))
    with pytest.raises(AssertionError):
        check_many_bounds()


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), columns=st.integers(1, 8))
def test_variances_lie_between_their_bounds(seed: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    _, belief = drawn_belief(rng, columns)
    songs = drawn_songs(rng, columns)
    close = CloseLook(ExactView(belief, 0.9, songs.longest), songs)
    some = close.look(np.arange(40))
    truth = belief.variances_of(songs.features_of(np.arange(40)))
    assert (some.low <= truth * (1 + 1e-6)).all()
    assert (truth <= some.high * (1 + 1e-6)).all()


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), columns=st.integers(1, 8))
def test_later_spreads_are_within_their_growth(seed: int, columns: int) -> None:
    """Also on another grid, after more answers, at another level, and after one was taken back."""
    rng = np.random.default_rng(seed)
    engine, belief = drawn_belief(rng, columns)
    anchor = Anchor.of(ExactView(belief, 0.9, MONTH))
    before = ExactView(belief, 0.9, MONTH).outline().spread
    history = belief.history
    for _ in range(5):
        history = history.append(
            features=rng.normal(size=columns), elapsed=float(rng.uniform(1, 3_000)), rating=1.0
        )
    taken_back = history.without(0)
    features = rng.normal(size=(50, columns))
    for later in (engine.fit(history), engine.fit(taken_back)):
        view = ExactView(later, float(rng.choice([0.8, 0.99])), MONTH)
        kept = np.einsum("sp,pq,sq->s", features, before, features)
        variances = later.variances_of(features)[:, view.first + 1 : view.last + 1]
        widest = (view.widths_of_cells**2 * variances).max(axis=1)
        assert (widest <= view.growth(anchor) ** 2 * kept * (1 + 1e-6)).all()


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), columns=st.integers(1, 6))
def test_what_is_left_out_is_light_on_every_grid(seed: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    _, belief = drawn_belief(rng, columns)
    grid, density = belief.grid, belief.log_density
    sums = kept_nodes._sums_to_the_left(grid, density)
    for tail in (0.5, 0.01, 0.0001):
        kept = kept_nodes.kept_nodes(grid, density, belief.weights, tail)
        share = kept_nodes._share(sums, len(grid), kept.first, kept.last)
        assert share <= kept.left_out * (1 + 1e-6) + 1e-15
        assert kept.left_out < 0.2 * tail
    first = int(rng.integers(0, len(grid) - 1))
    last = int(rng.integers(first + 1, len(grid)))
    rough = kept_nodes._rough_share(grid, density, first, last)
    assert kept_nodes._share(sums, len(grid), first, last) <= rough * (1 + 1e-6) + 1e-12


@given(seed=st.integers(0, 2**32), jump=st.floats(0.01, 60.0))
def test_no_noise_between_nodes_is_above_that_of_its_cell(seed: int, jump: float) -> None:
    rng = np.random.default_rng(seed)
    _, belief = drawn_belief(rng, 3)
    nodes = len(belief.rates)
    logs = jump * np.where(np.arange(nodes) < rng.integers(1, nodes), -1.0, 1.0)
    logs += rng.normal(size=nodes) * rng.choice([0.0, 0.1, jump])
    view = ExactView(replace(belief, rates=np.exp(logs)), 0.9, MONTH)
    fine = rates_between(interpolation.refinement(nodes, 8), logs)
    most = np.array([fine[8 * cell : 8 * cell + 9].max() for cell in range(nodes - 1)])
    assert (np.sqrt(most / belief.shape) <= view.noise_of_cells * (1 + 1e-9)).all()
