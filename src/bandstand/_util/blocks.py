"""Consecutive blocks of a long range, so that no more than one of them is in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.types import Indices


def blocks(count: int, size: int) -> Iterator[slice]:
    """Yield slices of `size` that together are the range from 0 to `count`; the last may be less.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def row_blocks(rows: Indices, size: int) -> Iterator[Indices]:
    """Yield `rows`, at most `size` of them at a time."""
    for some in blocks(len(rows), size):
        yield rows[some]
