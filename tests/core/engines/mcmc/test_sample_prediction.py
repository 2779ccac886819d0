"""Predictions made of draws: empirical, exact in what exists, bounded in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.engines.mcmc.engine import SamplePrediction
from bandstand.core.model.history import Songs


def prediction(
    *, songs: int = 7, columns: int = 3, draws: int = 400, freedom: float = 9.0, seed: int = 3
) -> SamplePrediction:
    rng = np.random.default_rng(seed)
    return SamplePrediction(
        songs=Songs.of(
            features=rng.standard_normal((songs, columns)),
            elapsed=rng.choice([0.0, 10.0, 500.0, 43_200.0], songs),
        ),
        preferences=rng.standard_normal((draws, columns)),
        recovery_times=rng.gamma(3.0, 100.0, draws),
        degrees_of_freedom=freedom,
    )


def nothing_drawn() -> SamplePrediction:
    full = prediction(freedom=0.002)
    return SamplePrediction(
        songs=full.songs,
        preferences=None,
        recovery_times=full.recovery_times,
        degrees_of_freedom=full.degrees_of_freedom,
    )


@given(st.floats(0.01, 0.999), st.integers(0, 2**32))
def test_mean_spread_and_quantile_are_those_of_the_draws(level: float, seed: int) -> None:
    found = prediction(seed=seed)
    songs, times = found.songs, found.recovery_times
    assert found.preferences is not None
    content = songs.features @ found.preferences.T
    ratings = content * (1 - np.exp(-songs.elapsed[:, np.newaxis] / times))
    mean, spread, quantile = found.mean(), found.standard_deviation(), found.quantile(level)
    np.testing.assert_allclose(mean, ratings.mean(axis=1), rtol=1e-9, atol=1e-12)  # type: ignore[arg-type]
    np.testing.assert_allclose(spread, ratings.std(axis=1), rtol=1e-9, atol=1e-12)  # type: ignore[arg-type]
    np.testing.assert_allclose(
        quantile,  # type: ignore[arg-type]
        np.quantile(ratings, level, axis=1),
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("freedom", "has_mean", "has_spread"),
    [
        (0.9, False, False),
        (1.0, False, False),
        (1.01, True, False),
        (2.0, True, False),
        (2.01, True, True),
    ],
)
def test_what_does_not_exist_is_absent(freedom: float, has_mean: bool, has_spread: bool) -> None:
    found = prediction(freedom=freedom)
    assert (found.mean() is not None) == has_mean
    assert (found.standard_deviation() is not None) == has_spread
    assert found.quantile(0.9) is not None
    assert ("content" in found.parts()) == has_mean


def test_without_draws_everything_but_novelty_is_absent() -> None:
    found = nothing_drawn()
    assert found.mean() is None
    assert found.standard_deviation() is None
    assert found.quantile(0.9) is None
    assert found.sample(np.random.default_rng(1), 3) is None
    assert set(found.parts()) == {"novelty"}
    assert found.best_by_quantile(0.9, 3, np.arange(7)).tolist() == []


def test_a_sample_is_one_listener_for_all_songs() -> None:
    found = prediction(draws=2)
    assert found.preferences is not None
    drawn = found.sample(np.random.default_rng(1), 50)
    assert drawn is not None
    assert drawn.shape == (50, 7)
    listeners = np.unique(drawn.round(12), axis=0)
    assert len(listeners) == 2


@given(st.integers(0, 2**32), st.integers(1, 9))
def test_the_best_by_quantile_are_those_of_all_quantiles(seed: int, count: int) -> None:
    found = prediction(songs=12, seed=seed)
    allowed = np.random.default_rng(seed).permutation(12)[:8]
    quantile = found.quantile(0.8)
    assert quantile is not None
    by_sorting = sorted(allowed.tolist(), key=lambda row: (-quantile[row], row))[:count]
    assert found.best_by_quantile(0.8, count, allowed).tolist() == by_sorting


def test_chunks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    found = prediction(songs=33)
    whole = found.quantile(0.9)
    monkeypatch.setattr("bandstand.core.engines.mcmc.engine._MAX_ENTRIES", 400 * 4)
    np.testing.assert_array_equal(found.quantile(0.9), whole)
