"""Songs and listeners with a past, written into a store by a process of its own.

    python -m benchmarks.scale.crowd < order.json > crowd.json

Each listener has rated some songs before: most a few, some many (exponential, so that the mean
says it all).
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand.radio.passwords import hashed
from bandstand.store.database.connection import open_store
from benchmarks.invented import add_listeners, add_songs, stars_by_song

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Who is there by now."""

    names: tuple[str, ...]
    tokens: tuple[str, ...]  # of the listeners' sessions
    ratings: tuple[int, ...]  # that each has given before
    stars: Mapping[str, int]  # by song
    song_seconds: float  # that writing took
    rating_seconds: float


def gathered(store: str, *, songs: int, listeners: int, ratings: int, password: str) -> Crowd:
    """Return who is in a store that was empty: `ratings` is the mean of all listeners."""
    many = np.random.default_rng(17).exponential(ratings, listeners).astype(int).tolist()
    with open_store(store) as opened:
        began = time.perf_counter()
        add_songs(opened, songs)
        with_songs = time.perf_counter()
        before = {f"listener {number}": count for number, count in enumerate(many)}
        tokens = add_listeners(opened, before, password_hash=hashed(password))
        return Crowd(
            names=tuple(tokens),
            tokens=tuple(tokens.values()),
            ratings=tuple(many),
            stars=stars_by_song(opened),
            song_seconds=with_songs - began,
            rating_seconds=time.perf_counter() - with_songs,
        )


def main() -> None:
    """Read an order, and write who is there."""
    json.dump(asdict(gathered(**json.load(sys.stdin))), sys.stdout)


if __name__ == "__main__":
    main()
