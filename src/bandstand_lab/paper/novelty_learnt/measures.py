"""How far a learnt curve is from the truth, where there were ratings and where not.

A place counts as visited if it lies between the shortest and the longest time after which a
song was heard again. Elsewhere the data say nothing, and only the prior and straight lines do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand_lab.paper.novelty_learnt.learning import places

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One learnt curve beside the truth; None where nothing was visited."""

    recovery_time: float
    repeats: int
    shortest: float | None  # minutes
    longest: float | None
    error: float | None  # root mean squared difference over the visited places
    error_everywhere: float  # from 2⁻³ to 2¹¹ minutes
    coverage: float | None  # share of the visited places at which the band holds the truth
    width_outside: float | None  # the largest half-width of the band at the others


def match(result: Mapping[str, Any]) -> Match:
    """Return how well a result of `learn` matches."""
    mean, deviation, truth = (
        np.array(result[name]) for name in ("mean", "standard_deviation", "truth")
    )
    times = np.array(result["repeats"])
    visited = np.zeros(len(mean), dtype=bool)
    if len(times):
        visited = (places() >= times.min()) & (places() <= times.max())
    away = mean - truth
    inside = np.abs(away) <= deviation
    return Match(
        recovery_time=result["recovery_time"],
        repeats=len(times),
        shortest=float(times.min()) if len(times) else None,
        longest=float(times.max()) if len(times) else None,
        error=_rms(away[visited]) if visited.any() else None,
        error_everywhere=_rms(away),
        coverage=float(inside[visited].mean()) if visited.any() else None,
        width_outside=None if visited.all() else float(deviation[~visited].max()),
    )


def _rms(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    return math.sqrt(float(np.square(values).mean()))
