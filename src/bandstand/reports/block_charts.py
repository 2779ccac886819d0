"""Small charts made of block characters, as rows of text from top to bottom.

An eighth of a character's height is the smallest step, so even two rows show sixteen levels.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_SHADE: Final = "░"
# A mark in every third column leaves the curve to be seen.
_MARK_EVERY: Final = 3
_MARK_EIGHTHS: Final = 4


class Ink(Enum):
    """What a cell of a chart shows, so that it can be given a colour."""

    NOTHING = " "
    FILLED = "filled"
    BAND = "band"
    MARK = "mark"
    MARK_ON_FILLED = "mark on filled"
    BELOW_MARK = "nothing, with a mark above it in the same cell"
    FILLED_BELOW_MARK = "filled, with a mark above it in the same cell"


def bars(values: Sequence[float | None], *, rows: int, low: float, high: float) -> list[str]:
    """Return a bar for each value on a scale from `low` to `high`; None leaves a gap.

    A value that exists always leaves a trace, however low it is.

    >>> bars([1.0, 2.0, None, 5.0], rows=2, low=1.0, high=5.0)
    ['   █', '▁▄ █']
    """
    heights = [_height(value, rows=rows, low=low, high=high) for value in values]
    return [
        "".join(_EIGHTHS[_within(height, row)] for height in heights)
        for row in reversed(range(rows))
    ]


def spread_out(values: Sequence[float | None], *, total: int, columns: int) -> list[float | None]:
    """Return one value per column, so that `total` values would fill all columns.

    Of the values that fall into one column the last one is shown.

    >>> spread_out([1.0, 2.0, 3.0, 4.0], total=8, columns=4)
    [2.0, 4.0, None, None]
    """
    ends = [math.ceil((column + 1) * total / columns) for column in range(columns)]
    starts = [math.floor(column * total / columns) for column in range(columns)]
    return [
        values[min(end, len(values)) - 1] if start < len(values) else None
        for start, end in zip(starts, ends, strict=True)
    ]


def band(
    lower: Sequence[float],
    middle: Sequence[float],
    upper: Sequence[float],
    marks: Sequence[float],
    *,
    rows: int,
) -> list[list[tuple[str, Ink]]]:
    """Return a filled curve with a shaded band around it and marks on top, values 0 to 1.

    A mark ends at its value, and is about half a row thick. Where the band is thinner than a
    row, the curve itself is drawn, to an eighth of a row.
    """
    chart = [
        [
            _curve_cell(*(rows * value for value in column), row=row)
            for column in zip(lower, middle, upper, strict=True)
        ]
        for row in range(rows)
    ]
    for column in range(_MARK_EVERY // 2, len(marks), _MARK_EVERY):
        top = max(round(8 * rows * marks[column]), _MARK_EIGHTHS)
        for row in {(top - _MARK_EIGHTHS) // 8, (top - 1) // 8}:
            chart[row][column] = _marked(chart[row][column][0], top=top, row=row)
    return chart[::-1]


def _marked(below: str, *, top: int, row: int) -> tuple[str, Ink]:
    """Return a cell with the part of a mark that falls into that row, `below` being there."""
    filled = _EIGHTHS.find(below)  # -1 for the shade of a band
    start, end = _within(top - _MARK_EIGHTHS, row), _within(top, row)
    if start and end == 8:
        # A character fills its cell from below, so here it is what is not marked.
        return _EIGHTHS[start], Ink.FILLED_BELOW_MARK if filled >= start else Ink.BELOW_MARK
    return _EIGHTHS[end], Ink.MARK_ON_FILLED if filled == 8 else Ink.MARK


def _curve_cell(lower: float, middle: float, upper: float, *, row: int) -> tuple[str, Ink]:
    thick = upper - lower >= 1
    if thick and lower < row + 0.5 < upper:
        return _SHADE, Ink.BAND
    eighths = _within(round(8 * (lower if thick else middle)), row)
    return _EIGHTHS[eighths], Ink.FILLED if eighths else Ink.NOTHING


def _height(value: float | None, *, rows: int, low: float, high: float) -> int:
    """Return the height of a bar in eighths of a row."""
    if value is None:
        return 0
    share = (value - low) / (high - low)
    return max(1, round(8 * rows * min(share, 1.0)))


def _within(height: int, row: int) -> int:
    """Return how many eighths of that row, counted from the bottom, a bar fills."""
    return min(max(height - 8 * row, 0), 8)
