"""Placement of the quadrature nodes over y = log s, and the test that they still serve.

    y = centre + scale · sinh(v),    v evenly spaced

Nodes crowd around the peak and thin out towards the tails, so that a narrow peak with long
tails (few ratings, hardly any noise) is resolved as well as a broad one. The trapezoid sum
over v of a smooth, peaked function converges exponentially: halving the spacing squares the
relative error. So the sum over every other node tells how good the sum over all nodes
is, at no cost, and the grid can follow the posterior as it narrows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from bandstand.core.model import interpolation
from bandstand.errors import ConvergenceError
from bandstand.types import Matrix, Vector, frozen

# Sizes to choose from. They are odd, so that every other node still reaches both ends.
_SIZES: Final = (17, 21, 25, 29, 33, 41, 49, 57, 65, 81, 97, 113, 129, 161, 193, 257, 385, 513)
_MAX_TRIALS: Final = 10
# The first grid to be tried has about this spacing of v, which mostly does.
_FIRST_SPACING: Final = 0.125
# Predictions weigh the posterior by powers of novelty, which for songs just heard is about
# t/s. No song is asked about sooner than this many minutes (in logarithms) after its play.
_SOONEST: Final = float(np.log(1e-3))
# What is asked of the density, of the density times s² and of the density times s⁻². The second
# makes the mean and deviation of s, which only the summary tells; the third is novelty.
# A node this many nats below the highest is left out:
_DEPTHS: Final = np.array([28.0, 22.0, 28.0])
# Every other node must agree this well, so that all nodes agree to about its square:
_HALF_RULES: Final = np.array([1e-5, 1e-3, 1e-5])
# More weight than this at an end says that the grid has lost some of the posterior:
_END_WEIGHTS: Final = np.array([1e-9, 1e-7, 1e-9])
# A new grid keeps this far below what is allowed in use, since the posterior will narrow.
_NEW: Final = 0.1
# From the peak to where the nodes begin to thin out, in standard deviations.
_CORE: Final = 3.0
_LARGEST_LOGARITHM: Final = 690.0


@dataclass(frozen=True, kw_only=True)
class RecoveryGrid:
    """The nodes of the quadrature, in rising order."""

    centre: float
    scale: float
    places: Vector  # v, evenly spaced, (G,)

    def __len__(self) -> int:
        return len(self.places)

    def log_times(self, places: Vector) -> Vector:
        """Return y = log s at any places v."""
        return np.asarray(self.centre + self.scale * np.sinh(places))

    @cached_property
    def log_nodes(self) -> Vector:
        """The nodes y = log s: (G,)."""
        nodes: Vector = frozen(self.log_times(self.places))
        return nodes

    @cached_property
    def nodes(self) -> Vector:
        """The recovery time of each node in minutes: (G,)."""
        minutes: Vector = frozen(times(self.log_nodes))
        return minutes

    @cached_property
    def log_stretch(self) -> Vector:
        """The logarithm of dy/dv at the nodes: it turns a density of y into one of v."""
        stretch: Vector = frozen(np.log(self.scale * np.cosh(self.places)))
        return stretch

    @cached_property
    def tilts(self) -> Matrix:
        """What turns the log density into that of each moment: (3, G)."""
        moments: Matrix = frozen(_tilts(self.log_nodes))
        return moments

    @cached_property
    def notes(self) -> dict[Any, Any]:
        """Room for what others work out of the nodes alone: it lives as long as the grid."""
        return {}

    def refined(self, log_density: Vector, factor: int) -> tuple[Vector, Vector]:
        """Return y on a grid `factor` times as fine, and a log density of v between the nodes."""
        finer = interpolation.refinement(len(self), factor)
        places = finer @ self.places
        # What differs from a normal density is flatter than the density itself, so that a
        # polynomial follows it more closely.
        rest = finer @ (log_density - _normal(self.places))
        return self.log_times(places), np.asarray(rest + _normal(places))


def _normal(places: Vector) -> Vector:
    """Return the log density of v if y were normal with the peak's mean and deviation."""
    return np.asarray(np.log(np.cosh(places)) - 0.5 * (_CORE * np.sinh(places)) ** 2)


def times(log_times: Vector) -> Vector:
    """Return s = exp(y), as far as there are numbers for it."""
    return np.exp(np.clip(log_times, -_LARGEST_LOGARITHM, _LARGEST_LOGARITHM))


def weights(log_density: Vector) -> Vector:
    """Return the share of each node in the integral of a density of v."""
    shares: Vector = _normalised(log_density)
    return shares


