"""Data that break careless code, for the engines that learn one number: all must stay finite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from bandstand.domain import History, Songs
from bandstand.inference.least_squares import LeastSquares
from bandstand.inference.ridge import Ridge, RidgeBelief
from bandstand.inference.uniform import NoModel
from bandstand.model.novelty import novelty
from bandstand.model.priors import paper_prior, radio_prior
from bandstand.units import MONTH

if TYPE_CHECKING:
    from bandstand.inference.engine import Engine

COLUMNS: Final = 3
ENGINES: Final[dict[str, Engine[Any]]] = {
    "least squares": LeastSquares(),
    "paper's prior": LeastSquares(penalty=paper_prior(COLUMNS)),
    "radio's prior": LeastSquares(penalty=radio_prior(COLUMNS)),
    "ridge": Ridge(),
    "ridge with time": Ridge(regularisation=0.1, time_unit=MONTH),
    "nothing": NoModel(),
}
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())

RNG: Final = np.random.default_rng(20)
FEATURES: Final = RNG.standard_normal((30, COLUMNS))
ELAPSED: Final = np.exp(RNG.uniform(0, np.log(MONTH), 30))
RATINGS: Final = RNG.integers(1, 6, 30).astype(float)
CONSTANT: Final = np.column_stack([FEATURES[:, :2], np.ones(30)])
TWINS: Final = FEATURES[:, [0, 0, 1]]
CONTENT: Final = FEATURES @ [1.0, -2.0, 0.5]


def told(
    features: Any = FEATURES, elapsed: Any = ELAPSED, ratings: Any = RATINGS, weights: Any = 1.0
) -> History:
    return History.of(features=features, elapsed=elapsed, ratings=ratings, weights=weights)


CASES: Final = {
    "no answers": History.empty(COLUMNS),
    "one answer": told(FEATURES[:1], ELAPSED[:1], RATINGS[:1]),
    "fewer answers than features": told(FEATURES[:2], ELAPSED[:2], RATINGS[:2]),
    "a constant feature": told(CONSTANT),
    "two equal features": told(TWINS),
    "features all zero": told(np.zeros((30, COLUMNS))),
    "the same song always": told(np.tile(FEATURES[0], (30, 1))),
    "equal ratings": told(ratings=np.full(30, 3.0)),
    "only ones": told(ratings=np.ones(30)),
    "only zeros": told(ratings=np.zeros(30)),
    "ones and fives in turn": told(ratings=np.tile([1.0, 5.0], 15)),
    "just heard always": told(elapsed=0.0),
    "never heard always": told(elapsed=MONTH),
    "heard a moment ago": told(elapsed=1e-300),
    "heard an age ago": told(elapsed=1e30),
    "recovers at once": told(ratings=CONTENT * (ELAPSED > 0)),
    "never recovers": told(ratings=CONTENT * novelty(ELAPSED, 1e300)),
    "no noise": told(ratings=CONTENT * novelty(ELAPSED, 300.0)),
    "tiny features": told(1e-150 * FEATURES),
    "features of all sizes": told(FEATURES * [1e-150, 1.0, 1e5]),
    "the largest features": told(np.sign(FEATURES) * 1e6),
    "huge ratings": told(ratings=1e29 * RATINGS),
    "tiny ratings": told(ratings=1e-200 * RATINGS),
    "ratings of all sizes": told(ratings=RATINGS * 10.0 ** np.linspace(-200, 29, 30)),
    "huge weights": told(weights=1e30),
    "tiny weights": told(weights=1e-300),
    "weights of all sizes": told(weights=10.0 ** np.linspace(-300, 30, 30)),
    "everything at its largest": told(np.sign(FEATURES) * 1e6, 1e30, 1e30 * np.sign(CONTENT), 1e30),
}
every_case = pytest.mark.parametrize("history", CASES.values(), ids=CASES.keys())

SONGS: Final = Songs.of(
    features=np.vstack([FEATURES[:5], np.zeros(COLUMNS), TWINS[:2], 1e-150 * FEATURES[:1]]),
    elapsed=[0.0, 1.0, 300.0, MONTH, 1e30, 1e-300, 10.0, 10.0, 50.0],
)


def assert_finite(engine: Engine[Any], belief: Any, songs: Songs) -> None:
    prediction = engine.predict(belief, songs)
    mean = prediction.mean()
    assert mean is None or (mean.shape == (len(songs),) and np.isfinite(mean).all())
    for part in prediction.parts().values():
        assert part.shape == (len(songs),)
        assert np.isfinite(part).all()
    if isinstance(belief, RidgeBelief):
        covariance = belief.covariance()
        np.testing.assert_array_equal(covariance, covariance.T)
        assert np.linalg.eigvalsh(covariance).min() >= -1e-15 * covariance.max()


@every_engine
@every_case
def test_every_answer_is_finite_from_scratch(engine: Engine[Any], history: History) -> None:
    with np.errstate(all="raise"):
        belief = engine.fit(history, rng=np.random.default_rng(0))
        assert_finite(engine, belief, SONGS)
        assert_finite(engine, engine.plan(belief, SONGS.take([1])), SONGS)
        assert_finite(engine, belief, SONGS.take(slice(0)))


@every_engine
@every_case
def test_every_answer_is_finite_online(engine: Engine[Any], history: History) -> None:
    rng, grown = np.random.default_rng(0), History.empty(COLUMNS)
    with np.errstate(all="raise"):
        belief = engine.fit(grown, rng=rng)
        for row in range(min(len(history), 12)):
            grown = grown.append(
                features=history.features[row],
                elapsed=float(history.elapsed[row]),
                rating=float(history.ratings[row]),
                weight=float(history.weights[row]),
            )
            belief = engine.update(belief, grown, rng=rng)
            assert_finite(engine, belief, SONGS)


@every_engine
def test_a_hundred_thousand_answers_are_taken(engine: Engine[Any]) -> None:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((100_000, COLUMNS))
    elapsed = rng.uniform(0, MONTH, 100_000)
    ratings = (features @ [1.0, -2.0, 0.5]) * novelty(elapsed, 300.0) + rng.standard_normal(100_000)
    history = told(features, elapsed, ratings)
    with np.errstate(all="raise"):
        belief = engine.fit(history, rng=rng)
        longer = history.append(features=features[0], elapsed=9.0, rating=2.0)
        assert_finite(engine, engine.update(belief, longer, rng=rng), SONGS)


@every_engine
def test_a_history_of_rated_songs_is_the_belief_s_own(engine: Engine[Any]) -> None:
    history = told()
    assert engine.fit(history, rng=np.random.default_rng(0)).history is history
