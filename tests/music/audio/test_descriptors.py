"""The golden clips: every descriptor as MARSYAS printed it, to about six digits."""

from __future__ import annotations

import csv
import wave
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from bandstand.music.audio.descriptors import spectral
from bandstand.music.audio.descriptors.definition import FRAME, FRAME_NAMES, NAMES
from bandstand.music.audio.descriptors.summary import describe, frame_descriptors

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.types import Matrix, Vector

CLIPS: Final = ("syn_chirp", "syn_clicks120bpm", "syn_noise", "syn_silence", "syn_sine440")
NOT_SILENT: Final = tuple(clip for clip in CLIPS if clip != "syn_silence")
GOLDEN_FRAMES: Final = 20
RELATIVE: Final = 1e-5
ABSOLUTE: Final = 1e-6


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "marsyas"


def samples_of(folder: Path, clip: str) -> Vector:
    with wave.open(str(folder / f"{clip}.wav")) as file:
        data = file.readframes(file.getnframes())
    return np.frombuffer(data, dtype="<i2") / 32768


def golden_frames(folder: Path, clip: str) -> Matrix:
    with (folder / f"golden_frames_{clip}.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == FRAME_NAMES
    return np.array(rows, dtype=np.float64)


def golden_summary(folder: Path, clip: str) -> Vector:
    with (folder / "golden_mean_std_158.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header[1:]) == NAMES[:-1]
    (row,) = (row for row in rows if row[0].removesuffix(".wav") == clip)
    return np.array(row[1:], dtype=np.float64)


def misses(values: Matrix | Vector, golden: Matrix | Vector) -> int:
    """Return how many values are further from the golden ones than the printing explains."""
    error = np.abs(values - golden)
    return int(np.count_nonzero((error > ABSOLUTE) & (error > RELATIVE * np.abs(golden))))


def summary(values: Matrix, degrees_lost: int = 0) -> Vector:
    return np.concatenate([values.mean(axis=0), values.std(axis=0, ddof=degrees_lost)])


def test_the_columns_are_those_of_the_golden_tracks(folder: Path) -> None:
    with (folder / "tracks_tiny_159.csv").open(newline="") as file:
        header = next(csv.reader(file))
    assert tuple(header) == ("file", *NAMES)


@pytest.mark.parametrize("clip", CLIPS)
def test_every_frame_is_as_marsyas_printed_it(folder: Path, clip: str) -> None:
    values = frame_descriptors(samples_of(folder, clip))
    assert misses(values[:GOLDEN_FRAMES], golden_frames(folder, clip)) == 0


@pytest.mark.parametrize("clip", CLIPS)
def test_means_and_spreads_are_as_marsyas_printed_them(folder: Path, clip: str) -> None:
    values = describe(samples_of(folder, clip))
    assert misses(values[:-1], golden_summary(folder, clip)) == 0


def test_the_clicks_have_their_tempo_and_silence_has_none(folder: Path) -> None:
    assert describe(samples_of(folder, "syn_clicks120bpm"))[-1] == pytest.approx(120, rel=0.005)
    assert describe(samples_of(folder, "syn_silence"))[-1] == 0


# Planted errors: what the golden clips must notice.


@pytest.mark.parametrize("clip", NOT_SILENT)
def test_a_sample_standard_deviation_would_be_noticed(folder: Path, clip: str) -> None:
    values = frame_descriptors(samples_of(folder, clip))
    assert misses(summary(values), golden_summary(folder, clip)) == 0
    assert misses(summary(values, degrees_lost=1), golden_summary(folder, clip)) > 30


@pytest.mark.parametrize("clip", NOT_SILENT)
def test_a_dropped_last_frame_would_be_noticed(folder: Path, clip: str) -> None:
    samples = samples_of(folder, clip)
    assert len(samples) % FRAME
    values = frame_descriptors(samples[: len(samples) // FRAME * FRAME])
    assert misses(summary(values), golden_summary(folder, clip)) > 30


@pytest.mark.parametrize("clip", NOT_SILENT)
def test_a_periodic_window_would_be_noticed(
    folder: Path, clip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    periodic = (0.54 - 0.46 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)) / (2 * FRAME)
    monkeypatch.setattr(spectral, "_SCALED_WINDOW", periodic)
    values = frame_descriptors(samples_of(folder, clip))
    assert misses(values[:GOLDEN_FRAMES], golden_frames(folder, clip)) > 100


@pytest.mark.parametrize("clip", NOT_SILENT)
def test_samples_of_another_scale_would_be_noticed(folder: Path, clip: str) -> None:
    values = frame_descriptors(samples_of(folder, clip) * 1.001)
    assert misses(values[:GOLDEN_FRAMES], golden_frames(folder, clip)) >= GOLDEN_FRAMES


@pytest.mark.parametrize("clip", NOT_SILENT)
def test_a_shift_of_one_sample_would_be_noticed(folder: Path, clip: str) -> None:
    values = frame_descriptors(samples_of(folder, clip)[1:])
    assert misses(values[:GOLDEN_FRAMES], golden_frames(folder, clip)) > 100
