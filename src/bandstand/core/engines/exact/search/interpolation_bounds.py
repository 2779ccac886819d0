"""Bounds on the error of interpolation between nodes.

Between the nodes g and g + 1 the interpolant (`model/interpolation.py`) is Σ_j a_j f_j over a few
neighbours. It is right for straight lines, so a_j minus the straight line's shares sum to zero,
and so do their first moments; summing by parts twice,

    interpolant − straight line = Σ_k C_k Δ²f_k,    Δ²f_k = f_k − 2f_{k+1} + f_{k+2}

and the difference of two neighbours of a grid F times as fine is Σ_k D_k Δf_k / F. Here are the
largest |C_k| and |D_k| over all places that a finer grid can have (halves, quarters, …), so

    |interpolant − straight line| ≤ Σ_k C_k |Δ²f_k|    for numbers, vectors and quadratic forms.
"""

from functools import cache
from typing import Final

import numpy as np

from bandstand.core.engines.exact.posterior.song_mixtures import FINEST
from bandstand.core.model.interpolation import stencil
from bandstand.types import Matrix, Vector, frozen

# Rounding of the constants themselves.
_ROUNDING_MARGIN: Final = 1 + 1e-9


@cache
def bend(size: int) -> Matrix:
    """Return C for each of the size − 1 cells between the nodes: (size − 1, size − 2).

    >>> values = np.exp(-np.arange(15.0) / 5)
    >>> (bend(15) @ np.abs(np.diff(values, 2)))[6:9].round(4).tolist()
    [0.0028, 0.0023, 0.0019]
    """
    return _by_cell(size, size - 2, _bends)


@cache
def slope(size: int) -> Matrix:
    """Return D for each cell: (size − 1, size − 1)."""
    return _by_cell(size, size - 1, _slopes)


def between(values: Vector, factor: int) -> Matrix:
    """Return the interpolant at `factor` places of each cell, from its first node on.

    >>> between(np.arange(4.0), 2).round(12).tolist()
    [[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]]
    """
    size = len(values)
    points = len(stencil(size, 0.5)[1])
    windows = np.lib.stride_tricks.sliding_window_view(values, points)
    starts = np.clip(np.arange(size - 1) - (points // 2 - 1), 0, size - points)
    places = np.arange(size - 1) - starts
    fine = np.empty((size - 1, factor))
    for place in np.unique(places):
        cells = places == place
        fine[cells] = windows[starts[cells]] @ _finer_shares(points, int(place), factor).T
    return fine


@cache
def _finer_shares(points: int, place: int, factor: int) -> Matrix:
    return _shares(points, place + np.arange(factor) / factor)


def _by_cell(size: int, columns: int, of: object) -> Matrix:
    points = len(stencil(size, 0.5)[1])
    by_place = of(points)  # type: ignore[operator]
    matrix = np.zeros((size - 1, columns))
    for cell in range(size - 1):
        start = min(max(cell - (points // 2 - 1), 0), size - points)
        found = by_place[cell - start]
        matrix[cell, start : start + len(found)] = found
    result: Matrix = frozen(matrix)
    return result


@cache
def _bends(points: int) -> list[Vector]:
    """Return the largest |C_k| for each place of the cell among its neighbours."""
    found = []
    for cell in range(points - 1):
        share = np.arange(FINEST + 1) / FINEST
        rest = _shares(points, cell + share)
        rest[:, cell] -= 1 - share
        rest[:, cell + 1] -= share
        twice = np.cumsum(np.cumsum(rest, axis=1), axis=1)[:, : points - 2]
        found.append(np.abs(twice).max(axis=0, initial=0.0) * _ROUNDING_MARGIN)
    return found


@cache
def _slopes(points: int) -> list[Vector]:
    """Return the largest |D_k| for each place of the cell among its neighbours."""
    found = []
    for cell in range(points - 1):
        shares = _shares(points, cell + np.arange(FINEST + 1) / FINEST)
        once = np.cumsum(FINEST * np.diff(shares, axis=0), axis=1)[:, : points - 1]
        found.append(np.abs(once).max(axis=0) * _ROUNDING_MARGIN)
    return found


def _shares(points: int, places: Vector) -> Matrix:
    """Return Lagrange's a_j at `places` for nodes 0 … points − 1: (places, points)."""
    nodes = np.arange(points)
    shares = np.ones((len(places), points))
    for node in nodes:
        others = nodes[nodes != node]
        shares[:, node] = ((places[:, np.newaxis] - others) / (node - others)).prod(axis=1)
    return shares
