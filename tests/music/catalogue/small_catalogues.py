"""Small catalogues to write and to find again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand.music.catalogue.matrix import Catalogue, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bandstand.types import AnyArray

COLUMNS = 3


def ids(count: int, step: int = 7) -> list[str]:
    return [f"{number * step:016x}" for number in range(1, count + 1)]


def chunks(value: float, songs: int, height: int = 2) -> Iterator[tuple[list[str], AnyArray]]:
    """Yield songs that all have the features `value`."""
    names = ids(songs)
    for start in range(0, songs, height):
        part = names[start : start + height]
        yield part, np.full((len(part), COLUMNS), value)


def write_marked(folder: Path, value: float, songs: int) -> Catalogue:
    """Write a catalogue whose parts all tell which one they belong to."""
    stamp = {"value": value, "songs": songs}
    return write(folder, chunks(value, songs), columns=COLUMNS, stamp=stamp)


def mark(catalogue: Catalogue) -> float:
    """Return which catalogue this is, having looked that all its parts agree."""
    value, songs = catalogue.stamp["value"], catalogue.stamp["songs"]
    assert catalogue.features.shape == (songs, COLUMNS)
    assert catalogue.ids.tolist() == [name.encode() for name in ids(songs)]
    assert (catalogue.features == value).all()
    assert (catalogue.table[:, -1] == 1).all()
    return float(value)
