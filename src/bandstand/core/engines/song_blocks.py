"""A catalogue taken some songs at a time, so that memory does not grow with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.core.model.songs import Songs
    from bandstand.types import Indices, Vector

BLOCK: Final = 4_096


def blocks(count: int, size: int = BLOCK) -> Iterator[slice]:
    """Yield consecutive slices that cover `count` songs.

    >>> list(blocks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def row_blocks(rows: Indices, size: int = BLOCK) -> Iterator[Indices]:
    """Yield `rows`, at most `size` of them at a time."""
    for some in blocks(len(rows), size):
        yield rows[some]


def content(songs: Songs, preference: Vector) -> Vector:
    """Return θ'x of each song, in double precision: (S,)."""
    values = np.empty(len(songs))
    with np.errstate(under="ignore"):
        for rows in blocks(len(songs)):
            values[rows] = songs.features_of(rows) @ preference
    return values
