"""Simulated raters whose taste is known, in the design of the paper: 400 songs, 1 to 5 stars.

A rater's feeling about an unheard song is 3 + a·(d'x) + noise, where d is a direction of taste,
and the answer is the nearest number of stars. How much of the feeling's variance comes from the
features is the `share`, which is not known beforehand for real people. The
spread of the answers is set to what the paper's numbers imply (`PAPER_SPREAD`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from bandstand.core.model.history import Songs
from bandstand.errors import InvalidInputError
from bandstand.types import frozen
from bandstand_lab.content.predictors import UNHEARD
from bandstand_lab.content.ratings import RatedItems, Rater
from bandstand_lab.simulation.listener import SimulatedListener, StarListener

if TYPE_CHECKING:
    from bandstand.types import Matrix

PAPER_RATERS: Final = 52
PAPER_SONGS: Final = 400
PAPER_FEATURES: Final = 91
PAPER_CONTENT_RMSE: Final = 1.10
PAPER_RANDOM_RMSE: Final = 1.61
# Random draws are off by √2 standard deviations, so the paper's ratings had this one.
PAPER_SPREAD: Final = PAPER_RANDOM_RMSE / math.sqrt(2)
_MIDDLE: Final = 3.0
_BORDERS: Final = (-1.5, -0.5, 0.5, 1.5)  # from the middle


def star_spread(feeling: float) -> float:
    """Return the standard deviation of stars whose feeling is N(3, feeling²).

    >>> round(star_spread(1.0), 3)
    1.009
    """
    above = ndtr(-np.array(_BORDERS) / feeling)  # P(stars > 1, 2, 3, 4)
    stars = np.arange(1.0, 6.0)
    shares = -np.diff([1.0, *above, 0.0])
    return math.sqrt(float(shares @ (stars - _MIDDLE) ** 2))


def feeling_spread(stars: float) -> float:
    """Return the spread of a feeling whose stars have the standard deviation `stars`."""
    if not 0.1 <= stars <= 1.9:
        msg = f"the standard deviation of stars must be between 0.1 and 1.9, got {stars}"
        raise InvalidInputError(msg)
    return float(brentq(lambda feeling: star_spread(feeling) - stars, 0.05, 1e3))


def simulated_rater(
    features: Matrix, rng: np.random.Generator, *, name: str, share: float
) -> Rater:
    """Return one rater of all songs; the last of their standardised features is a constant 1."""
    if not 0 <= share <= 1:
        msg = f"the share of the features must be between 0 and 1, got {share}"
        raise InvalidInputError(msg)
    spread = feeling_spread(PAPER_SPREAD)
    direction = rng.standard_normal(features.shape[1] - 1)
    liking = features[:, :-1] @ direction
    taste = direction * (math.sqrt(share) * spread / float(liking.std()))
    listener = StarListener(
        feeling=SimulatedListener(
            preference=frozen(np.append(taste, _MIDDLE)),
            recovery_time=1.0,  # of no consequence: nothing has been heard
            noise_standard_deviation=math.sqrt(1 - share) * spread,
        )
    )
    stars = listener.rate(Songs.of(features=features, elapsed=UNHEARD), rng)
    return Rater(name=name, rows=np.arange(len(features)), ratings=frozen(stars))


def simulated_items(
    rng: np.random.Generator, *, songs: int = PAPER_SONGS, columns: int = PAPER_FEATURES
) -> Matrix:
    """Return standard normal features with a constant 1 at the end: (songs, columns + 1)."""
    table: Matrix = np.column_stack([rng.standard_normal((songs, columns)), np.ones(songs)])
    return table


def simulated_ratings(
    *,
    share: float,
    seed: int,
    raters: int = PAPER_RATERS,
    songs: int = PAPER_SONGS,
    columns: int = PAPER_FEATURES,
    first: int = 0,
) -> RatedItems:
    """Return the ratings of simulated people; the numbers of the raters start from `first`.

    A rater depends on the seed, the number and the share alone.
    """
    features = simulated_items(_stream(seed, 0), songs=songs, columns=columns)
    return RatedItems(
        features=frozen(features),
        raters=tuple(
            simulated_rater(
                features, _stream(seed, 1, number), name=f"rater {number + 1}", share=share
            )
            for number in range(first, first + raters)
        ),
    )


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2, *key)))
