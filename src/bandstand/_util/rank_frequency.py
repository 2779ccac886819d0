"""How often the same things come back: the share of repeats, and Zipf's law.

Zipf's law says that the thing of rank k is met 1/k^exponent times as often as the first: a
straight line on two logarithmic axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand._util.slopes import fitted_line
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.types import Vector

# A straight line through fewer things says nothing.
_FEWEST_RANKS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Zipf:
    """The straight line through plays by rank on two logarithmic axes.

    plays = first · rank^(-exponent)
    """

    exponent: float
    first: float  # plays of the most played song, by the line
    r_squared: float  # the share of the variance of log plays that the line explains


def plays_by_rank(items: ArrayLike) -> Vector:
    """Return how often each thing occurs, most often first.

    >>> plays_by_rank([7, 3, 7, 7, 3, 9]).tolist()
    [3.0, 2.0, 1.0]
    """
    counts = np.unique(np.asarray(items), return_counts=True)[1]
    return np.asarray(np.sort(counts)[::-1], dtype=np.float64)


def repeat_share(items: ArrayLike) -> float:
    """Return the paper's proportion of repetitions: 1 − different things / all.

    >>> repeat_share([7, 3, 7, 7])
    0.5
    """
    things = np.asarray(items)
    if not things.size:
        msg = "a share of repeats needs at least one play, got none"
        raise InvalidInputError(msg)
    return 1 - len(np.unique(things)) / things.size


def zipf(plays_by_rank: Vector) -> Zipf | None:
    """Return the line of least squares; None for few songs, or where all are played as often.

    >>> line = zipf(np.array([12.0, 6.0, 4.0, 3.0, 2.4]))
    >>> round(line.exponent, 9), round(line.first, 9), round(line.r_squared, 9)
    (1.0, 12.0, 1.0)
    """
    if len(plays_by_rank) < _FEWEST_RANKS or plays_by_rank[0] == plays_by_rank[-1]:
        return None
    line = fitted_line(np.log(np.arange(1.0, len(plays_by_rank) + 1)), np.log(plays_by_rank))
    return Zipf(exponent=-line.slope, first=float(np.exp(line.intercept)), r_squared=line.r_squared)
