"""Constants of a grid that bounds need, whatever has been learned: the same after every answer.

code               maths          shape
`curves`           u(T; s_g)      (G,)    novelty of a song never heard
`bends_of_curves`                 (G−1,)  how far u is from the straight line in each cell at most
`step_ratios`                     (G−1,)  of u at neighbours on the finest grid, at most
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.engines.exact.posterior.spiky_mixture import finest
from bandstand.core.model.novelty import novelty

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.recovery_grid import RecoveryGrid
    from bandstand.types import Vector

_LARGEST_LOGARITHM: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridConstants:
    """The constants of one grid for songs never heard."""

    curves: Vector
    bends_of_curves: Vector
    step_ratios: Vector


def constants_of(grid: RecoveryGrid, longest: float) -> GridConstants:
    """Return the constants, where `longest` minutes stand for never."""
    known: dict[float, GridConstants] = grid.notes.setdefault(GridConstants, {})
    found = known.get(longest)
    if found is None:
        found = known[longest] = GridConstants(
            curves=np.asarray(novelty(longest, grid.nodes)),
            bends_of_curves=_bends_of_curves(grid),
            step_ratios=_step_ratios(grid),
        )
    return found


def _bends_of_curves(grid: RecoveryGrid) -> Vector:
    """Return h²/8 times the second derivative of u by v at most, where y = centre + scale·sinh v.

    As functions of y, with T/s = w, |u'| = w·e⁻ʷ ≤ 0.37 and |u''| = w·e⁻ʷ·|1 − w| ≤ 0.31.
    """
    places, scale = grid.places, grid.scale
    slopes, bends = scale * np.cosh(places), scale * np.abs(np.sinh(places))
    second = 0.31 * np.maximum(slopes[:-1], slopes[1:]) ** 2
    second = second + 0.37 * np.maximum(bends[:-1], bends[1:])
    return np.asarray(np.minimum((places[1] - places[0]) ** 2 / 8 * second, 1.0))


def _step_ratios(grid: RecoveryGrid) -> Vector:
    """Return s/s' of neighbours on the finest grid: in logarithms at most scale·cosh(v)·Δv."""
    ends = np.cosh(grid.places)
    spacing = grid.scale * (grid.places[1] - grid.places[0]) / finest(len(grid))
    return np.asarray(np.exp(np.minimum(spacing * np.maximum(ends[:-1], ends[1:]), 50.0)))


def log_novelty(elapsed: float, log_times: Vector) -> Vector:
    """Return log u(t; s) at each y = log s; as t → 0, up to a constant, −y."""
    if elapsed <= 0:
        return -log_times
    small = np.log(elapsed) - log_times if elapsed < np.inf else np.full_like(log_times, np.inf)
    ratio = np.exp(np.clip(small, -_LARGEST_LOGARITHM, _LARGEST_LOGARITHM))
    # u is about t/s where that is small.
    return np.where(small < -30, small, np.log(-np.expm1(-ratio)))