def _normalised(log_densities: Any) -> Any:
    """Return the shares of each node, for one density or one in each row."""
    with np.errstate(under="ignore"):
        highest = log_densities.max(axis=-1, keepdims=True)
        relative = np.exp(np.maximum(log_densities - highest, -700.0))
        return relative / relative.sum(axis=-1, keepdims=True)


def place(
    log_density: Callable[[Vector], Vector],
    interval: tuple[float, float],
    known: tuple[Vector, Vector] | None = None,
) -> tuple[RecoveryGrid, bool]:
    """Return a grid for a density of y, and whether it resolves it.

    `log_density` is asked last at the nodes of that grid. `interval` is where to look first; it
    is widened where the data contradict the prior. Where values of the density are `known`
    already, at rising places, the search begins with those.
    """
    seen = DensitySearch(log_density, interval, tilts=_tilts, depths=_DEPTHS, known=known)
    size = 0
    for _ in range(_MAX_TRIALS):
        grid = _proposal(seen, size)
        values = log_density(grid.log_nodes)
        density = values + grid.log_stretch
        if grid_error(grid, density) <= _NEW or len(grid) == _SIZES[-1]:
            break
        seen.add(grid.log_nodes, values)
        size = _next_size(len(grid), _coarseness(grid, _shares(grid, density)))
    return grid, grid_error(grid, density) <= 1


def grid_error(grid: RecoveryGrid, log_density: Vector) -> float:
    """Return how much of what is allowed a density of v uses up; above 1 the grid fails."""
    shares = _shares(grid, log_density)
    ends = np.maximum(shares[:, 0], shares[:, -1])
    return max(float((ends / _END_WEIGHTS).max()), _coarseness(grid, shares))


def _coarseness(grid: RecoveryGrid, shares: Matrix) -> float:
    """Return how far every other node tells something else than all of them."""
    squares = (grid.places - (shares @ grid.places)[:, np.newaxis]) ** 2
    spread = (shares * squares).sum(axis=1)
    half = shares[:, ::2]
    mass = np.abs(2 * half.sum(axis=1) - 1)
    width = np.abs(2 * (half * squares[:, ::2]).sum(axis=1) - spread)
    # A density that one node holds alone has no width to compare with.
    width = np.divide(width, spread, out=np.ones_like(width), where=spread > 0)
    return float((np.maximum(mass, width) / _HALF_RULES).max())


def _shares(grid: RecoveryGrid, log_density: Vector) -> Matrix:
    """Return the share of each node in each of the three integrals: (3, G)."""
    shares: Matrix = _normalised(log_density + grid.tilts)
    return shares


def _tilts(log_times: Vector) -> Matrix:
    """Return what turns a log density into that of the density, and of it times s² and s⁻²."""
    return np.stack(
        [np.zeros_like(log_times), 2 * log_times, -2 * np.logaddexp(log_times, _SOONEST)]
    )


def _proposal(seen: DensitySearch, at_least: int) -> RecoveryGrid:
    """Return the grid that suits what has been seen."""
    centre, deviation = seen.peak()
    scale = _CORE * deviation
    low, high = np.arcsinh((np.array(seen.reach()) - centre) / scale)
    wanted = max(at_least, 1 + (high - low) / _FIRST_SPACING)
    size = next((size for size in _SIZES if size >= 0.95 * wanted), _SIZES[-1])
    return RecoveryGrid(centre=centre, scale=scale, places=frozen(np.linspace(low, high, size)))


def _next_size(size: int, coarseness: float) -> int:
    """Return how many nodes to try next: the error falls like a power of their number."""
    if coarseness <= _NEW:
        return size  # it was only too short
    rule = float(_HALF_RULES[0])
    wanted, found = np.log(_NEW * rule), np.log(min(coarseness * rule, 0.1))
    return int(np.ceil(max(1.1, min(wanted / found, 2.0)) * size))


# Where a density of one variable has its peak and how far it reaches, from few looks at it.
#
# Each look costs a factorisation for every place, so all values are kept and used again.


# Tails that fall like a power may hold some of the variance long after the density itself is
# negligible: this many nats below its highest, the density times distance squared is too.
_DEPTH_OF_SQUARES: Final = 20.0
# Nats below the peak at which its width is measured.
_CLEAR_DROP: Final = 0.7
_FIRST_LOOK: Final = 17
_CLOSER_LOOK: Final = 7
_MAX_EVALUATIONS: Final = 40


