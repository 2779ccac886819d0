"""The history of ratings of `bandstand recommend`, as a CSV file.

Whatever is wrong with a file is said in one sentence that names the file and the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from bandstand._util.csv_tables import (
    Items,
    check_columns,
    known_id,
    number,
    read_items,
    read_table,
    refuse,
    shown,
)
from bandstand._util.timestamps import seconds_of
from bandstand.core.model.history import RATING_LIMIT
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Container
    from decimal import Decimal
    from pathlib import Path

__all__ = ["HistoryRow", "Items", "read_history", "read_items"]

_REQUIRED: Final = ("item_id", "time", "rating")
_OPTIONAL: Final = ("weight",)


class HistoryRow(NamedTuple):
    """One rating, as the file has it."""

    item_id: str
    time: Decimal  # seconds since the epoch
    rating: float
    weight: float


def read_history(path: Path, *, ids: Container[str]) -> list[HistoryRow]:
    """Return the ratings of a file with the columns `item_id,time,rating[,weight]`, in order."""
    top, header, rows = read_table(path, "item_id,time,rating and perhaps weight")
    check_columns(path, top, header, required=_REQUIRED, optional=_OPTIONAL)
    places = [header.index(name) for name in _REQUIRED]
    weight_place = header.index("weight") if "weight" in header else None
    history: list[HistoryRow] = []
    for line, fields in rows:
        item, time, rating = (fields[place] for place in places)
        weight = "1" if weight_place is None else fields[weight_place]
        row = HistoryRow(
            item_id=known_id(path, line, item, ids),
            time=_time(path, line, time),
            rating=number(path, line, "rating", rating, RATING_LIMIT),
            weight=number(path, line, "weight", weight, RATING_LIMIT),
        )
        if row.weight < 0:
            refuse(path, line, f"weight must not be negative, got {shown(weight)}")
        if history and row.time < history[-1].time:
            refuse(path, line, f"times must be in order, got {shown(time)} after a later one")
        history.append(row)
    return history


def _time(path: Path, line: int, field: str) -> Decimal:
    try:
        return seconds_of(field)
    except InvalidInputError as problem:
        refuse(path, line, str(problem))
