"""Data that break careless code, for the variational engine: all answers stay finite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from bandstand.domain import History, Songs
from bandstand.inference import gibbs
from bandstand.inference.variational import Variational, VariationalBelief
from bandstand.model.factors import content_novelty, content_novelty_diversity
from bandstand.model.novelty import novelty
from bandstand.units import MONTH
from tests.factor_worlds import informed_model

if TYPE_CHECKING:
    from bandstand.model.factors import FactorModel

COLUMNS: Final = 3
MODELS: Final = {
    "two factors": content_novelty(COLUMNS),
    "three factors": content_novelty_diversity(COLUMNS),
    "prior means": informed_model(COLUMNS),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())

RNG: Final = np.random.default_rng(20)
FEATURES: Final = RNG.standard_normal((30, COLUMNS))
ELAPSED: Final = np.exp(RNG.uniform(0, np.log(MONTH), 30))
RATINGS: Final = RNG.integers(1, 6, 30).astype(float)
CONTENT: Final = FEATURES @ [1.0, -2.0, 0.5]


def told(
    features: Any = FEATURES, elapsed: Any = ELAPSED, ratings: Any = RATINGS, weights: Any = 1.0
) -> History:
    return History.of(features=features, elapsed=elapsed, ratings=ratings, weights=weights)


CASES: Final = {
    "no answers": History.empty(COLUMNS),
    "one answer": told(FEATURES[:1], ELAPSED[:1], RATINGS[:1]),
    "fewer answers than features": told(FEATURES[:2], ELAPSED[:2], RATINGS[:2]),
    "a constant feature": told(np.column_stack([FEATURES[:, :2], np.ones(30)])),
    "two equal features": told(FEATURES[:, [0, 0, 1]]),
    "features all zero": told(np.zeros((30, COLUMNS))),
    "the same song always": told(np.tile(FEATURES[0], (30, 1))),
    "equal ratings": told(ratings=np.full(30, 3.0)),
    "only zeros": told(ratings=np.zeros(30)),
    "ones and fives in turn": told(ratings=np.tile([1.0, 5.0], 15)),
    "just heard always": told(elapsed=0.0),
    "never heard always": told(elapsed=MONTH),
    "heard a moment ago": told(elapsed=1e-300),
    "heard an age ago": told(elapsed=1e30),
    "never recovers": told(ratings=CONTENT * novelty(ELAPSED, 1e300)),
    "recovers at once": told(ratings=CONTENT * novelty(ELAPSED, 1e-300)),
    "no noise": told(ratings=CONTENT * novelty(ELAPSED, 300.0)),
    "tiny features": told(1e-150 * FEATURES),
    "features of all sizes": told(FEATURES * [1e-150, 1.0, 1e5]),
    "the largest features": told(np.sign(FEATURES) * 1e6),
    "huge ratings": told(ratings=1e29 * RATINGS),
    "tiny ratings": told(ratings=1e-200 * RATINGS),
    "huge weights": told(weights=1e30),
    "tiny weights": told(weights=1e-300),
    "weights of many sizes": told(weights=10.0 ** np.linspace(-6, 6, 30)),
}
# Here double precision cannot hold both the prior and the ratings: sound, but no more.
EXTREMES: Final = {
    "everything at its largest": told(np.sign(FEATURES) * 1e6, 1e30, 1e30 * np.sign(CONTENT), 1e30),
    "weights of all sizes": told(weights=10.0 ** np.linspace(-300, 30, 30)),
}
every_case = pytest.mark.parametrize("history", CASES.values(), ids=CASES.keys())

SONGS: Final = Songs.of(
    features=np.vstack([FEATURES[:5], np.zeros(COLUMNS), 1e-150 * FEATURES[:1]]),
    elapsed=[0.0, 1.0, 300.0, MONTH, 1e30, 1e-300, 50.0],
    diversity=[0.0, 1.0, 0.3, 4.0, 1e30, 1e-300, 1.0],
)
HEARABLE: Final = np.any(SONGS.features != 0, axis=1)


def assert_sound(engine: Variational, belief: VariationalBelief) -> None:
    prediction = engine.predict(belief, SONGS)
    mean, deviation = prediction.mean(), prediction.standard_deviation()
    quantile, draws = prediction.quantile(0.9), prediction.sample(np.random.default_rng(1), 3)
    for values in (mean, deviation, quantile, draws, *prediction.parts().values()):
        assert np.isfinite(values).all()
    assert (deviation[HEARABLE] > 0).all()
    assert len(prediction.best_by_quantile(0.9, 3, np.arange(len(SONGS)))) == 3
    for root in belief.precision_roots:
        assert (np.diagonal(root) > 0).all()
        np.testing.assert_array_equal(root, np.tril(root))
    assert 0 < belief.rate < np.inf
    assert np.isfinite(belief.bounds).all()
    noise = engine.summary(belief).noise_sd
    assert noise is not None
    assert 0 < noise < np.inf


@every_model
@every_case
def test_every_answer_is_finite(model: FactorModel, history: History) -> None:
    engine = Variational(model=model)
    with np.errstate(all="raise"):
        belief = engine.fit(history)
        assert belief.converged
        assert_sound(engine, belief)
        assert_sound(engine, engine.plan(belief, SONGS.take([1])))
        longer = history.append(features=FEATURES[0], elapsed=5.0, rating=3.0)
        assert_sound(engine, engine.update(belief, longer))


@every_case
def test_every_draw_is_finite(history: History) -> None:
    with np.errstate(all="raise"):
        draws = gibbs.sample_posterior(
            content_novelty(COLUMNS),
            history,
            draws=3,
            warm_up=3,
            chains=1,
            rng=np.random.default_rng(2),
        )
        assert np.isfinite(draws.expected_ratings(SONGS)).all()
        assert (draws.noise_precisions > 0).all()


@every_model
@pytest.mark.parametrize("history", EXTREMES.values(), ids=EXTREMES.keys())
def test_beyond_double_precision_answers_are_still_finite(
    model: FactorModel, history: History
) -> None:
    engine = Variational(model=model, most_sweeps=40)
    with np.errstate(all="raise"):
        assert_sound(engine, engine.fit(history))


@pytest.mark.parametrize("columns", [COLUMNS, 60])
def test_more_features_than_answers_are_taken(columns: int) -> None:
    rng = np.random.default_rng(3)
    history = History.of(
        features=rng.normal(size=(12, columns)), elapsed=100.0, ratings=rng.normal(size=12)
    )
    belief = Variational(model=content_novelty(columns)).fit(history)
    assert belief.converged
    assert (np.diff(belief.bounds) >= -1e-8 * (1 + np.abs(belief.bounds[1:]))).all()


def test_ten_thousand_answers_are_taken() -> None:
    rng = np.random.default_rng(4)
    features, elapsed = rng.standard_normal((10_000, COLUMNS)), rng.uniform(0, MONTH, 10_000)
    ratings = features @ [1.0, -2.0, 0.5] * novelty(elapsed, 300.0) + rng.standard_normal(10_000)
    engine = Variational(model=content_novelty_diversity(COLUMNS))
    with np.errstate(all="raise"):
        belief = engine.fit(told(features, elapsed, ratings))
        assert belief.converged
        assert_sound(engine, belief)
