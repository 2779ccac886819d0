"""Ratings of the same items by several people, of a file or simulated; each item once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

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
from bandstand.core.model.history import Songs
from bandstand.core.model.scaling import LARGEST_FEATURE, Standardiser
from bandstand.errors import InvalidInputError
from bandstand.types import Indices, Matrix, Vector, frozen
from bandstand_lab.simulation.listener import SimulatedListener, StarListener

_REQUIRED: Final = ("item_id", "rating")
_OPTIONAL: Final = ("rater", "time")  # the time is not used
_LOWEST, _HIGHEST = 1.0, 5.0  # stars
# Minutes since an item was met: so long that 1 − exp(−t/s) is 1 for every recovery time.
UNHEARD: Final = 1e30
# The rater of a file without names.
ONLY_RATER: Final = "only rater"


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


class _Said(NamedTuple):
    line: int
    rating: float


def read_rated_items(items_path: Path, ratings_path: Path, *, folds: int) -> RatedItems:
    """Return the items of one file, standardised, and their ratings of another.

    Every rater must have rated at least as many items as there are folds.
    """
    items = read_items(items_path, limit=LARGEST_FEATURE)
    row_of = {item: row for row, item in enumerate(items.ids)}
    said = _read_ratings(ratings_path, row_of)
    _check_counts(ratings_path, said, folds)
    return RatedItems(
        features=frozen(Standardiser.fit(items.features).apply(items.features)),
        raters=tuple(_rater(name, by_row) for name, by_row in said.items()),
    )


def _read_ratings(path: Path, row_of: Mapping[str, int]) -> dict[str, dict[int, _Said]]:
    """Return each rater's ratings by item, with their lines."""
    top, header, rows = read_table(path, "item_id,rating and perhaps rater")
    check_columns(path, top, header, required=_REQUIRED, optional=_OPTIONAL)
    item_place, rating_place = (header.index(name) for name in _REQUIRED)
    rater_place = header.index("rater") if "rater" in header else None
    said: dict[str, dict[int, _Said]] = {}
    for line, fields in rows:
        name = ONLY_RATER if rater_place is None else fields[rater_place]
        row = row_of[known_id(path, line, fields[item_place], row_of)]
        rating = _on_scale(path, line, fields[rating_place])
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


def _on_scale(path: Path, line: int, field: str) -> float:
    rating = number(path, line, "rating", field, float("inf"))
    if not _LOWEST <= rating <= _HIGHEST:
        expected = f"rating must be on the scale from {_LOWEST:g} to {_HIGHEST:g}"
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


# ── Simulated raters, in the design of the paper: 400 songs, 1 to 5 stars ────────────────
# A rater's feeling about an unheard song is 3 + a·(d'x) + noise, where d is a direction of taste,
# and the answer is the nearest number of stars. How much of the feeling's variance comes from the
# features is the `share`, which is not known beforehand for real people.


PAPER_RATERS: Final = 52
PAPER_SONGS: Final = 400
PAPER_FEATURES: Final = 91
PAPER_CONTENT_RMSE: Final = 1.10
PAPER_RANDOM_RMSE: Final = 1.61
# Random draws are off by √2 standard deviations, so the paper's ratings had this one.
PAPER_SPREAD: Final = PAPER_RANDOM_RMSE / math.sqrt(2)
# Stars have that standard deviation where the feeling has this one.
FEELING_SPREAD: Final = 1.1894477092950957
_MIDDLE: Final = 3.0


def _simulated_rater(features: Matrix, rng: np.random.Generator, name: str, share: float) -> Rater:
    """Return one rater of all songs; the last of their standardised features is a constant 1."""
    if not 0 <= share <= 1:
        msg = f"the share of the features must be between 0 and 1, got {share}"
        raise InvalidInputError(msg)
    direction = rng.standard_normal(features.shape[1] - 1)
    liking = features[:, :-1] @ direction
    taste = direction * (math.sqrt(share) * FEELING_SPREAD / float(liking.std()))
    listener = StarListener(
        feeling=SimulatedListener(
            preference=frozen(np.append(taste, _MIDDLE)),
            recovery_time=1.0,  # of no consequence: nothing has been heard
            noise_standard_deviation=math.sqrt(1 - share) * FEELING_SPREAD,
        )
    )
    stars = listener.rate(Songs.of(features=features, elapsed=UNHEARD), rng)
    return Rater(name=name, rows=np.arange(len(features)), ratings=frozen(stars))


def simulated_ratings(
    *,
    share: float,
    seed: int,
    raters: int = PAPER_RATERS,
    songs: int = PAPER_SONGS,
    columns: int = PAPER_FEATURES,
    first: int = 0,
) -> RatedItems:
    """Return the ratings of simulated people; the numbers of the raters start from `first`.

    A rater depends on the seed, the number and the share alone.
    """
    drawn = _stream(seed, 0).standard_normal((songs, columns))
    features: Matrix = np.column_stack([drawn, np.ones(songs)])
    return RatedItems(
        features=frozen(features),
        raters=tuple(
            _simulated_rater(features, _stream(seed, 1, number), f"rater {number + 1}", share)
            for number in range(first, first + raters)
        ),
    )


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2, *key)))
