"""The prediction of a model of factors agrees with its own draws, and with itself."""

from typing import Final

import numpy as np
import pytest
from scipy.special import ndtri

from bandstand.core.engines.variational.engine import FactorPrediction, Variational
from bandstand.core.model.candidates import CandidateSet, best_rows
from bandstand.core.model.factors import FactorModel, content_novelty
from bandstand.core.model.history import SONGS_PER_BLOCK, Songs
from bandstand.types import Matrix, Vector
from tests.fixtures.factor_worlds import draw_songs, informed_model, random_history

COLUMNS: Final = 3
DRAWS: Final = 40_000
# How often a right prediction may fail one of these tests; six songs are compared at a time.
FAILURE_RATE: Final = 1e-5
STANDARD_ERRORS: Final = float(-ndtri(FAILURE_RATE / 2 / 6))

MODELS: Final = {
    "the paper's": content_novelty(COLUMNS),
    "prior means": informed_model(COLUMNS),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def prediction_of(model: FactorModel, songs: Songs, ratings: int = 25) -> FactorPrediction:
    engine = Variational(model=model)
    belief = engine.fit(random_history(np.random.default_rng(1), ratings, COLUMNS))
    return engine.predict(belief, songs)


def mean_error(draws: Matrix, mean: Vector) -> float:
    """Return how far the draws' mean is from `mean` for the worst song, in standard errors."""
    error = np.abs(draws.mean(axis=0) - mean) / draws.std(axis=0)
    return float(error.max() * np.sqrt(len(draws)))


@pytest.mark.statistical
@every_model
def test_mean_and_spread_are_those_of_the_draws(model: FactorModel) -> None:
    prediction = prediction_of(model, draw_songs(np.random.default_rng(2), 6, COLUMNS))
    mean, deviation = prediction.mean(), prediction.standard_deviation()
    draws = prediction.sample(np.random.default_rng(3), DRAWS)
    assert draws.shape == (DRAWS, 6)
    assert mean_error(draws, mean) < STANDARD_ERRORS
    squares = (draws - mean) ** 2
    assert mean_error(squares, deviation**2) < STANDARD_ERRORS
    # A tenth of a standard deviation off, or a tenth too wide, would be seen.
    assert mean_error(draws, mean + 0.1 * deviation) > STANDARD_ERRORS
    assert mean_error(squares, (1.1 * deviation) ** 2) > STANDARD_ERRORS


@pytest.mark.statistical
@every_model
@pytest.mark.parametrize("level", [0.05, 0.5, 0.95])
def test_a_quantile_has_its_share_of_the_draws_below(model: FactorModel, level: float) -> None:
    prediction = prediction_of(model, draw_songs(np.random.default_rng(2), 6, COLUMNS))
    draws = prediction.sample(np.random.default_rng(4), DRAWS)
    value, deviation = prediction.quantile(level), prediction.standard_deviation()
    allowed = STANDARD_ERRORS * np.sqrt(level * (1 - level) / DRAWS)
    assert np.abs((draws < value).mean(axis=0) - level).max() < allowed
    # A value that is off would be seen.
    assert np.abs((draws < value + 0.2 * deviation).mean(axis=0) - level).max() > allowed


@every_model
def test_the_parts_multiply_to_the_mean(model: FactorModel) -> None:
    songs = draw_songs(np.random.default_rng(6), 10, COLUMNS)
    prediction = prediction_of(model, songs)
    parts = prediction.parts()
    assert list(parts) == [factor.name for factor in model.factors]
    product = np.prod(list(parts.values()), axis=0)
    np.testing.assert_allclose(product, prediction.mean(), rtol=1e-10)


def test_the_novelty_that_is_shown_is_one_for_a_song_never_heard() -> None:
    songs = Songs.of(features=np.ones((2, COLUMNS)), elapsed=[43_200, 5.0])
    parts = prediction_of(content_novelty(COLUMNS), songs, ratings=200).parts()
    assert parts["novelty"][0] == pytest.approx(1.0)
    assert parts["novelty"][1] < 0.3


@every_model
def test_the_best_songs_are_the_best_of_all_allowed(model: FactorModel) -> None:
    prediction = prediction_of(model, draw_songs(np.random.default_rng(7), 90, COLUMNS))
    allowed = np.random.default_rng(8).permutation(90)[:70]
    values = prediction.quantile(0.9)
    best = prediction.best_by_quantile(0.9, 5, allowed)
    expected = sorted(allowed, key=lambda row: -values[row])[:5]
    assert best.tolist() == expected
    assert len(prediction.best_by_quantile(0.9, 500, allowed)) == 70
    assert len(prediction.best_by_quantile(0.9, 5, allowed[:0])) == 0


def test_the_best_of_many_blocks_are_those_of_brute_force_and_equal_songs_come_by_row() -> None:
    rng = np.random.default_rng(10)
    features = np.tile(rng.normal(size=(SONGS_PER_BLOCK - 500, COLUMNS)), (2, 1))
    songs = Songs.of(features=features, elapsed=43_200)
    prediction = prediction_of(content_novelty(COLUMNS), songs)
    best = prediction.best_by_quantile(0.99, 6, CandidateSet.everything(len(songs)))
    values = prediction.quantile(0.99)
    assert best.tolist() == best_rows(values, 6, np.arange(len(songs))).tolist()
    assert (best[1::2] == best[::2] + SONGS_PER_BLOCK - 500).all()
    assert len(prediction.best_by_quantile(0.99, 0, CandidateSet.everything(len(songs)))) == 0


def test_features_too_small_to_be_squared_keep_their_spread() -> None:
    songs = draw_songs(np.random.default_rng(9), 4, COLUMNS)
    tiny = Songs.of(features=1e-170 * songs.features, elapsed=songs.elapsed)
    usual, small = (prediction_of(content_novelty(COLUMNS), each) for each in (songs, tiny))
    with np.errstate(all="raise"):
        np.testing.assert_allclose(
            small.standard_deviation() * 1e170, usual.standard_deviation(), rtol=1e-9
        )
        np.testing.assert_allclose(small.quantile(0.9) * 1e170, usual.quantile(0.9), rtol=1e-6)
