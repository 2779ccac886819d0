"""The content model and its rivals, cross-validated with the same folds for each.

name             prediction
`random`         a rating drawn from the training ratings: right in distribution, blind otherwise
`mean`           the mean of the training ratings
`ridge`          ridge regression on the features, its strength chosen in each training fold
`content`        E[Uc] of the exact engine with the radio's prior
`content-paper`  the same with the paper's prior, which is not informative

In the content model every item is as new as can be: Un = 1, so that U is Uc = θ'x alone (1).
The engine's mean is then a ridge regression too, whose strength is the prior's and not chosen.

The ridge regression chooses its strength from the ratings that it learns from:

    minimise  Σ (r − c − b'x)² + λ b'b          the constant c has no penalty

code               maths   meaning
`regularisation`   λ       penalty on the coefficients; where it is large, the prediction is the
                           mean
`leverage`         h       weight of a rating in its own prediction

With the singular values d and vectors U of the centred features, the prediction of rating i
without that rating is known in closed form, for every λ at once:

    r_i − ŷ₋i = (r_i − ŷ_i) / (1 − h_i)          h = 1/n + Σ_j U² d²/(d² + λ)

The λ with the smallest sum of squares of these errors is taken. It depends on the training
ratings alone, and nothing is drawn.
"""

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import ListenerPrior, paper_prior, radio_prior
from bandstand.errors import InvalidInputError
from bandstand.types import Indices, Matrix, Vector, frozen
from bandstand_lab.content.ratings import UNHEARD, Rater

# λ for each rating; at the upper end standardised features have no say any more.
REGULARISATIONS: Final = tuple(10.0 ** (power / 4) for power in range(-16, 17))
# A rating that determines its own prediction has no error to judge λ by.
_LEAST_FREEDOM: Final = 1e-12
# With fewer ratings every one determines its own prediction.
_MIN_RATINGS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRidge:
    """A ridge regression after its training."""

    regularisation: float
    centre: Vector  # of the features
    mean: float  # of the ratings
    coefficients: Vector

    def predict(self, features: Matrix) -> Vector:
        """Return the expected rating of each item."""
        with np.errstate(under="ignore"):
            return np.asarray(self.mean + (features - self.centre) @ self.coefficients)


def fit_ridge(features: Matrix, ratings: Vector) -> ChosenRidge:
    """Return the ridge regression with the smallest leave-one-out error.

    Between equals the stronger one is taken: it says less.
    """
    centre, mean, count = features.mean(axis=0), float(ratings.mean()), len(ratings)
    strengths = count * np.array(REGULARISATIONS)
    with np.errstate(under="ignore"):
        left, singular, right = np.linalg.svd(features - centre, full_matrices=False)
        along = left.T @ (ratings - mean)
        errors = leave_one_out_errors(left, singular, ratings - mean, strengths)
        place = len(errors) - 1 - int(np.argmin(errors[::-1]))
        chosen = float(strengths[place])
        coefficients = right.T @ (singular / (singular**2 + chosen) * along)
    return ChosenRidge(
        regularisation=chosen,
        centre=frozen(centre),
        mean=mean,
        coefficients=frozen(coefficients),
    )


def leave_one_out_errors(
    left: Matrix, singular: Vector, centred: Vector, strengths: Vector
) -> Vector:
    """Return the mean squared error of predicting each rating from all others, for each λ."""
    count = len(centred)
    if count < _MIN_RATINGS:
        return np.zeros(len(strengths))
    shrinkage = singular**2 / (singular**2 + strengths[:, np.newaxis])  # (λ, j)
    fitted = (shrinkage * (left.T @ centred)) @ left.T  # (λ, n)
    leverage = 1 / count + shrinkage @ (left**2).T
    residuals = (centred - fitted) / np.maximum(1 - leverage, _LEAST_FREEDOM)
    return np.asarray(np.square(residuals).mean(axis=1))


# Returns a prediction for each row of the last matrix, from ratings (the vector) of items with
# the features of the first; the last feature is a constant 1.
Predictor: TypeAlias = "Callable[[Matrix, Vector, Matrix, np.random.Generator], Vector]"


