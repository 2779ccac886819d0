"""Ratings of several people for the same items, each item once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand._util.csv_tables import (
    check_columns,
    checked_id,
    known_id,
    number,
    read_items,
    read_table,
    refuse,
    shown,
)
from bandstand.core.model.scaling import LARGEST_FEATURE, Standardiser
from bandstand.errors import InvalidInputError
from bandstand.types import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bandstand.types import Indices, Matrix, Vector

_REQUIRED: Final = ("item_id", "rating")
_OPTIONAL: Final = ("rater", "time")  # the time is not used
# The rater of a file without names.
ONLY_RATER: Final = "only rater"


class Scale(NamedTuple):
    """The lowest and the highest rating that can be given."""

    lowest: float = 1.0
    highest: float = 5.0


FIVE_STARS: Final = Scale()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """The ratings of one person, in the order of the items."""

    name: str
    rows: Indices  # of the items
    ratings: Vector

    def __len__(self) -> int:
        return len(self.ratings)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedItems:
    """Items on the scale that the priors expect, with a constant 1, and who rated which."""

    features: Matrix
    raters: tuple[Rater, ...]

    def __post_init__(self) -> None:
        """Refuse ratings without a rater."""
        if not self.raters:
            msg = "there must be at least one rater, got none"
            raise InvalidInputError(msg)

    @property
    def columns(self) -> int:
        """How many features an item has, without the constant."""
        return self.features.shape[1] - 1


class _Said(NamedTuple):
    line: int
    rating: float


def read_rated_items(
    items_path: Path, ratings_path: Path, *, folds: int, scale: Scale = FIVE_STARS
) -> RatedItems:
    """Return the items of one file, standardised, and their ratings of another.

    Every rater must have rated at least as many items as there are folds.
    """
    items = read_items(items_path, limit=LARGEST_FEATURE)
    row_of = {item: row for row, item in enumerate(items.ids)}
    said = _read_ratings(ratings_path, row_of, scale)
    _check_counts(ratings_path, said, folds)
    return RatedItems(
        features=frozen(Standardiser.fit(items.features).apply(items.features)),
        raters=tuple(_rater(name, by_row) for name, by_row in said.items()),
    )


def _read_ratings(
    path: Path, row_of: Mapping[str, int], scale: Scale
) -> dict[str, dict[int, _Said]]:
    """Return each rater's ratings by item, with their lines."""
    top, header, rows = read_table(path, "item_id,rating and perhaps rater")
    check_columns(path, top, header, required=_REQUIRED, optional=_OPTIONAL)
    item_place, rating_place = (header.index(name) for name in _REQUIRED)
    rater_place = header.index("rater") if "rater" in header else None
    said: dict[str, dict[int, _Said]] = {}
    for line, fields in rows:
        name = ONLY_RATER if rater_place is None else fields[rater_place]
        row = row_of[known_id(path, line, fields[item_place], row_of)]
        rating = _on_scale(path, line, fields[rating_place], scale)
        by_row = said.setdefault(checked_id(path, line, "rater", name), {})
        if row in by_row:
            who = "" if rater_place is None else f" by {shown(name)}"
            refuse(
                path,
                line,
                f"an item must be rated once, got {shown(fields[item_place])} again{who} "
                f"as in line {by_row[row].line}",
            )
        by_row[row] = _Said(line, rating)
    if not said:
        refuse(path, None, "there must be at least one rating, got none")
    return said


def _on_scale(path: Path, line: int, field: str, scale: Scale) -> float:
    rating = number(path, line, "rating", field, float("inf"))
    if not scale.lowest <= rating <= scale.highest:
        expected = f"rating must be on the scale from {scale.lowest:g} to {scale.highest:g}"
        refuse(path, line, f"{expected}, got {shown(field)}")
    return rating


def _check_counts(path: Path, said: Mapping[str, Mapping[int, _Said]], folds: int) -> None:
    for name, by_row in said.items():
        if len(by_row) < folds:
            last = max(each.line for each in by_row.values())
            refuse(
                path,
                last,
                f"every rater must have at least as many ratings as there are folds ({folds}), "
                f"got {len(by_row)} of {shown(name)}, the last one here",
            )


def _rater(name: str, by_row: Mapping[int, _Said]) -> Rater:
    rows = sorted(by_row)
    return Rater(
        name=name,
        rows=np.array(rows, dtype=np.intp),
        ratings=frozen([by_row[row].rating for row in rows]),
    )
