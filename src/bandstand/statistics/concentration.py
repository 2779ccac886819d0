"""How plays are spread over songs, whatever the songs are called.

A profile is the share of all plays that goes to the most played song, to the second, and so on.

    distance(p, q) = ½ Σ_k |p_(k) − q_(k)|        both in falling order, the shorter filled with 0

Pairing by rank is the pairing of smallest distance, so this is the least share of plays that
would have to go to other songs for the two profiles to become the same. It is a metric: 0 for
equal profiles, below 1 always, and it needs no model of either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.arrays import Vector


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


def effective_songs(counts: ArrayLike) -> float:
    """Return how many songs, all played equally often, repeat as much: 1 / Σ p².

    Two plays picked at random are of the same song with probability Σ p².

    >>> effective_songs([5, 5, 5, 5]), effective_songs([7])
    (4.0, 1.0)
    """
    shares = ranked_shares(counts)
    with np.errstate(under="ignore"):
        return float(1 / (shares @ shares))
