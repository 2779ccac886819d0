"""One real person: what share of the songs that a player chooses is liked.

    python -m bandstand_lab.people.person CSV [STARTS]

The CSV has a row for each song: `liked` is 1 or 0, `artist` a name or a number, every other column
but `song` a feature. A liked song is answered with five stars, another with one. Each start begins
with a song drawn at random; no song is played twice, nor an artist of the last five songs.
"""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from bandstand.core.model.song_groups import identities
from bandstand.errors import InvalidInputError
from bandstand.types import Vector
from bandstand_lab.people.battery import LOOKS, session
from bandstand_lab.people.rivals import BEFORE, OURS, PLAYERS
from bandstand_lab.people.worlds import GENRES, Library, Taste
from bandstand_lab.statistics.summaries import mean_estimate

_LIKED, _OTHER = 5.0, 1.0  # stars
_NO_FEATURES: Final = frozenset({"song", "artist", "liked"})
_SEED: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Likes(Taste):
    """Someone of whom is known what is liked: `expected` is 1 for those songs, 0 for others."""

    def rating(self, row: int, step: int, rng: np.random.Generator) -> float:
        """Return the stars of a song."""
        del rng
        return _LIKED if self.expected(step)[row] else _OTHER


def read(path: Path) -> tuple[Library, Likes]:
    """Return the songs of a file, and who likes some of them."""
    with path.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    if not rows or not {"artist", "liked"} <= set(rows[0]):
        msg = (
            f"{path} must have rows with artist and liked, got {list(rows[0]) if rows else 'none'}"
        )
        raise InvalidInputError(msg)
    names = [name for name in rows[0] if name not in _NO_FEATURES]
    try:
        features = np.array([[float(row[name]) for name in names] for row in rows])
        liked = np.array([float(row["liked"]) for row in rows])
    except ValueError as problem:
        msg = f"liked and features in {path} must be numbers: {problem}"
        raise InvalidInputError(msg) from problem
    count = len(rows)
    library = Library(
        features=features,
        genres=np.zeros((count, len(GENRES))),
        artist=identities([row["artist"] for row in rows]),
        album=np.arange(count),
    )
    return library, Likes(expected=lambda _: liked)


def shares_liked(path: Path, name: str, starts: int) -> dict[int, Vector]:
    """Return the share liked of the first songs that a player chose, by look: one per start."""
    library, likes = read(path)
    steps = min(LOOKS[-1], len(library))
    found = [
        session(PLAYERS[name](library), library, likes, run=run, seed=_SEED, steps=steps)["means"]
        for run in range(starts)
    ]
    return {int(look): np.array([means[look] for means in found]) for look in found[0]}


def main(path: str, starts: str = "30") -> None:
    """Print the shares liked, with their standard errors."""
    for name in (OURS, BEFORE):
        for look, shares in shares_liked(Path(path), name, int(starts)).items():
            sys.stdout.write(f"{name}, first {look}: {mean_estimate(shares).shown()}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
