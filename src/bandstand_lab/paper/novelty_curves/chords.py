"""Straight pieces whose ends lie on the novelty curve, and how far they are from it.

In units of the recovery time the curve is f(x) = 1 − exp(−x). A chord from a to a + h has
the slope m·exp(−a), m = (1 − exp(−h))/h, and the curve is above it. The gap is widest where
both have the same slope, and there it is

    exp(−a) · g(h)        g(h) = 1 − m + m·ln m

so errors are known without a search over t. With so many pieces the largest error is least
when all pieces have the same: each starts where the one before ended, and is as long as
that error lets it be. Lines that need not touch the curve can halve it, by moving up half
of the gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from bandstand.errors import InvalidInputError
from bandstand.types import frozen

if TYPE_CHECKING:
    from bandstand.types import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Chords:
    """Pieces between neighbouring `places`, which are in units of the recovery time."""

    places: Vector
    largest_gap: float


def widest_gap(start: float, length: float) -> float:
    """Return how far f is above its chord from `start` to `start` + `length`, at most.

    >>> round(widest_gap(0.0, 1.0), 4)
    0.0779
    """
    if length < 1e-3:  # by its series, where the closed form has no digits left
        return math.exp(-start) * length**2 / 8 * (1 - length / 2)
    slope = -math.expm1(-length) / length
    return math.exp(-start) * (1 - slope + slope * math.log(slope))


def best_chords(end: float, pieces: int) -> Chords:
    """Return the pieces from 0 to `end` whose largest gap is least.

    >>> best_chords(3.0, 2).places.round(3).tolist()
    [0.0, 0.99, 3.0]
    """
    if pieces < 1 or not 0 < end < math.inf:
        msg = f"there must be pieces of a length, got {pieces} to {end}"
        raise InvalidInputError(msg)
    if pieces == 1:
        return Chords(places=frozen([0.0, end]), largest_gap=widest_gap(0.0, end))

    def surplus(log_gap: float) -> float:
        return min(_places(math.exp(log_gap), pieces, end)[-1], 2 * end) - end

    lowest = math.log(widest_gap(0.0, end / pieces)) - 2 * end - 2
    log_gap = brentq(surplus, lowest, math.log(widest_gap(0.0, end)), xtol=1e-14)
    places = _places(math.exp(log_gap), pieces, end)
    return Chords(places=frozen([*places[:-1], end]), largest_gap=math.exp(log_gap))


def gaps_between(nodes: Vector, recovery_time: float) -> Vector:
    """Return the widest gap of each piece between neighbouring nodes, in minutes both."""
    places = nodes / recovery_time
    return np.array(
        [
            0.0 if start > 700 else widest_gap(start, length)
            for start, length in zip(places[:-1], np.diff(places), strict=True)
        ]
    )


def _places(gap: float, pieces: int, end: float) -> list[float]:
    """Return where pieces of that gap end, one after the other; beyond `end` they may be long."""
    places = [0.0]
    for _ in range(pieces):
        places.append(places[-1] + _length(gap * math.exp(min(places[-1], 700.0)), 2 * end))
        if places[-1] >= 2 * end:
            break
    return places


def _length(gap: float, longest: float) -> float:
    """Return how long a chord from 0 with that gap is, or `longest` if it could be longer."""
    if widest_gap(0.0, longest) <= gap:
        return longest
    return float(brentq(lambda length: widest_gap(0.0, length) - gap, 0.0, longest, xtol=1e-15))
