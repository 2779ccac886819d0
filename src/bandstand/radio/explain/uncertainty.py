"""How unsure the radio is about a listener, and how that went from answer to answer.

The measure is the paper's: the mean, over songs, of the standard deviation of p(U | D) under the
exact model, whatever algorithm chooses the songs. All songs are taken as new, so that it
tells what is known of the listener and not what was played today.

    after 1, 3, 10, 32, 100, … answers and after all of them

A belief from fewer answers is that of the first part of the history, fitted anew. Nothing said
later changes it, so what was found once is kept by whoever asks (`known`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.model.history import Songs
from bandstand.errors import InvalidInputError
from bandstand.radio.selection.training_data import LONGEST

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from bandstand.core.engines.exact.engine import ExactBelief
    from bandstand.core.model.history import History
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import Indices, Matrix

# The mean over so many songs is that over all of them to a few per cent.
_SONGS: Final = 100
_STEPS_PER_DECADE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class UncertaintyPoint:
    """How unsure the radio was after so many answers."""

    answers: int
    stars: float  # mean standard deviation of the expected rating of a new song


def sample_rows(has_features: Indices) -> Indices:
    """Return the rows of the songs it is measured on: evenly spread, always the same ones."""
    count = len(has_features)
    return has_features[np.unique(np.linspace(0, count - 1, min(count, _SONGS), dtype=np.intp))]


def uncertainty_over_time(
    prior: ListenerPrior,
    history: History,
    features: Matrix,
    *,
    belief: ExactBelief | None = None,
    known: MutableMapping[bytes, float] | None = None,
) -> tuple[UncertaintyPoint, ...]:
    """Return how unsure the radio was after some of the answers, and after all of them.

    `belief` is the exact one after all answers, if it is at hand.
    """
    if not len(history) or not len(features):
        return ()
    engine, songs = Exact(prior=prior), Songs.of(features=features, elapsed=LONGEST)
    kept = {} if known is None else known
    points = []
    for answers in moments(len(history)):
        if answers == len(history) and belief is not None:
            stars = _mean_deviation(engine, belief, songs)
        else:
            key = _key(history, answers, songs)
            if key not in kept:
                fitted = engine.fit(history.first(answers))
                kept[key] = _mean_deviation(engine, fitted, songs)
            stars = kept[key]
        points.append(UncertaintyPoint(answers=answers, stars=stars))
    return tuple(points)


def moments(answers: int) -> list[int]:
    """Return after how many answers it is measured.

    >>> moments(50)
    [1, 3, 10, 32, 50]
    """
    powers = np.arange(0, _STEPS_PER_DECADE * np.log10(answers) + 1e-9) / _STEPS_PER_DECADE
    return sorted({*np.round(10**powers).astype(int).tolist(), answers})


def _mean_deviation(engine: Exact, belief: ExactBelief, songs: Songs) -> float:
    deviation = engine.predict(belief, songs).standard_deviation()
    if deviation is None:
        msg = "the prior of the noise must have a shape above 1, so that all deviations exist"
        raise InvalidInputError(msg)
    return float(deviation.mean())


def _key(history: History, count: int, songs: Songs) -> bytes:
    """Return what the answers and the songs have in common with no others."""
    digest = hashlib.sha256(np.ascontiguousarray(songs.features).tobytes())
    columns = (history.features, history.elapsed, history.ratings, history.weights)
    for column in columns:
        digest.update(np.ascontiguousarray(column[:count]).tobytes())
    return digest.digest()
