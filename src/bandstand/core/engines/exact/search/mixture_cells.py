"""Bounds of a song's mixture (13) cell by cell, where a cell lies between two nodes of the grid.

Where a song's mixture is a comb it is computed on a finer grid by interpolation. So that a bound
holds for every grid, it is made for the cells between neighbouring nodes, not for the nodes. In a
metric (`metric.py`) every component within a cell has

    location ≤ the larger u x'm at the ends + bend·√(x'Fx)
    scale    ≤ width·√(x'Fx)

since u falls as s grows, x'Λ⁻¹x rises, and m is a straight line plus what `interpolation_bounds`
allows; with θ from 0 to 1 along the cell, the product of two straight lines is that of its ends
plus θ(1−θ) Δu Δm.

code       maths  shape
`curves`   u      (G,)    novelty of a song never heard
`centres`  u m    (G, p)
`shares`          (C,)    what the components of each cell weigh together at most, on any grid
`bends`           (C,)
`widths`          (C,)
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.engines.exact.posterior.recovery_grid import _normal
from bandstand.core.engines.exact.posterior.spiky_mixture import WIDENED, finest
from bandstand.core.engines.exact.search import interpolation_bounds
from bandstand.core.engines.exact.search.grid_constants import constants_of

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.belief import ExactBelief
    from bandstand.core.engines.exact.posterior.recovery_grid import RecoveryGrid
    from bandstand.core.engines.exact.search.metric import Metric
    from bandstand.types import Matrix, Vector

# Of covariances, which rank-one updates have rounded many times.
_ROUNDING: Final = 1e-6
_LARGEST_LOGARITHM: Final = 300.0
# Cells at both ends that together have this share of the tail are left out.
_LEFT_OUT: Final = 0.02


class MixtureCells:
    """The cells of one belief in a metric, for songs never heard: `longest` stands for never."""

    def __init__(self, belief: ExactBelief, longest: float, metric: Metric) -> None:
        self.belief, self.longest, self.metric = belief, longest, metric
        self._bend = interpolation_bounds.bend(len(belief.grid))
        self._constants = constants_of(belief.grid, longest)

    @property
    def curves(self) -> Vector:
        """Novelty of a song never heard at every node: u, (G,)."""
        return self._constants.curves

    @cached_property
    def centres(self) -> Matrix:
        """Return u m at all nodes: (G, p)."""
        centres: Matrix = self.curves[:, np.newaxis] * self.belief.means
        return centres

    @cached_property
    def _lengths(self) -> tuple[Vector, Vector, Vector]:
        """The lengths of m at the nodes, of Δm between them, and what m bends by in each cell."""
        means = self.belief.means
        steps = np.diff(means, axis=0)
        bends = self._bend @ self.metric.lengths(np.diff(steps, axis=0))
        return self.metric.lengths(means), self.metric.lengths(steps), np.asarray(bends)

    @cached_property
    def bends(self) -> Vector:
        """What locations may be beyond those at the ends of a cell, per √(x'Fx): (C,)."""
        means, steps, bends = self._lengths
        bent = self.curves[:-1] * bends + 0.25 * np.abs(np.diff(self.curves)) * steps
        bent += self._constants.bends_of_curves * np.maximum(means[:-1], means[1:])
        return np.asarray(bent * (1 + _ROUNDING))

    @cached_property
    def widths(self) -> Vector:
        """No scale within a cell is above width·√(x'Fx): (C,)."""
        growth = self.metric.growth(self.belief.log_recovery_times[1:])
        wide = self.curves[:-1] * self._noise * growth
        return np.asarray(np.maximum(wide, WIDENED * self._finest_steps) * (1 + _ROUNDING))

    @property
    def _finest_steps(self) -> Vector:
        """The largest step of u m to a neighbour on the finest grid, per √(x'Fx): (C,).

        From one to the next it changes by at most u·(ratio·|Δm| + (ratio − 1)·|m|), where ratio
        bounds that of the two u. The farther neighbour may be in the next cell.
        """
        (means, steps, bends), size = self._lengths, len(self.belief.grid)
        ratio = self._constants.step_ratios
        step = interpolation_bounds.slope(size) @ steps / finest(size)
        longest = np.maximum(means[:-1], means[1:]) + bends
        each = np.pad(self.curves[:-1] * (ratio * step + (ratio - 1) * longest), 1)
        return np.asarray(np.maximum(np.maximum(each[:-2], each[2:]), each[1:-1]))

    def inside(self, tail: float) -> tuple[slice, float]:
        """Return the cells without those at both ends that hardly matter, and what those weigh."""
        part = 0.5 * _LEFT_OUT * tail
        first = int(np.searchsorted(np.cumsum(self.shares), part))
        last = len(self.shares) - int(np.searchsorted(np.cumsum(self.shares[::-1]), part))
        first = min(first, last - 1)
        return slice(first, last), float(self.shares[:first].sum() + self.shares[last:].sum())

    @property
    def _noise(self) -> Vector:
        """No noise that is interpolated within a cell is larger: (C,)."""
        logs = 0.5 * np.log(self.belief.rates)
        bends = self._bend @ np.abs(np.diff(logs, 2))
        # No rate between nodes is taken to be more than e times the largest at any.
        most = np.minimum(np.maximum(logs[:-1], logs[1:]) + bends, logs.max() + 0.5)
        return np.asarray(np.exp(most) / np.sqrt(self.belief.shape) * (1 + 1e-12))

    @cached_property
    def shares(self) -> Vector:
        """What the nodes within each cell weigh together at most, on any finer grid: (C,).

        A node between two cells counts as one of the later cell; the last one of all is added.
        """
        grid, log_density = self.belief.grid, self.belief.log_density
        most = np.zeros(len(grid) - 1)
        for before in _cumulative_weights(grid, log_density):
            edges = before[: -1 : (len(before) - 2) // len(most)]
            np.maximum(most, np.diff(edges) / before[-1], out=most)
        most[-1] += float(self.belief.weights[-1])
        return np.asarray(most * (1 + 1e-9))


def _cumulative_weights(grid: RecoveryGrid, log_density: Vector) -> list[Vector]:
    """Return for each finer grid the weight of all nodes before each one, and of all in the end.

    The nodes of a grid 2, 4, … times as fine are among those of the finest.
    """
    factor = finest(len(grid))
    rest = interpolation_bounds.between(log_density - _normal(grid.places), factor)
    spacing = grid.places[1] - grid.places[0]
    places = grid.places[:-1, np.newaxis] + spacing * np.arange(factor) / factor
    fine = np.append((rest + _normal(places)).reshape(-1), log_density[-1])
    logs = np.clip(fine - log_density.max(), -_LARGEST_LOGARITHM, _LARGEST_LOGARITHM)
    density = np.exp(logs)
    strides = 2 ** np.arange(factor.bit_length())
    return [np.append(0.0, np.cumsum(density[::stride])) for stride in strides]
