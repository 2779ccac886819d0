"""What bounds the quantiles of a model of factors is above all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from bandstand.core.engines.variational import quantile_bounds as factor_bounds
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.engines.variational.quantile_bounds import FactorBounds
from bandstand.core.model.factors import content_novelty, content_novelty_diversity
from bandstand.core.model.songs import Songs
from bandstand.types import frozen
from tests.fixtures.factor_worlds import draw_songs, random_history

if TYPE_CHECKING:
    from bandstand.core.engines.variational.prediction import FactorPrediction
    from bandstand.core.model.factors import FactorModel

COLUMNS: Final = 3
LONGEST: Final = 43_200.0
# How sure the third factor is of itself: from not at all to very.
SURENESS: Final = (0.0, 0.3, 1.0, 1.9, 2.1, 5.0, 40.0, 1e9)


def prediction_of(model: FactorModel, songs: Songs, ratings: int = 25) -> FactorPrediction:
    engine = Variational(model=model)
    return engine.predict(
        engine.fit(random_history(np.random.default_rng(1), ratings, COLUMNS)), songs
    )


def never_heard(count: int, seed: int) -> Songs:
    songs = draw_songs(np.random.default_rng(seed), count, COLUMNS)
    return Songs.of(
        features=songs.features,
        elapsed=LONGEST,
        diversity=np.random.default_rng(seed).uniform(0, 4, size=count),
    )


def shortfall(prediction: FactorPrediction, level: float) -> float:
    """Return how far the farthest quantile is above its bound, in standard deviations."""
    bounds = FactorBounds(prediction=prediction, level=level)
    means, deviations = prediction.normals_of(np.arange(len(prediction)))
    heard = prediction.songs.elapsed < LONGEST
    above = bounds.above(means, deviations, heard)
    spread = prediction.standard_deviation()
    return float(((prediction.quantile(level) - above) / spread).max())


def with_third_factor(sureness: float, sign: float) -> FactorPrediction:
    """Return a prediction whose third factor is `sureness` standard deviations away from 0."""
    prediction = prediction_of(content_novelty_diversity(COLUMNS), never_heard(8, 2), 60)
    third = prediction.precision_roots[2]
    flat = np.full(len(prediction.means[2]), sign * sureness)
    return replace(
        prediction,
        means=(*prediction.means[:2], frozen(flat)),
        precision_roots=(*prediction.precision_roots[:2], frozen(np.eye(len(third)))),
    )


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9, 0.999])
def test_two_factors_are_bounded_heard_or_not(level: float) -> None:
    songs = draw_songs(np.random.default_rng(3), 60, COLUMNS)
    some_new = Songs.of(
        features=songs.features,
        elapsed=np.where(np.arange(60) % 2, songs.elapsed, LONGEST),
    )
    assert shortfall(prediction_of(content_novelty(COLUMNS), some_new), level) < 1e-9


@pytest.mark.parametrize("level", [0.2, 0.95])
@pytest.mark.parametrize("sureness", SURENESS)
def test_three_factors_are_bounded_however_sure_the_third_is(level: float, sureness: float) -> None:
    assert shortfall(with_third_factor(sureness, -1.0 if sureness > 4 else 1.0), level) < 1e-9


def test_the_cells_of_the_third_factor_hold_what_they_say() -> None:
    sureness = np.array([0.0, 0.4, 0.6, 1.99, 2.0, 2.1, 3.7, 1e30])
    cells = factor_bounds._cells(sureness).tolist()
    last = int(factor_bounds._EVEN / factor_bounds._STEP) + factor_bounds._LAST_CELL
    assert cells == [1, 1, 2, 4, 4, 5, 6, last]


def test_a_song_heard_lately_has_no_bound_of_three_factors() -> None:
    prediction = prediction_of(content_novelty_diversity(COLUMNS), never_heard(2, 4))
    bounds = FactorBounds(prediction=prediction, level=0.9)
    means, deviations = prediction.normals_of(np.arange(2))
    assert np.isinf(bounds.above(means, deviations, np.array([False, True]))).tolist() == [
        False,
        True,
    ]


def test_cells_without_their_allowance_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # One cell from 0 to 2, and songs near its end.
    monkeypatch.setattr(factor_bounds, "_STEP", 2.0)
    monkeypatch.setattr(factor_bounds, "_COARSENESS", 1)
    prediction = with_third_factor(1.35, 1.0)
    assert shortfall(prediction, 0.95) < 1e-9
    # As if every song of a cell were as its middle is.
    monkeypatch.setattr(factor_bounds, "ndtr", lambda _: 0.95)
    assert shortfall(prediction, 0.95) > 1e-2