def content_model(prior_for: Callable[[int], ListenerPrior]) -> Predictor:
    """Return E[Uc | D] of the exact engine, for items that were never heard."""

    def predict(
        features: Matrix, ratings: Vector, wanted: Matrix, _: np.random.Generator
    ) -> Vector:
        history = History.of(features=features, elapsed=UNHEARD, ratings=ratings)
        engine = Exact(prior=prior_for(features.shape[1]))
        songs = Songs.of(features=wanted, elapsed=UNHEARD)
        expected = engine.predict(engine.fit(history), songs).mean()
        # With the paper's prior there is no mean before the first rating.
        return np.zeros(len(wanted)) if expected is None else expected

    return predict


PREDICTORS: Final[dict[str, Predictor]] = {
    "random": lambda _, ratings, wanted, rng: rng.choice(ratings, size=len(wanted)),
    "mean": lambda _, ratings, wanted, __: np.full(len(wanted), ratings.mean()),
    "ridge": lambda features, ratings, wanted, _: fit_ridge(features[:, :-1], ratings).predict(
        wanted[:, :-1]
    ),
    "content": content_model(radio_prior),
    "content-paper": content_model(paper_prior),
}
LABELS: Final = {
    "random": "random, same distribution",
    "mean": "the rater's mean",
    "ridge": "ridge regression",
    "content": "content model",
    "content-paper": "content model, paper's prior",
}


# ── Cross-validation ─────────────────────────────────────────────────────────────────────


class Fold(NamedTuple):
    """Which ratings are learned from, and which are predicted."""

    training: Indices
    test: Indices


def folds(count: int, parts: int, rng: np.random.Generator) -> list[Fold]:
    """Return a random partition of `count` ratings into `parts` tests of nearly equal size.

    >>> [len(fold.test) for fold in folds(10, 4, np.random.default_rng(1))]
    [3, 3, 2, 2]
    """
    if not 2 <= parts <= count:
        msg = f"there must be 2 to {count} folds for {count} ratings, got {parts}"
        raise InvalidInputError(msg)
    everything = np.arange(count)
    tests = [np.sort(part) for part in np.array_split(rng.permutation(count), parts)]
    return [
        Fold(training=np.setdiff1d(everything, test, assume_unique=True), test=test)
        for test in tests
    ]


DEFAULT_FOLDS: Final = 10
_FOLDS, _PREDICTIONS = 0, 1  # what is drawn, each from a stream of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterErrors:
    """How far predictions of one rater's ratings were off, by the predictor's name."""

    rater: str
    ratings: int
    mean: float  # of the ratings
    standard_deviation: float  # of the ratings, around their mean
    rmse: Mapping[str, float]


def cross_validate(
    own: Matrix,
    rater: Rater,
    *,
    parts: int = DEFAULT_FOLDS,
    seed: int = 0,
    predictors: Mapping[str, Predictor] = PREDICTORS,
) -> RaterErrors:
    """Return the root of the mean squared error over all ratings, each predicted without itself.

    `own` are the features of the rated items, in the order of the ratings.
    Folds and draws depend on the seed and the rater's name alone, so that neither other raters
    nor the order of a file matter.
    """
    split = folds(len(rater), parts, _stream(seed, rater, _FOLDS))
    squares = {name: np.empty(len(rater)) for name in predictors}
    draws = _stream(seed, rater, _PREDICTIONS)
    for fold in split:
        for name, predict in predictors.items():
            given = rater.ratings[fold.training]
            predicted = predict(own[fold.training], given, own[fold.test], draws)
            squares[name][fold.test] = np.square(predicted - rater.ratings[fold.test])
    return RaterErrors(
        rater=rater.name,
        ratings=len(rater),
        mean=float(rater.ratings.mean()),
        standard_deviation=float(rater.ratings.std()),
        rmse={name: math.sqrt(float(each.mean())) for name, each in squares.items()},
    )


def _stream(seed: int, rater: Rater, use: int) -> np.random.Generator:
    key = (use, zlib.crc32(rater.name.encode()))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
