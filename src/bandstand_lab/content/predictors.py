"""The content model, and the predictors that it is compared with.

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

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import paper_prior, radio_prior
from bandstand.types import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import Matrix, Vector

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


# Minutes since an item was met: so long that 1 − exp(−t/s) is 1 for every recovery time.
UNHEARD: Final = 1e30


class Predictor(Protocol):
    """Learns from some ratings of one person and predicts others of the same."""

    def __call__(
        self, features: Matrix, ratings: Vector, wanted: Matrix, *, rng: np.random.Generator
    ) -> Vector:
        """Return a prediction for each row of `wanted`; the last feature is a constant 1."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentModel:
    """The exact engine, for items that were never heard."""

    prior_for: Callable[[int], ListenerPrior]

    def __call__(
        self, features: Matrix, ratings: Vector, wanted: Matrix, *, rng: np.random.Generator
    ) -> Vector:
        """Return E[Uc | D] of each row of `wanted`."""
        del rng
        history = History.of(features=features, elapsed=UNHEARD, ratings=ratings)
        engine = Exact(prior=self.prior_for(features.shape[1]))
        songs = Songs.of(features=wanted, elapsed=UNHEARD)
        expected = engine.predict(engine.fit(history), songs).mean()
        if expected is None:  # with the paper's prior there is no mean before the first rating
            return np.zeros(len(wanted))
        return expected


def random_draw(
    features: Matrix, ratings: Vector, wanted: Matrix, *, rng: np.random.Generator
) -> Vector:
    """Return ratings drawn from those that were given, with replacement."""
    del features
    return np.asarray(rng.choice(ratings, size=len(wanted)))


def constant_mean(
    features: Matrix, ratings: Vector, wanted: Matrix, *, rng: np.random.Generator
) -> Vector:
    """Return the mean of the ratings, for every item."""
    del features, rng
    return np.full(len(wanted), ratings.mean())


def nested_ridge(
    features: Matrix, ratings: Vector, wanted: Matrix, *, rng: np.random.Generator
) -> Vector:
    """Return the prediction of a ridge regression that chose its strength by itself."""
    del rng
    return fit_ridge(features[:, :-1], ratings).predict(wanted[:, :-1])


PREDICTORS: Final[dict[str, Predictor]] = {
    "random": random_draw,
    "mean": constant_mean,
    "ridge": nested_ridge,
    "content": ContentModel(prior_for=radio_prior),
    "content-paper": ContentModel(prior_for=paper_prior),
}
LABELS: Final = {
    "random": "random, same distribution",
    "mean": "the rater's mean",
    "ridge": "ridge regression",
    "content": "content model",
    "content-paper": "content model, paper's prior",
}