class DensitySearch:
    """A log density, everything that has been seen of it, and what that tells."""

    def __init__(
        self,
        log_density: Callable[[Vector], Vector],
        interval: tuple[float, float],
        *,
        tilts: Callable[[Vector], Matrix],
        depths: Vector,
        known: tuple[Vector, Vector] | None = None,
    ) -> None:
        self._log_density, self._tilts, self._depths = log_density, tilts, depths
        self._nodes: Vector = np.zeros(0)
        self._values: Vector = np.zeros(0)
        if known is None:
            self._look(np.linspace(*interval, _FIRST_LOOK))
        else:
            self.add(*known)
        self._find_ends()
        self._find_peak()

    def add(self, nodes: Vector, values: Vector) -> None:
        """Remember the density at more nodes."""
        merged = np.concatenate([self._nodes, nodes])
        self._nodes, first = np.unique(merged, return_index=True)
        self._values = np.concatenate([self._values, values])[first]

    def reach(self) -> tuple[float, float]:
        """Return the ends of what is not negligible for any moment."""
        depths = self._relative_depths()
        low = min(_entrance(self._nodes, depth) for depth in depths)
        high = max(-_entrance(-self._nodes[::-1], depth[::-1]) for depth in depths)
        return low, high

    def peak(self) -> tuple[float, float]:
        """Return mode and standard deviation of the parabola through three nodes at the peak."""
        rows = list(self._around_peak())
        (x0, x1, x2), (f0, f1, f2) = self._nodes[rows], self._values[rows]
        left, right = (f1 - f0) / (x1 - x0), (f2 - f1) / (x2 - x1)
        curvature = 2 * (left - right) / (x2 - x0)
        if curvature <= 0:
            return float(x1), float(x2 - x0)
        slope = (left * (x2 - x1) + right * (x1 - x0)) / (x2 - x0)
        mode = float(np.clip(x1 + slope / curvature, x0, x2))
        return mode, float(np.clip(1 / np.sqrt(curvature), 1e-9, x2 - x0))

    def _look(self, nodes: Vector) -> None:
        self.add(nodes, self._log_density(nodes))

    def _find_ends(self) -> None:
        """Look farther out until the ends are negligible."""
        for _ in range(_MAX_EVALUATIONS):
            low, high = self.reach()
            width = self._nodes[-1] - self._nodes[0]
            if low == self._nodes[0]:
                self._look(low - width * np.linspace(1, 0, 8, endpoint=False))
            elif high == self._nodes[-1]:
                self._look(high + width * np.linspace(1, 0, 8, endpoint=False))
            else:
                return
        msg = f"the posterior of the recovery time must be found within {_MAX_EVALUATIONS} steps"
        raise ConvergenceError(msg)

    def _find_peak(self) -> None:
        """Look closer until the peak is wider than the distance of the nodes around it."""
        for _ in range(_MAX_EVALUATIONS):
            before, _, after = self._around_peak()
            left, right = self._nodes[before], self._nodes[after]
            if self.peak()[1] > 0.2 * (right - left):
                return
            self._look(np.linspace(left, right, _CLOSER_LOOK + 2)[1:-1])

    def _relative_depths(self) -> Matrix:
        """Return how far each node lies below the highest, 1 being negligible: (moments, nodes)."""
        tilted = self._values + self._tilts(self._nodes)
        distance = np.abs(self._nodes - self._nodes[np.argmax(self._values)])
        squares = self._values + 2 * np.log(np.maximum(distance, 1e-12))
        every = np.concatenate([tilted, squares[np.newaxis]])
        allowed = np.append(self._depths, _DEPTH_OF_SQUARES)
        depths: Matrix = (every.max(axis=1, keepdims=True) - every) / allowed[:, np.newaxis]
        return depths

    def _around_peak(self) -> tuple[int, int, int]:
        """Return the highest node and the nearest ones on both sides that are clearly lower.

        Nearer ones would differ by rounding alone.
        """
        highest = int(np.clip(np.argmax(self._values), 1, len(self._nodes) - 2))
        lower = self._values < self._values[highest] - _CLEAR_DROP
        left = np.flatnonzero(lower[:highest])
        right = np.flatnonzero(lower[highest + 1 :])
        return (
            int(left[-1]) if left.size else 0,
            highest,
            highest + 1 + int(right[0]) if right.size else len(lower) - 1,
        )


def _entrance(nodes: Vector, depth: Vector) -> float:
    """Return where, coming from the left, the depth first falls to 1; the end if it begins there.

    The root of the depth is drawn as a straight line from the node outside to the one inside:
    so it is for a normal density, and for heavier tails it errs outwards.
    """
    inside = int(np.argmax(depth < 1))
    if inside == 0:
        return float(nodes[0])
    outer, inner = np.sqrt(depth[inside - 1]), np.sqrt(depth[inside])
    share = (outer - 1) / (outer - inner)
    return float(nodes[inside - 1] + share * (nodes[inside] - nodes[inside - 1]))
