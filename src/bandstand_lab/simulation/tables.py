"""CSV files for worlds: the features of real songs, and people's liking of genres.

An error names the file and the line.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand._util.csv_tables import check_columns, number, read_items, read_table, refuse, shown
from bandstand.core.model.scaling import LARGEST_FEATURE
from bandstand.types import frozen
from bandstand_lab.simulation.worlds import HIGHEST_LIKING, LOWEST_LIKING

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand._util.csv_tables import Row
    from bandstand.types import Matrix

# Names of songs: `id` in a table of items, `file` in what `bandstand features --csv` writes.
_SONG_NAMES: Final = ("id", "file")
# Names of people, and questions of the Young People Survey about music that are of no genre.
_NO_GENRES: Final = ("person", "id", "Music", "Slow songs or fast songs")


def read_feature_table(path: Path) -> Matrix:
    """Return the features of all songs of a file: a column `id` or `file`, otherwise numbers."""
    return read_items(path, limit=LARGEST_FEATURE, id_columns=_SONG_NAMES).features


def read_tastes(path: Path) -> Matrix:
    """Return how much each person likes each genre, from 1 to 5: (people, genres).

    Each column is a genre, but for the names of the people (`person` or `id`). A genre without
    an answer counts as the mean of that person's others.
    """
    top, header, rows = read_table(path, "a column for each genre")
    check_columns(path, top, header, required=())
    genres = [place for place, name in enumerate(header) if name not in _NO_GENRES]
    if not genres:
        refuse(path, top, "there must be a column for at least one genre, got none")
    people = [_likings(path, header, genres, row) for row in rows]
    if not people:
        refuse(path, None, "there must be at least one person, got none")
    likings: Matrix = frozen(people)
    return likings


def _likings(path: Path, header: list[str], genres: list[int], row: Row) -> list[float]:
    said = [_liking(path, header[place], row.line, row.fields[place]) for place in genres]
    known = [value for value in said if not math.isnan(value)]
    if not known:
        refuse(path, row.line, "a person must have said something about a genre, got nothing")
    mean = float(np.mean(known))
    return [mean if math.isnan(value) else value for value in said]


def _liking(path: Path, genre: str, line: int, field: str) -> float:
    """Return what was said about a genre; NaN for nothing."""
    if not field.strip():
        return math.nan
    value = number(path, line, shown(genre), field, math.inf)
    if not LOWEST_LIKING <= value <= HIGHEST_LIKING:
        scale = f"from {LOWEST_LIKING:g} to {HIGHEST_LIKING:g}"
        refuse(path, line, f"{shown(genre)} must be {scale}, got {shown(field)}")
    return value
