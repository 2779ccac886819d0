"""Where to put the nodes of the quadrature over y = log s, and whether they still do.

The trapezoid sum of a smooth, peaked function converges exponentially: halving the
spacing squares the relative error. So the sum over every other node tells how good the
sum over all nodes is, at no cost, and the grid can follow the posterior as it narrows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import ConvergenceError
from bandstand.model import interpolation

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.arrays import Vector

# Sizes to try: odd, so that every other node still reaches both ends.
SIZES: Final = (33, 49, 65, 97, 129, 257)
# A node this many nats below the highest carries less than 1e-12 of the weight.
_DEPTH: Final = 28.0
# Every other node must agree this well, so that all nodes agree to about its square.
_HALF_RULE: Final = 2e-5
# More weight than this at an end says that the grid has lost some of the posterior.
_END_WEIGHT: Final = 1e-9
_SEARCH_NODES: Final = 13  # odd, so that every other one reaches both ends
_ZOOM: Final = 64
# So well, in nats near the peak, must a coarse polynomial foretell the density.
_FORETOLD: Final = 0.5
_MOST_PASSES: Final = 60


def weights(log_density: Vector) -> Vector:
    """Return the share of each node of an evenly spaced grid in the integral of the density."""
    with np.errstate(under="ignore"):
        relative = np.exp(np.maximum(log_density - log_density.max(), -700.0))
        return np.asarray(relative / relative.sum())


def is_fine(log_density: Vector, nodes: Vector) -> bool:
    """Return whether the spacing resolves the density, by leaving out every other node."""
    share = weights(log_density)
    half = share[::2]
    distance = nodes - share @ nodes
    spread = share @ distance**2
    return bool(
        abs(2 * half.sum() - 1) < _HALF_RULE
        and abs(2 * (half @ distance[::2] ** 2) - spread) < _HALF_RULE * spread
    )


def is_wide(log_density: Vector) -> bool:
    """Return whether the grid reaches far enough on both sides."""
    share = weights(log_density)
    return bool(share[0] < _END_WEIGHT and share[-1] < _END_WEIGHT)


def locate(
    log_density: Callable[[Vector], Vector], interval: tuple[float, float]
) -> tuple[float, float]:
    """Return the interval outside of which the density is negligible, starting from a guess.

    It zooms in on a narrow posterior and widens where the data contradict the prior. Every
    evaluation costs a factorisation, so as soon as a polynomial through the nodes predicts
    the density between them, the polynomial is asked instead.
    """
    low, high = interval
    for _ in range(_MOST_PASSES):
        nodes = np.linspace(low, high, _SEARCH_NODES)
        density = log_density(nodes)
        first, last = _seen(density)
        if first == 0 or last == _SEARCH_NODES - 1:
            width = high - low
            low, high = low - width * (first == 0), high + width * (last == _SEARCH_NODES - 1)
            continue
        if _is_predictable(density, first, last):
            finer = interpolation.refinement(_SEARCH_NODES, _ZOOM)
            between, curve = finer @ nodes, finer @ density
            left, right = _seen(curve)
            if right - left >= _SEARCH_NODES:
                return float(between[left - 1]), float(between[right + 1])
        elif last - first >= _SEARCH_NODES // 2:
            return float(nodes[first - 1]), float(nodes[last + 1])
        low, high = nodes[first - 1], nodes[last + 1]
    msg = f"the posterior of the recovery time must be found within {_MOST_PASSES} passes"
    raise ConvergenceError(msg)


def _seen(density: Vector) -> tuple[int, int]:
    """Return the first and the last node that are not negligible."""
    seen = np.flatnonzero(density > density.max() - _DEPTH)
    return int(seen[0]), int(seen[-1])


def _is_predictable(density: Vector, first: int, last: int) -> bool:
    """Return whether a polynomial through every other node foretells the nodes between them."""
    half = interpolation.refinement(len(density[::2]), 2) @ density[::2]
    near = slice(first - 1, last + 2)
    depth = density.max() - density[near]
    return bool((np.abs(half - density)[near] < _FORETOLD * (1 + 0.2 * depth)).all())
