"""Data that break careless code, and what every engine must still keep to when it meets them.

    every number is finite, or absent as a whole
    no standard deviation is negative
    every covariance is symmetric, its smallest eigenvalue not below zero by more than rounding

`strictly` makes NumPy raise where it would warn; each check is to run inside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.domain import FEATURE_LIMIT, RATING_LIMIT, History, Songs
from bandstand.inference.exact import ExactBelief
from bandstand.inference.ridge import RidgeBelief
from bandstand.inference.variational import VariationalBelief
from bandstand.model.novelty import novelty
from bandstand.types import MONTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.inference.engine import Engine
    from bandstand.model.prediction import Prediction
    from bandstand.types import AnyArray

COLUMNS: Final = 3
ANSWERS: Final = 30
# The most that elapsed times, diversities and weights may be.
LARGEST: Final = 1e30
# How far below zero rounding may carry an eigenvalue, relative to the largest.
ROUNDING: Final = 1e-12

RNG: Final = np.random.default_rng(20)
FEATURES: Final = RNG.standard_normal((ANSWERS, COLUMNS))
ELAPSED: Final = np.exp(RNG.uniform(0, np.log(MONTH), ANSWERS))
RATINGS: Final = RNG.integers(1, 6, ANSWERS).astype(float)
TASTE: Final = np.array([1.0, -2.0, 0.5])
CONTENT: Final = FEATURES @ TASTE
TWINS: Final = FEATURES[:, [0, 0, 1]]


def strictly() -> np.errstate:
    """Return a context in which whatever NumPy would warn of is an error."""
    return np.errstate(all="raise")


def told(
    features: Any = FEATURES,
    elapsed: Any = ELAPSED,
    ratings: Any = RATINGS,
    weights: Any = 1.0,
    diversity: Any = None,
) -> History:
    """Return an ordinary history but for what is given."""
    return History.of(
        features=features, elapsed=elapsed, ratings=ratings, weights=weights, diversity=diversity
    )


CASES: Final = {
    "no answers": History.empty(COLUMNS),
    "one answer": told(FEATURES[:1], ELAPSED[:1], RATINGS[:1]),
    "fewer answers than features": told(FEATURES[:2], ELAPSED[:2], RATINGS[:2]),
    "a constant feature": told(np.column_stack([FEATURES[:, :2], np.ones(ANSWERS)])),
    "two equal features": told(TWINS),
    "all features equal": told(FEATURES[:, [0, 0, 0]]),
    "features all zero": told(np.zeros((ANSWERS, COLUMNS))),
    "the same song always": told(np.tile(FEATURES[0], (ANSWERS, 1))),
    "the same answer always": told(np.tile(FEATURES[0], (ANSWERS, 1)), 300.0, 4.0),
    "equal ratings": told(ratings=3.0),
    "only ones": told(ratings=1.0),
    "only zeros": told(ratings=0.0),
    "ones and fives in turn": told(ratings=np.tile([1.0, 5.0], ANSWERS // 2)),
    "just heard always": told(elapsed=0.0),
    "never heard always": told(elapsed=MONTH),
    "heard a moment ago": told(elapsed=1e-30),
    "heard just now": told(elapsed=1e-300),
    "heard an age ago": told(elapsed=LARGEST),
    "recovers at once": told(ratings=CONTENT * novelty(ELAPSED, 1e-300)),
    "never recovers": told(ratings=CONTENT * novelty(ELAPSED, 1e300)),
    "no noise": told(ratings=CONTENT * novelty(ELAPSED, 300.0)),
    "no diversity": told(diversity=0.0),
    "diversity of all sizes": told(diversity=10.0 ** np.linspace(-300, 30, ANSWERS)),
    "tiny features": told(1e-150 * FEATURES),
    "large features": told(1e5 * FEATURES),
    "features of all sizes": told(FEATURES * [1e-150, 1.0, 1e5]),
    "the largest features": told(np.sign(FEATURES) * FEATURE_LIMIT),
    "tiny ratings": told(ratings=1e-200 * RATINGS),
    "huge ratings": told(ratings=1e29 * RATINGS),
    "ratings of all sizes": told(ratings=RATINGS * 10.0 ** np.linspace(-200, 29, ANSWERS)),
    "tiny weights": told(weights=1e-300),
    "huge weights": told(weights=LARGEST),
    "weights of many sizes": told(weights=10.0 ** np.linspace(-6, 6, ANSWERS)),
    "weights of all sizes": told(weights=10.0 ** np.linspace(-300, 30, ANSWERS)),
    "everything at its largest": told(
        np.sign(FEATURES) * FEATURE_LIMIT, LARGEST, RATING_LIMIT * np.sign(CONTENT), LARGEST
    ),
}

SONGS: Final = Songs.of(
    features=np.vstack([FEATURES[:5], np.zeros(COLUMNS), TWINS[:2], 1e-150 * FEATURES[:1]]),
    elapsed=[0.0, 1.0, 300.0, MONTH, LARGEST, 1e-300, 10.0, 10.0, 50.0],
    diversity=[0.0, 1.0, 0.3, 4.0, LARGEST, 1e-300, 1.0, 1.0, 1.0],
)
NO_SONGS: Final = SONGS.take(slice(0))
ONE_SONG: Final = SONGS.take([1])


def many_answers(count: int) -> History:
    """Return answers of a listener with s = 300 minutes and σ = 0.3 that tell both apart well."""
    rng = np.random.default_rng(1)
    features, elapsed = rng.standard_normal((count, COLUMNS)), rng.uniform(0, 3_000, count)
    ratings = features @ TASTE * novelty(elapsed, 300.0) + rng.normal(0, 0.3, count)
    return told(features, elapsed, ratings)


def check(engine: Engine[Any], belief: Any, songs: Songs = SONGS) -> None:
    """Assert that whatever can be asked of a belief is sound."""
    check_prediction(engine.predict(belief, songs), len(songs))
    summary = engine.summary(belief)
    for number in (summary.recovery_time_mean, summary.recovery_time_sd, summary.noise_sd):
        assert number is None or 0 <= number < np.inf, summary
    for covariance in covariances(belief):
        check_covariance(covariance)


def check_prediction(prediction: Prediction, count: int) -> None:
    """Assert that all answers about `count` songs are finite or absent, and of the right shape."""
    deviation, high = prediction.standard_deviation(), prediction.quantile(0.95)
    answers = {
        "mean": prediction.mean(),
        "standard deviation": deviation,
        "low quantile": prediction.quantile(0.3),
        "high quantile": high,
        **prediction.parts(),
    }
    for name, answer in answers.items():
        assert answer is None or answer.shape == (count,), name
        assert answer is None or np.isfinite(answer).all(), name
    assert deviation is None or (deviation >= 0).all()
    draws = prediction.sample(np.random.default_rng(0), 2)
    assert draws is None or (draws.shape == (2, count) and np.isfinite(draws).all())
    best = prediction.best_by_quantile(0.95, 3, np.arange(count))
    assert len(set(best.tolist())) == (0 if high is None else min(3, count))


def check_covariance(covariance: AnyArray) -> None:
    """Assert that a matrix is one that a covariance can be."""
    assert np.isfinite(covariance).all()
    np.testing.assert_array_equal(covariance, covariance.T)
    eigenvalues = np.linalg.eigvalsh(covariance)
    assert eigenvalues[0] >= -ROUNDING * eigenvalues[-1]


def covariances(belief: Any) -> Iterator[AnyArray]:
    """Yield every covariance that a belief holds, or holds a root of."""
    if isinstance(belief, ExactBelief):
        yield from belief.covariances
    elif isinstance(belief, RidgeBelief):
        yield belief.covariance()
    elif isinstance(belief, VariationalBelief):
        for root in belief.precision_roots:
            with np.errstate(under="ignore"):
                inverse = np.linalg.inv(root)
                yield inverse.T @ inverse
