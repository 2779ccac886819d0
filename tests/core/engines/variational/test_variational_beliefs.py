"""What a variational belief says with no ratings, with many, and about songs still to come."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model.factors import FactorModel, content_novelty, content_novelty_diversity
from bandstand.core.model.history import History, Songs
from bandstand.core.model.novelty import novelty
from bandstand.errors import InvalidInputError
from tests.fixtures.factor_worlds import draw_songs, drawable_model, informed_model, random_history

COLUMNS: Final = 3
MONTH: Final = 43_200.0
# How often the one statistical test here may fail by chance.
FAILURE_RATE: Final = 1e-5
STANDARD_ERRORS: Final = float(-ndtri(FAILURE_RATE / 2))


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


def test_many_ratings_outweigh_a_wrong_prior() -> None:
    rng = np.random.default_rng(10)
    history = random_history(rng, 2_000, COLUMNS, noise=0.2)
    songs = draw_songs(np.random.default_rng(11), 20, COLUMNS)
    predictions = [
        engine.predict(engine.fit(history), songs).mean()
        for engine in (
            Variational(model=informed_model(COLUMNS)),
            Variational(model=drawable_model(COLUMNS)),
        )
    ]
    # Diversity has no effect here, so three factors find what two find.
    np.testing.assert_allclose(predictions[0], predictions[1], atol=0.15)


def test_a_third_factor_is_found_where_there_is_one() -> None:
    rng = np.random.default_rng(12)
    songs = draw_songs(rng, 800, COLUMNS)
    liked = songs.features @ np.array([2.0, -1.0, 0.5])
    expected = liked * novelty(songs.elapsed, 300.0) * np.minimum(songs.diversity, 1.5)
    history = History.of(
        features=songs.features,
        elapsed=songs.elapsed,
        ratings=expected + 0.3 * rng.normal(size=800),
        diversity=songs.diversity,
    )
    two, three = (
        Variational(model=make(COLUMNS)).fit(history)
        for make in (content_novelty, content_novelty_diversity)
    )
    assert three.bounds[-1] > two.bounds[-1] + 100
    engine = Variational(model=content_novelty_diversity(COLUMNS))
    assert engine.summary(three).noise_sd == pytest.approx(0.3, abs=0.05)


# ── Plans, summaries, borders ────────────────────────────────────────────────────────────


def test_a_planned_song_makes_the_belief_surer_and_moves_nothing() -> None:
    history = random_history(np.random.default_rng(13), 30, COLUMNS)
    engine = Variational(model=content_novelty(COLUMNS))
    belief = engine.fit(history)
    songs = draw_songs(np.random.default_rng(14), 10, COLUMNS)
    planned = engine.plan(belief, songs.take([0]))
    before, after = engine.predict(belief, songs), engine.predict(planned, songs)
    np.testing.assert_array_equal(before.mean(), after.mean())
    assert (after.standard_deviation() <= before.standard_deviation() * (1 + 1e-12)).all()
    assert after.standard_deviation()[0] < before.standard_deviation()[0]
    assert planned.rate == belief.rate


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


def test_songs_with_another_number_of_features_are_refused() -> None:
    engine = Variational(model=content_novelty(COLUMNS))
    with pytest.raises(InvalidInputError, match="songs must have 3 features, got 2"):
        engine.fit(History.empty(2))
    with pytest.raises(InvalidInputError, match="songs must have 3 features, got 2"):
        engine.predict(
            engine.fit(History.empty(COLUMNS)), Songs.of(features=[[1.0, 2.0]], elapsed=1)
        )


def test_a_belief_cannot_be_changed() -> None:
    belief = Variational(model=content_novelty(1)).fit(History.empty(1))
    with pytest.raises(ValueError, match="read-only"):
        belief.means[0][0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        belief.precision_roots[0][0, 0] = 1.0
