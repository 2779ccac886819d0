"""Real music, end to end: decoded and described as the program that the paper used did it.

The tracks are freely licensed but not part of the repository. The variable BANDSTAND_TRACKS
names a folder with them, laid out as `tracks_tiny_159.csv` in the reference data says.
"""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from bandstand.music.audio.decode import read
from bandstand.music.audio.descriptors.definition import NAMES
from bandstand.music.audio.descriptors.summary import describe
from bandstand.types import Matrix

TEMPO = len(NAMES) - 1  # the last one
OTHERS = [column for column in range(len(NAMES)) if column != TEMPO]


@pytest.fixture(scope="module")
def tables(shared_data: Path) -> tuple[Matrix, Matrix]:
    """Return our descriptors and the golden ones of all ogg tracks, in the same order."""
    folder = os.environ.get("BANDSTAND_TRACKS")
    if folder is None:
        pytest.skip("BANDSTAND_TRACKS must name a folder of reference tracks, it is not set")
    with (shared_data / "marsyas" / "tracks_tiny_159.csv").open(encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    ours, golden = [], []
    for name, *values in rows:
        if name.endswith(".ogg"):
            with (Path(folder) / name).open("rb") as track:
                ours.append(describe(read(track).samples))
            golden.append([float(value) for value in values])
    return np.array(ours), np.array(golden)


def relative_errors(ours: Matrix, golden: Matrix) -> Matrix:
    """Return the relative errors; the golden values have six decimals, so 5e-7 is no error."""
    error: Matrix = np.maximum(np.abs(ours - golden) - 5e-7, 0) / np.maximum(np.abs(golden), 1e-12)
    return error


@pytest.mark.long
def test_every_column_agrees_to_one_percent_in_the_median(tables: tuple[Matrix, Matrix]) -> None:
    errors = np.median(relative_errors(*tables), axis=0)[OTHERS]
    worst = int(np.argmax(errors))
    print(f"worst median relative error {errors[worst]:.2e}: {NAMES[OTHERS[worst]]}")
    assert errors.max() < 0.01


@pytest.mark.long
def test_the_tempo_agrees_up_to_an_octave(tables: tuple[Matrix, Matrix]) -> None:
    ratio = tables[0][:, TEMPO, np.newaxis] / tables[1][:, TEMPO, np.newaxis]
    agrees = (np.abs(ratio / np.array([0.5, 1, 2]) - 1) <= 0.04).any(axis=1)
    print(f"tempo within 4 % up to an octave: {agrees.mean():.3f}")
    assert agrees.mean() >= 0.6


@pytest.mark.long
def test_the_descriptors_of_other_tracks_would_not_agree(tables: tuple[Matrix, Matrix]) -> None:
    ours, golden = tables
    assert np.median(relative_errors(np.roll(ours, 1, axis=0), golden), axis=0)[OTHERS].max() > 0.01
