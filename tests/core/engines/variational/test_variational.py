"""The variational engine: the paper's algorithm, from any start, on any data."""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from bandstand.core.engines.variational import ascent
from bandstand.core.engines.variational.engine import Variational, VariationalBelief
from bandstand.core.model.factors import FactorModel, content_novelty
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import NoisePrior
from bandstand.types import Vector
from tests.fixtures.factor_worlds import (
    algorithm_2,
    draw_songs,
    drawable_model,
    informed_model,
    random_history,
)

COLUMNS: Final = 3
# How far a search may end from its top, in standard deviations of an expected rating. The
# engine promises 1e-6; two searches that meet may each be that far away.
SETTLED: Final = 3e-6
# How often the one statistical test here may fail by chance.
FAILURE_RATE: Final = 1e-5
STANDARD_ERRORS: Final = float(-ndtri(FAILURE_RATE / 2))
MONTH: Final = 43_200.0


def shift(engine: Variational, first: VariationalBelief, second: VariationalBelief) -> float:
    """Return the largest difference of two beliefs, in standard deviations."""
    songs = draw_songs(np.random.default_rng(99), 40, engine.model.columns)
    one, other = engine.predict(first, songs), engine.predict(second, songs)
    deviation = one.standard_deviation()
    by_mean = np.abs(one.mean() - other.mean()) / deviation
    return float(max(by_mean.max(), np.abs(other.standard_deviation() / deviation - 1).max()))


# ── It is the paper's algorithm ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", [1, 2])
def test_two_factors_are_the_papers_algorithm_two(seed: int) -> None:
    history = random_history(np.random.default_rng(seed), 40, COLUMNS)
    songs = draw_songs(np.random.default_rng(5), 30, COLUMNS)
    engine = Variational(model=content_novelty(COLUMNS))
    belief = engine.fit(history)
    mean, deviation, shape, rate = algorithm_2(history, songs, sweeps=4_000)
    prediction = engine.predict(belief, songs)
    # The paper's own basis rounds to about 1e-7.
    assert np.abs((prediction.mean() - mean) / deviation).max() < 1e-4
    np.testing.assert_allclose(prediction.standard_deviation(), deviation, rtol=1e-4)
    assert belief.shape == shape
    assert belief.rate == pytest.approx(rate, rel=1e-5)


def test_shortcuts_change_the_way_but_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    history = random_history(np.random.default_rng(3), 60, COLUMNS)
    engine = Variational(model=drawable_model(COLUMNS), most_sweeps=3_000)
    usual = engine.fit(history)
    monkeypatch.setattr(ascent, "SHORTCUTS", ())
    plain = engine.fit(history)
    assert plain.converged
    assert len(plain.bounds) > 2 * len(usual.bounds)
    assert shift(engine, usual, plain) < SETTLED


# ── It leaves the zero point, and the start does not matter ──────────────────────────────


def with_starts(model: FactorModel, sign: float) -> FactorModel:
    content, novelty = (replace(each, start=sign * each.start) for each in model.factors)
    return FactorModel(factors=(content, novelty), noise=model.noise)


def test_it_leaves_the_zero_point_whatever_the_sign_of_the_start() -> None:
    history = random_history(np.random.default_rng(4), 50, COLUMNS)
    model = content_novelty(COLUMNS)
    engine = Variational(model=model)
    belief = engine.fit(history)
    turned = Variational(model=with_starts(model, -1.0)).fit(history)
    expected = engine.predict(belief, history.songs).mean()
    assert np.corrcoef(expected, history.ratings)[0, 1] > 0.8
    assert shift(engine, belief, turned) < 1e-6


def test_a_start_at_zero_would_stay_there() -> None:
    history = random_history(np.random.default_rng(4), 50, COLUMNS)
    stuck = Variational(model=with_starts(content_novelty(COLUMNS), 0.0)).fit(history)
    assert np.linalg.norm(stuck.means[0]) == 0


def test_ratings_of_zero_do_not_trap_what_follows() -> None:
    rng = np.random.default_rng(5)
    engine = Variational(model=content_novelty(COLUMNS))
    rated = random_history(rng, 25, COLUMNS)
    zeros = History.of(features=rated.features, elapsed=rated.elapsed, ratings=np.zeros(25))
    after = engine.update(engine.fit(zeros), zeros.extended(rated))
    assert np.linalg.norm(after.means[0]) > 0.01


# ── One rating at a time, weights, order ─────────────────────────────────────────────────


@pytest.mark.parametrize("make", [content_novelty, informed_model])
def test_one_at_a_time_equals_all_at_once(make: Any) -> None:
    whole = random_history(np.random.default_rng(6), 40, COLUMNS)
    engine = Variational(model=make(COLUMNS))
    belief = engine.fit(whole.first(0))
    for count in range(1, len(whole) + 1):
        belief = engine.update(belief, whole.first(count))
    assert len(belief.history) == len(whole)
    assert shift(engine, engine.fit(whole), belief) < SETTLED


def weighted(history: History, weights: Vector) -> History:
    return History.of(
        features=history.features,
        elapsed=history.elapsed,
        ratings=history.ratings,
        weights=weights,
    )


