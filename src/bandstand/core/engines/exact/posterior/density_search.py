"""Where a density of one variable has its peak and how far it reaches, from few looks at it.

Each look costs a factorisation for every place, so all values are kept and used again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import ConvergenceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.types import Matrix, Vector

# Tails that fall like a power may hold some of the variance long after the density itself is
# negligible: this many nats below its highest, the density times distance squared is too.
_DEPTH_OF_SQUARES: Final = 20.0
# Nats below the peak at which its width is measured.
_CLEARLY: Final = 0.7
_FIRST_LOOK: Final = 17
_CLOSER_LOOK: Final = 7
_MOST_LOOKS: Final = 40


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
        for _ in range(_MOST_LOOKS):
            low, high = self.reach()
            width = self._nodes[-1] - self._nodes[0]
            if low == self._nodes[0]:
                self._look(low - width * np.linspace(1, 0, 8, endpoint=False))
            elif high == self._nodes[-1]:
                self._look(high + width * np.linspace(1, 0, 8, endpoint=False))
            else:
                return
        msg = f"the posterior of the recovery time must be found within {_MOST_LOOKS} looks"
        raise ConvergenceError(msg)

    def _find_peak(self) -> None:
        """Look closer until the peak is wider than the distance of the nodes around it."""
        for _ in range(_MOST_LOOKS):
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
        lower = self._values < self._values[highest] - _CLEARLY
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
