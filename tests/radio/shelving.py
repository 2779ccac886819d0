"""Shelves and listeners that are made up, for tests of what is played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand.algorithms.registry import DEFAULT
from bandstand.music.catalogue.matrix import Catalogue
from bandstand.radio.choice.choosing import Model
from bandstand.radio.choice.shelf import shelf_of
from bandstand.radio.log.ledger import fold
from bandstand.store.songs.songs import SongRecord
from bandstand.types import Tags
from tests.radio.logs import MINUTE, Log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.radio.choice.shelf import Shelf
    from bandstand.types import AnyArray

GENRES = ("Rock", "Pop/Folk", "Jazz; Rock", None)


def song_id(row: int) -> str:
    return f"{row:016x}"


def record(row: int, **changes: Any) -> SongRecord:
    """Return a song of its own name, one of ten by its artist, with some tags as given."""
    duration = changes.pop("duration", 200.0)
    tags = {
        "title": f"Song {row}",
        "artist": f"Artist {row // 10}",
        "album": f"Album {row // 5}",
        "genre": GENRES[row % 4],
    }
    return SongRecord(
        id=song_id(row),
        fingerprint="f",
        tags=Tags(**{**tags, **changes}),
        duration=duration,
        descriptor_version=1,
        added_at=0,
        path=b"/music/%d.mp3" % row,
        size=1,
        missing=False,
        problem=None,
    )


def features(songs: int, columns: int = 4, seed: int = 0) -> AnyArray:
    return np.random.default_rng(seed).normal(size=(songs, columns)).astype(np.float32)


def with_ones(rows: AnyArray) -> AnyArray:
    return np.column_stack([rows, np.ones(len(rows), dtype=np.float32)])


def matrix(rows: AnyArray, ids: Sequence[str] | None = None) -> Catalogue:
    names = [song_id(row) for row in range(len(rows))] if ids is None else list(ids)
    keys = np.array([name.encode() for name in names], dtype="S16")
    return Catalogue(ids=keys, table=with_ones(rows), stamp={"projection": 1})


def shelf(songs: int = 60, columns: int = 4, *, seed: int = 0, **changes: Any) -> Shelf:
    """Return a shelf of songs that differ; `changes` are tags that all of them have."""
    records = [record(row, **changes) for row in range(songs)]
    return shelf_of(records, matrix(features(songs, columns, seed)))


def model(on: Shelf, log: Log | None = None, **settings: Any) -> Model:
    """Return the model of a listener who has done what is in a log."""
    events = [] if log is None else log.events
    return Model.begin(on, fold(events), **{"algorithm": DEFAULT, "seed": 7, **settings})


def rated(rows: Sequence[int], stars: Sequence[int] | None = None, *, apart: int = MINUTE) -> Log:
    """Return a log of ratings, one after the other."""
    log = Log()
    for place, row in enumerate(rows):
        given = 1 + row % 5 if stars is None else stars[place]
        log.add("rating", song_id(row), after=apart, stars=given)
    return log
