"""The content model, and what a doubter would compare it with.

name             what it predicts
`random`         a rating drawn from those that it has seen: right in distribution, blind otherwise
`mean`           the mean of those
`ridge`          ridge regression on the features, its strength chosen anew in each training fold
`content`        E[Uc] of the exact engine with the radio's prior
`content-paper`  the same with the paper's prior, which holds nothing back

In the content model every item is as new as can be: Un = 1, so that U is Uc = θ'x alone (1).
The engine's mean is then a ridge regression too, whose strength is the prior's and not chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from bandstand.domain import History, Songs
from bandstand.inference.exact import Exact
from bandstand.model.priors import paper_prior, radio_prior
from bandstand_lab.content.ridge import fit_ridge

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.model.priors import ListenerPrior
    from bandstand.types import Matrix, Vector

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
    """The exact engine, for items that nobody has met."""

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
        if expected is None:  # the paper's prior says nothing before the first rating
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
