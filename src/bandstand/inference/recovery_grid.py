"""Where to put the nodes of the quadrature over y = log s, and whether they still serve.

    y = centre + scale · sinh(v),    v evenly spaced

Nodes crowd around the peak and thin out towards the tails, so that a narrow peak with long
tails (few ratings, hardly any noise) is resolved as well as a broad one. The trapezoid sum
over v of a smooth, peaked function converges exponentially: halving the spacing squares the
relative error. So the sum over every other node tells how good the sum over all nodes
is, at no cost, and the grid can follow the posterior as it narrows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.arrays import frozen
from bandstand.errors import ConvergenceError
from bandstand.model import interpolation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bandstand.arrays import Vector

# Sizes to try; each grid also tells where the next one should be. They are odd, so that
# every other node still reaches both ends.
_SIZES: Final = (33, 49, 65, 97, 129, 257, 513)
# Predictions weigh the posterior by powers of novelty, which for songs just heard is about
# t/s. No song is asked about sooner than this many minutes (in logarithms) after its play.
_SOONEST: Final = float(np.log(1e-3))
# A node this many nats below the highest carries less than 1e-12 of the weight.
_DEPTH: Final = 28.0
_DEPTH_OF_SQUARES: Final = 20.0
# Every other node must agree this well, so that all nodes agree to about its square.
_HALF_RULE: Final = 5e-6
# More weight than this at an end says that the grid has lost some of the posterior.
_END_WEIGHT: Final = 1e-9
# From the peak to where the nodes begin to thin out, in standard deviations.
_CORE: Final = 3.0
# Nats below the peak at which its width is measured.
_CLEARLY: Final = 0.7
_LARGEST_LOGARITHM: Final = 690.0
_FIRST_LOOK: Final = 17
_CLOSER_LOOK: Final = 7
_MOST_LOOKS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
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

    def log_stretch(self) -> Vector:
        """Return log dy/dv at the nodes, which turns a density of y into one of v."""
        return np.asarray(np.log(self.scale * np.cosh(self.places)))

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
    with np.errstate(under="ignore"):
        relative = np.exp(np.maximum(log_density - log_density.max(), -700.0))
        return np.asarray(relative / relative.sum())


def serves(grid: RecoveryGrid, log_density: Vector) -> bool:
    """Return whether the grid resolves a density of v and reaches far enough on both sides."""
    tilted = _tilted(log_density, grid.log_times(grid.places))
    return all(_is_wide(share) and _is_fine(share, grid.places) for share in map(weights, tilted))


def _is_wide(share: Vector) -> bool:
    return bool(share[0] < _END_WEIGHT and share[-1] < _END_WEIGHT)


def _is_fine(share: Vector, places: Vector) -> bool:
    """Return whether every other node tells the same as all of them."""
    distance = places - share @ places
    spread = share @ distance**2
    half = share[::2]
    return bool(
        abs(2 * half.sum() - 1) < _HALF_RULE
        and abs(2 * (half @ distance[::2] ** 2) - spread) < _HALF_RULE * spread
    )


def _tilted(log_density: Vector, log_times: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the density, and the density times s² and times s⁻², which moments are made of."""
    return (
        log_density,
        np.asarray(log_density + 2 * log_times),
        np.asarray(log_density - 2 * np.logaddexp(log_times, _SOONEST)),
    )


def candidates(
    log_density: Callable[[Vector], Vector], interval: tuple[float, float]
) -> Iterator[tuple[RecoveryGrid, Callable[[Vector], None]]]:
    """Yield grids for a density of y, each with a function that takes back what it showed.

    The caller stops at the first that serves. `interval` is where to look first; it is
    widened where the data contradict the prior.
    """
    seen = _Seen(log_density, interval)
    for size in _SIZES:
        grid = seen.proposal(size)
        yield grid, lambda values, grid=grid: seen.add(grid.log_times(grid.places), values)  # type: ignore[misc]


