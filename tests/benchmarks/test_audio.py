"""`bandstand bench --audio`: figures of real files, and refusals in one sentence."""

from __future__ import annotations

import json
import sys
import wave
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bandstand.errors import BandstandError
from bandstand.music.audio.descriptors.definition import SAMPLE_RATE
from benchmarks.audio import librosa_ratio, measure_folder
from tests.fixtures.cli.run_command import run_apart

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a track of 31 s, a short one and an empty file."""
    rng = np.random.default_rng(1)
    for name, seconds in (("long", 31), ("short", 1)):
        with wave.open(str(tmp_path / f"{name}.wav"), "wb") as file:
            file.setparams((1, 2, 16_000, 0, "NONE", ""))
            noise = rng.normal(scale=3_000, size=16_000 * seconds)
            file.writeframes(noise.astype("<i2").tobytes())
    (tmp_path / "none.mp3").write_bytes(b"")
    return tmp_path


def test_every_track_is_timed_and_failures_are_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "librosa", None)  # which the command below compares with
    found = measure_folder(folder, lambda _: None)
    (row,) = found["rows"]
    assert (row["tracks"], row["failed"]) == (2, 1)
    assert found["figures"]["decoding and describing a track"] > 0
    assert found["figures"]["librosa / ours"] is None
    (folder / "none").mkdir()
    with pytest.raises(BandstandError, match="tracks that can be decoded"):
        measure_folder(folder / "none", lambda _: None)


def test_without_librosa_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "librosa", None)
    clip = np.random.default_rng(2).uniform(-0.5, 0.5, 2 * SAMPLE_RATE)
    with pytest.raises(BandstandError, match="librosa must be installed"):
        librosa_ratio(clip, 1)


def test_the_command_prints_json(folder: Path) -> None:
    outcome = run_apart("bench", "--audio", folder, "--json", "-")
    assert outcome.code == 0, outcome.err
    part = json.loads(outcome.out)["parts"]["audio"]
    assert part["rows"][0]["tracks"] == 2
    assert part["figures"]["librosa / ours"] > 0
