"""Values between the nodes of an evenly spaced grid, for functions that are smooth on it."""

from functools import lru_cache
from math import comb
from typing import Final

import numpy as np

from bandstand.types import Indices, Matrix, Vector, frozen

# Twelve neighbours: polynomials up to degree eleven are exact.
_POINTS: Final = 12
_FULL_PRECISION: Final = 37.0  # −log of the rounding error of a double


@lru_cache(maxsize=12)  # each may take 16 MB
def refinement(size: int, factor: int) -> Matrix:
    """Return the matrix that takes values on `size` nodes to a grid `factor` times as fine.

    The result has factor·(size − 1) + 1 rows; every `factor`-th of them is an old node.

    >>> (refinement(9, 2) @ np.arange(9.0) ** 2)[:4].round(12).tolist()
    [0.0, 0.25, 1.0, 2.25]
    """
    places = np.arange(factor * (size - 1) + 1) / factor
    starts, shares = _stencils(size, places)
    matrix = np.zeros((len(places), size))
    columns = starts[:, np.newaxis] + np.arange(shares.shape[1])
    matrix[np.arange(len(places))[:, np.newaxis], columns] = shares
    fine: Matrix = frozen(matrix)
    return fine


def stencil(size: int, place: float) -> tuple[int, Vector]:
    """Return the first node and the shares of it and its neighbours in the value at `place`.

    `place` counts in nodes: 2.5 is half-way between the nodes 2 and 3. Barycentric form.
    """
    starts, shares = _stencils(size, np.array([place]))
    return int(starts[0]), shares[0]


def _stencils(size: int, places: Vector) -> tuple[Indices, Matrix]:
    """Return the first nodes, and the shares of them and their neighbours, at many places."""
    points = min(_POINTS, size)
    starts = np.clip(places.astype(np.intp) - (points // 2 - 1), 0, size - points)
    distance = (places - starts)[:, np.newaxis] - np.arange(points)
    hit = distance == 0
    signs = np.array([(-1.0) ** k * comb(points - 1, k) for k in range(points)])
    shares = signs / np.where(hit, 1.0, distance)
    shares /= shares.sum(axis=1, keepdims=True)
    on_node = hit.any(axis=1)
    shares[on_node] = hit[on_node]
    return starts, shares


def chebyshev(places: Vector, strip: float) -> tuple[Vector, Matrix]:
    """Return nodes, and the matrix that takes values there to values at `places`.

    For functions that are analytic within `strip` of the real axis there are just as many nodes
    as full precision needs: the fewer, the closer together the places are.
    """
    low, high = float(places.min()), float(places.max())
    half = 0.5 * (high - low)
    if half == 0:
        return places[:1], np.ones((len(places), 1))
    # An interpolant through n + 1 Chebyshev points is off by about ρ⁻ⁿ.
    decay = np.arcsinh(strip / half)  # log ρ
    count = max(2, int(np.ceil(_FULL_PRECISION / decay)))
    angles = np.pi * np.arange(count + 1) / count
    nodes = 0.5 * (low + high) + half * np.cos(angles)
    signs = np.where(np.arange(count + 1) % 2, -1.0, 1.0)
    signs[[0, -1]] *= 0.5
    distance = places[:, np.newaxis] - nodes
    hit = distance == 0
    share = signs / np.where(hit, 1.0, distance)
    matrix = share / share.sum(axis=1, keepdims=True)
    on_node = hit.any(axis=1)
    matrix[on_node] = hit[on_node]
    return nodes, matrix