class _Seen:
    """All values of the density so far: each evaluation costs a factorisation."""

    def __init__(
        self, log_density: Callable[[Vector], Vector], interval: tuple[float, float]
    ) -> None:
        self._log_density = log_density
        self._nodes: Vector = np.zeros(0)
        self._values: Vector = np.zeros(0)
        self._look(np.linspace(*interval, _FIRST_LOOK))
        for _ in range(_MOST_LOOKS):
            low, high = self._reach()
            width = self._nodes[-1] - self._nodes[0]
            if low == self._nodes[0]:
                self._look(low - width * np.linspace(1, 0, 8, endpoint=False))
            elif high == self._nodes[-1]:
                self._look(high + width * np.linspace(1, 0, 8, endpoint=False))
            else:
                break
        else:
            msg = f"the posterior of the recovery time must be found within {_MOST_LOOKS} looks"
            raise ConvergenceError(msg)
        for _ in range(_MOST_LOOKS):
            before, _, after = self._around_peak()
            left, right = self._nodes[before], self._nodes[after]
            if self._peak()[1] > 0.2 * (right - left):
                break
            self._look(np.linspace(left, right, _CLOSER_LOOK + 2)[1:-1])

    def add(self, nodes: Vector, values: Vector) -> None:
        """Remember the density at more nodes."""
        merged = np.concatenate([self._nodes, nodes])
        self._nodes, first = np.unique(merged, return_index=True)
        self._values = np.concatenate([self._values, values])[first]

    def proposal(self, size: int) -> RecoveryGrid:
        """Return the grid that suits what has been seen."""
        low, high = self._reach()
        centre, deviation = self._peak()
        scale = _CORE * deviation
        ends = np.arcsinh((np.array([low, high]) - centre) / scale)
        return RecoveryGrid(
            centre=centre, scale=scale, places=frozen(np.linspace(ends[0], ends[1], size))
        )

    def _look(self, nodes: Vector) -> None:
        self.add(nodes, self._log_density(nodes))

    def _reach(self) -> tuple[float, float]:
        """Return the ends of what is not negligible, for no moment."""
        tilted = _tilted(self._values, self._nodes)
        seen = np.any([each > each.max() - _DEPTH for each in tilted], axis=0)
        # Tails that fall like a power may hold some of the variance long after the density
        # itself is negligible.
        distance = np.abs(self._nodes - self._nodes[np.argmax(self._values)])
        squares = self._values + 2 * np.log(np.maximum(distance, 1e-12))
        seen = np.flatnonzero(seen | (squares > squares.max() - _DEPTH_OF_SQUARES))
        last = len(self._nodes) - 1
        return float(self._nodes[max(seen[0] - 1, 0)]), float(self._nodes[min(seen[-1] + 1, last)])

    def _around_peak(self) -> tuple[int, int, int]:
        """Return the highest node and the nearest ones on both sides that are clearly lower.

        Nearer ones would differ by rounding alone.
        """
        highest = int(np.clip(np.argmax(self._values), 1, len(self._nodes) - 2))
        lower = self._values < self._values[highest] - _CLEARLY
        left = np.flatnonzero(lower[:highest])
        right = np.flatnonzero(lower[highest + 1 :])
        return (
            int(left[-1]) if left.size else 0,
            highest,
            highest + 1 + int(right[0]) if right.size else len(lower) - 1,
        )

    def _peak(self) -> tuple[float, float]:
        """Return mode and standard deviation of the parabola through those three nodes."""
        rows = list(self._around_peak())
        (x0, x1, x2), (f0, f1, f2) = self._nodes[rows], self._values[rows]
        left, right = (f1 - f0) / (x1 - x0), (f2 - f1) / (x2 - x1)
        curvature = 2 * (left - right) / (x2 - x0)
        if curvature <= 0:
            return float(x1), float(x2 - x0)
        slope = (left * (x2 - x1) + right * (x1 - x0)) / (x2 - x0)
        mode = float(np.clip(x1 + slope / curvature, x0, x2))
        return mode, float(np.clip(1 / np.sqrt(curvature), 1e-9, x2 - x0))
