"""Which way a listener leans: fast or slow, bright or dark, and how sure that is.

A leaning is what is expected of the songs that stand one standard deviation above the library's
average on an index (audio.loadings), beyond what the average song gets, when all are new.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from bandstand.core.model.history import Songs
from bandstand.music.audio import loadings
from bandstand.radio.selection.training_data import LONGEST

if TYPE_CHECKING:
    from bandstand.core.engines.engine import Engine
    from bandstand.music.audio.projection import Projection


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaning:
    """What a listener likes in one group of descriptors."""

    group: str  # tempo, brightness, …
    likes: str  # fast, bright, …: the side that is rated higher
    dislikes: str
    stars: float  # how much a song that is clearly so gets above the average song, ≥ 0
    standard_deviation: float | None  # of `stars`; None where the engine knows no doubt
    certainty: float | None  # probability that it is this side and not the other, ½ to 1


def leanings(
    engine: Engine[Any], belief: Any, columns: int, projection: Projection | None
) -> tuple[Leaning, ...]:
    """Return the leanings, the strongest first; none where the features tell of no groups."""
    directions = {} if projection is None else loadings.towards(projection)
    if not directions or not 0 <= columns - len(next(iter(directions.values()))) <= 1:
        return ()
    features = np.zeros((len(directions), columns))
    for row, direction in enumerate(directions.values()):
        features[row, : len(direction)] = direction  # the intercept stays 0: a difference
    prediction = engine.predict(belief, Songs.of(features=features, elapsed=LONGEST))
    likings = prediction.parts().get("content")
    if likings is None:
        return ()
    spreads = prediction.standard_deviation()
    found = [
        _leaning(name, float(likings[row]), None if spreads is None else float(spreads[row]))
        for row, name in enumerate(directions)
    ]
    return tuple(sorted(found, key=lambda leaning: -leaning.stars))


def _leaning(name: str, liking: float, spread: float | None) -> Leaning:
    (group,) = (group for group in loadings.GROUPS if group.name == name)
    sides = (group.more, group.less) if liking >= 0 else (group.less, group.more)
    stars = abs(liking)
    certainty = None
    if spread is not None:
        # The belief is a mixture of bell curves; about its sign a single one says the same.
        certainty = float(ndtr(stars / spread)) if spread > 0 else 1.0
    return Leaning(
        group=name,
        likes=sides[0],
        dislikes=sides[1],
        stars=stars,
        standard_deviation=spread,
        certainty=certainty,
    )