@pytest.mark.parametrize("make", [content_novelty, informed_model])
def test_a_weight_of_two_is_the_row_twice_in_all_but_the_shape(make: Any) -> None:
    rng = np.random.default_rng(7)
    once = random_history(rng, 30, COLUMNS)
    weights = rng.choice([1.0, 2.0], 30)
    repeated = np.repeat(np.arange(30), weights.astype(int))
    extra = len(repeated) - 30
    twice = History.of(
        features=once.features[repeated],
        elapsed=once.elapsed[repeated],
        ratings=once.ratings[repeated],
    )
    # A noise prior that counts the extra rows out again makes the two the same problem.
    by_weight, by_rows = (
        Variational(
            model=FactorModel(
                factors=make(COLUMNS).factors, noise=NoisePrior(shape=shape, rate=1.7)
            )
        ).fit(history)
        for shape, history in ((20.0, weighted(once, weights)), (20.0 - extra / 2, twice))
    )
    assert by_weight.shape == by_rows.shape
    assert by_weight.rate == pytest.approx(by_rows.rate, rel=1e-9)
    for one, other in zip(by_weight.means, by_rows.means, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


# ── Nothing known, and things known before ───────────────────────────────────────────────


@given(st.floats(0.01, 100), st.floats(0.5, 20), st.floats(0.01, 20))
@settings(max_examples=30)
def test_an_unheard_song_has_the_prior_spread(
    node_precision: float, shape: float, rate: float
) -> None:
    model = drawable_model(COLUMNS, node_precision=node_precision)
    noise = replace(model.noise, shape=shape, rate=rate)
    engine = Variational(model=FactorModel(factors=model.factors, noise=noise))
    songs = draw_songs(np.random.default_rng(1), 5, COLUMNS)
    prediction = engine.predict(engine.fit(History.empty(COLUMNS)), songs)
    hats = model.factors[1].design(songs)
    size = np.linalg.norm(songs.features, axis=1) * np.linalg.norm(hats, axis=1)
    # Each factor has the variance v'Dv/E[τ], and E[τ] stays the prior's.
    expected = size / np.sqrt(node_precision) * rate / shape
    np.testing.assert_allclose(prediction.standard_deviation(), expected, rtol=1e-6)
    np.testing.assert_array_equal(prediction.mean(), np.zeros(5))


def test_prior_means_and_covariances_are_those_of_the_belief_without_ratings() -> None:
    model = informed_model(COLUMNS)
    belief = Variational(model=model).fit(History.empty(COLUMNS))
    for factor, mean, root in zip(model.factors, belief.means, belief.precision_roots, strict=True):
        np.testing.assert_allclose(mean, factor.prior_mean, atol=1e-9)
        expected = belief.noise_precision * factor.prior_precision
        np.testing.assert_allclose(root @ root.T, expected, rtol=1e-7, atol=1e-7)
    assert belief.noise_precision == pytest.approx(4.0 / 1.7, rel=1e-6)


# ── Plans, summaries, borders ────────────────────────────────────────────────────────────


def test_a_planned_song_counts_as_much_as_a_rated_one() -> None:
    history = random_history(np.random.default_rng(15), 30, COLUMNS)
    engine = Variational(model=content_novelty(COLUMNS))
    belief = engine.fit(history)
    song = Songs.of(features=[[1.0, -0.5, 2.0]], elapsed=MONTH)
    root = belief.precision_roots[0]
    planned = engine.plan(belief, song).precision_roots[0]
    growth = planned @ planned.T - root @ root.T
    curve = belief.precision_roots[1]
    hats = engine.model.factors[1].design(song)[0]
    square = (hats @ belief.means[1]) ** 2 + hats @ np.linalg.solve(curve @ curve.T, hats)
    outer = np.outer(song.features[0], song.features[0])
    np.testing.assert_allclose(
        growth, belief.noise_precision * square * outer, rtol=1e-8, atol=1e-8 * planned.max() ** 2
    )


@pytest.mark.statistical
def test_the_noise_is_the_mean_of_its_law() -> None:
    belief = Variational(model=content_novelty(1)).fit(
        random_history(np.random.default_rng(16), 6, 1)
    )
    rng = np.random.default_rng(17)
    sigma = 1 / np.sqrt(rng.gamma(belief.shape, 1 / belief.rate, 100_000))
    summary = Variational(model=content_novelty(1)).summary(belief)
    assert summary.noise_sd is not None
    allowed = STANDARD_ERRORS * sigma.std() / np.sqrt(100_000)
    assert abs(summary.noise_sd - sigma.mean()) < allowed
    # The root of the mean variance is another number.
    assert abs(1 / np.sqrt(belief.noise_precision) - sigma.mean()) > allowed
    assert summary.recovery_time_mean is None


def test_a_search_that_is_cut_short_says_so() -> None:
    history = random_history(np.random.default_rng(18), 30, COLUMNS)
    short = Variational(model=content_novelty(COLUMNS), most_sweeps=3).fit(history)
    assert not short.converged
    assert len(short.bounds) == 3
    assert Variational(model=content_novelty(COLUMNS)).fit(history).converged
