"""The nodes of a grid that matter for a quantile, and the weight of the others on any finer grid.

A song whose mixture is a comb is computed on a grid 2, 4, 8, … times as fine (13), on which the
nodes between and beyond have other weights. So what may be left out is bounded for all of them.
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand.inference import interpolation_bounds
from bandstand.inference.comb import finest
from bandstand.inference.recovery_grid import _CORE, _normal

if TYPE_CHECKING:
    from bandstand.inference.recovery_grid import RecoveryGrid
    from bandstand.types import AnyArray, Vector

# Nodes that together carry less than this share of the tail are left out; on a finer grid they
# may carry a little more.
_LEFT_OUT: Final = 0.02
_MOST_LEFT_OUT: Final = 0.2
_LARGEST_LOGARITHM: Final = 300.0
# In logarithms; far out it may have no number at all.
_LEAST_DENSITY: Final = -1e6


class Kept(NamedTuple):
    """The first and the last node that is kept, and what all others weigh at most."""

    first: int
    last: int
    left_out: float


def kept_nodes(grid: RecoveryGrid, log_density: Vector, weights: Vector, tail: float) -> Kept:
    """Return the nodes without which at most a fifth of `tail` is missing, on no grid more."""
    first = int(np.searchsorted(np.cumsum(weights), 0.5 * _LEFT_OUT * tail))
    end = len(weights) - 1
    last = end - int(np.searchsorted(np.cumsum(weights[::-1]), 0.5 * _LEFT_OUT * tail))
    last = max(last, min(first + 1, end))
    first = min(first, last - 1)  # so that there is a cell between them
    share = _rough_share(grid, log_density, first, last)
    if share < _MOST_LEFT_OUT * tail:
        return Kept(first, last, max(share, _outside(weights, first, last)))
    sums = _sums_to_the_left(grid, log_density)
    while first > 0 or last < end:
        share = max(_share(sums, len(grid), first, last), _outside(weights, first, last))
        if share < _MOST_LEFT_OUT * tail:
            return Kept(first, last, share * (1 + 1e-6))
        first, last = max(first - 1, 0), min(last + 1, end)
    return Kept(0, end, 0.0)


def _outside(weights: Vector, first: int, last: int) -> float:
    return float(weights[:first].sum() + weights[last + 1 :].sum())


def _rough_share(grid: RecoveryGrid, log_density: Vector, first: int, last: int) -> float:
    """Return what is left out at most on any finer grid, from bounds of the density in each cell.

    Between the nodes its logarithm is `_normal`, known everywhere, plus an interpolated rest: the
    interpolant of the logarithm itself, but for what interpolating `_normal` would be off by. So it
    is within the bends, and so much, of its chord. Where the chord falls outwards, the finer nodes
    farther out than the inner end have no more than the integral over e^chord; elsewhere no more
    than its higher end. Every cell has as many of the finer nodes as any other.
    """
    relative = np.maximum(log_density - log_density.max(), _LEAST_DENSITY)
    bends = interpolation_bounds.bend(len(grid)) @ np.abs(np.diff(relative, 2))
    bends += _off_normal(grid)
    higher = np.maximum(relative[:-1], relative[1:])
    rise = np.diff(relative)
    fall = np.abs(rise) + 1e-9
    outwards = np.append(rise[:first] >= 0, rise[first:] <= 0)
    most = _exp(higher + bends) * np.where(outwards, -np.expm1(-fall) / fall, 1.0)
    outside = float(most[:first].sum() + most[last:].sum())
    least = _exp(np.minimum(relative[:-1], relative[1:]) - bends)
    inside = float(least[first:last].sum())
    return (1 + 1e-6) * outside / inside if inside > 0 else np.inf


def _off_normal(grid: RecoveryGrid) -> Vector:
    """Return how far from `_normal` its interpolant is in each cell at most: (G − 1,).

    It is log cosh v − 9/4·(cosh 2v − 1). The n-th derivative of the second part is at most
    9/4·2ⁿ·cosh 2v; that of the first at most 3 n!, by Cauchy's estimate on circles of radius 1,
    where it differs from |v| by less than 3.
    """
    products, ends, order = interpolation_bounds.remainder(len(grid))
    spacing = float(grid.places[1] - grid.places[0])
    farthest = np.abs(grid.places[ends]).max(axis=1)
    steep = _CORE**2 / 4 * 2.0**order / factorial(order) * np.cosh(2 * farthest)
    return np.asarray(products * spacing**order * (steep + 3.0))


def _sums_to_the_left(grid: RecoveryGrid, log_density: Vector) -> list[Vector]:
    """Return for each finer grid the weight of all nodes before each one, and of all in the end.

    The nodes of a grid 2, 4, … times as fine are among those of the finest.
    """
    factor = finest(len(grid))
    rest = interpolation_bounds.between(log_density - _normal(grid.places), factor)
    spacing = grid.places[1] - grid.places[0]
    places = grid.places[:-1, np.newaxis] + spacing * np.arange(factor) / factor
    fine = np.append((rest + _normal(places)).reshape(-1), log_density[-1])
    density = _exp(fine - log_density.max())
    strides = 2 ** np.arange(factor.bit_length())
    return [np.append(0.0, np.cumsum(density[::stride])) for stride in strides]


def most_in_cells(grid: RecoveryGrid, log_density: Vector) -> Vector:
    """Return what each cell and its first end weigh at most on any finer grid: (G − 1,)."""
    most = np.zeros(len(grid) - 1)
    for before in _sums_to_the_left(grid, log_density):
        edges = before[: -1 : (len(before) - 2) // len(most)]
        np.maximum(most, np.diff(edges) / before[-1], out=most)
    return np.asarray(most * (1 + 1e-9))


def _share(sums: list[Vector], nodes: int, first: int, last: int) -> float:
    """Return the largest share of what is left out, over all the finer grids."""
    shares = []
    for before in sums:
        factor = (len(before) - 2) // (nodes - 1)
        outside = before[first * factor] + before[-1] - before[last * factor + 1]
        shares.append(float(outside / before[-1]))
    return max(shares)


def _exp(values: AnyArray) -> AnyArray:
    return np.asarray(np.exp(np.clip(values, -_LARGEST_LOGARITHM, _LARGEST_LOGARITHM)))
