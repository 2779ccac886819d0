"""Concentration of plays on few songs.

A profile is the share of all plays that goes to the most played song, to the second, and so on.

    distance(p, q) = ½ Σ_k |p_(k) − q_(k)|        both in falling order, the shorter filled with 0

Pairing by rank is the pairing of smallest distance, so this is the least share of plays that
would have to go to other songs for the two profiles to become the same. It is a metric: 0 for
equal profiles, below 1 always, and it needs no model of either.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from bandstand.errors import InvalidInputError
from bandstand.types import Vector

_HALVINGS: Final = 60  # until an interval of length one is as short as rounding


def ranked_shares(counts: ArrayLike) -> Vector:
    """Return the share of all plays that each song has, the most played first.

    >>> ranked_shares([1, 0, 2, 1]).tolist()
    [0.5, 0.25, 0.25, 0.0]
    """
    plays = np.asarray(counts, dtype=np.float64)
    if plays.ndim != 1 or not np.isfinite(plays).all() or (plays < 0).any() or not plays.any():
        msg = f"a profile needs the plays of each song, at least one of them, got {counts!r:.60}"
        raise InvalidInputError(msg)
    largest = plays.max()
    relative = np.sort(plays / largest)[::-1]
    return np.asarray(relative / relative.sum())


def profile_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Return the least share of plays by which two profiles differ: 0 to 1.

    Each is given as the plays of each song, in any order.

    >>> profile_distance([3, 1], [1, 3]), profile_distance([2, 2], [4]), profile_distance([5], [9])
    (0.0, 0.5, 0.0)
    """
    ones, others = ranked_shares(first), ranked_shares(second)
    songs = max(len(ones), len(others))
    apart = np.pad(ones, (0, songs - len(ones))) - np.pad(others, (0, songs - len(others)))
    return float(np.abs(apart).sum() / 2)


def share_of_most_played(counts: ArrayLike, part: float = 0.2) -> float:
    """Return the share of plays that the most played fifth of the songs, or another part, has.

    >>> share_of_most_played([4, 1, 1, 1, 1])
    0.5
    """
    shares = ranked_shares(counts)
    songs = len(shares[shares > 0])
    return float(shares[: max(1, round(part * songs))].sum())


def share_if_equal(plays: int, songs: int, part: float = 0.2) -> float:
    """Return the same if no song were preferred, with as many plays and as many repeats.

    Plays then go to songs by chance: those of a song are Poisson with mean λ, given that it was
    played at all, so that λ / (1 − exp(−λ)) = plays / songs.

    >>> share_if_equal(10, 10), round(share_if_equal(300, 100), 2)
    (0.2, 0.36)
    """
    if not 1 <= songs <= plays:
        msg = f"a share needs at least as many plays as songs and a song, got {plays} and {songs}"
        raise InvalidInputError(msg)
    mean = _poisson_mean(plays / songs)
    if mean == 0:
        return part
    values = np.arange(1.0, math.ceil(mean + 12 * math.sqrt(mean) + 20))[::-1]
    with np.errstate(under="ignore"):
        chances = np.exp(values * math.log(mean) - mean - gammaln(values + 1))
        chances /= chances.sum()
        # Of each number of plays, from the largest, as many songs as the part still takes.
        above = np.cumsum(chances) - chances
        taken = np.clip(part - above, 0.0, chances)
        return float(taken @ values / (chances @ values))


def _poisson_mean(given: float) -> float:
    """Return λ with λ / (1 − exp(−λ)) = `given`, which lies between λ and λ + 1."""
    low, high = given - 1, given
    for _ in range(_HALVINGS if given > 1 else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if middle / -math.expm1(-middle) > given else (middle, high)
    return low
