"""Tables of descriptors with the troubles of real ones, drawn from a seed."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from bandstand.music.audio.descriptors.definition import NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.types import Matrix

WIDTH = len(NAMES)

seeds = st.integers(0, 2**32)


def library(seed: int, songs: int, *, constant: int = 20, causes: int = 12) -> Matrix:
    """Return correlated columns of all sizes and offsets, `constant` of which never vary."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(songs, causes)) @ rng.normal(size=(causes, WIDTH))
    table += 0.5 * rng.normal(size=(songs, WIDTH))
    table *= 10.0 ** rng.uniform(-5, 5, WIDTH)
    table += table.std(axis=0) * rng.normal(0, 30, WIDTH)
    table[:, rng.choice(WIDTH, constant, replace=False)] = 1.0
    return table


def embedded(columns: Matrix) -> Matrix:
    """Return a table whose other columns never vary."""
    table = np.full((len(columns), WIDTH), 1.0)
    table[:, : columns.shape[1]] = columns
    return table


def real_library(shared_data: Path) -> Matrix:
    """Return the descriptors of 213 real tracks."""
    with (shared_data / "marsyas" / "tracks_tiny_159.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert tuple(rows[0][1:]) == NAMES
    return np.array([row[1:] for row in rows[1:]], dtype=np.float64)
