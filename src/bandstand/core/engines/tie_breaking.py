"""The best of some songs by values that rounding has touched; equal ones by row.

The same song twice may get values that differ in their last digits, since a product of matrices
rounds by where in them a row stands. Such songs are made equal again, so that the smallest row
comes first, however they were computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.candidates import best_rows

if TYPE_CHECKING:
    from bandstand.core.model.history import Songs
    from bandstand.types import Indices, Vector

# Values closer than this share of their own size count as equal: they differ by rounding alone.
EQUAL: Final = 1e-12
_NEARLY_EQUAL: Final = 1e-9


def best_of(songs: Songs, rows: Indices, values: Vector, count: int) -> Indices:
    """Return those of `rows` with the `count` largest values, best first, equal ones by row."""
    if len(values) > count:
        lowest = np.partition(values, -count)[-count]
        near = np.flatnonzero(values >= lowest - 2 * _NEARLY_EQUAL * np.abs(values).max())
        rows, values = rows[near], values[near]
    order = np.argsort(rows)
    rows, values = rows[order], _made_equal(songs, rows[order], values[order])
    return rows[best_rows(_ranks(values), count, np.arange(len(rows)))]


def _ranks(values: Vector) -> Vector:
    """Return one number for each value, the larger the better, the same for equal ones."""
    order = np.argsort(values)
    rising = values[order]
    steps = np.diff(rising) > EQUAL * np.maximum(np.abs(rising[1:]), np.abs(rising[:-1]))
    ranks = np.empty(len(values))
    ranks[order] = np.concatenate([[0.0], np.cumsum(steps)])[: len(values)]
    return ranks


def _made_equal(songs: Songs, rows: Indices, values: Vector) -> Vector:
    """Return the values, the same for the same song, however rounding left them."""
    close = np.diff(np.sort(values)) <= _NEARLY_EQUAL * np.abs(values).max(initial=0.0)
    if not close.any():
        return values
    features, elapsed = songs.features_of(rows), songs.elapsed_of(rows)
    _, first, group = np.unique(
        np.column_stack([features, elapsed]), axis=0, return_index=True, return_inverse=True
    )
    return np.asarray(values[first][group.reshape(-1)])
