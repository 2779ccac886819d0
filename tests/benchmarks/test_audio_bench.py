"""What `bandstand bench --audio` measures: figures of real files, and refusals in one sentence."""

from __future__ import annotations

import json
import wave
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bandstand.errors import InvalidInputError
from benchmarks.audio_bench import in_words, measure_folder
from tests.cli.running import assert_refused, run, run_apart

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a track of 31 s, a short one and one that is none."""
    rng = np.random.default_rng(1)
    for name, seconds in (("long", 31), ("short", 1)):
        with wave.open(str(tmp_path / f"{name}.wav"), "wb") as file:
            file.setparams((1, 2, 16_000, 0, "NONE", ""))
            noise = rng.normal(scale=3_000, size=16_000 * seconds)
            file.writeframes(noise.astype("<i2").tobytes())
    (tmp_path / "none.mp3").write_bytes(b"")
    return tmp_path


def test_every_track_is_timed_and_failures_are_counted(folder: Path) -> None:
    bench = measure_folder(folder)
    assert len(bench.decode_seconds.runs) == len(bench.describe_seconds.runs) == 2
    assert bench.failed == 1
    assert bench.ratio is not None
    assert len(bench.ratio.runs) == 1  # only whole clips are compared
    assert bench.mean_seconds > 0
    assert "Tracks: 2; not decodable here: 1" in in_words(bench)


def test_a_folder_without_music_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="tracks that can be decoded"):
        measure_folder(tmp_path)


def test_the_command_prints_json(folder: Path) -> None:
    outcome = run_apart("bench", "--audio", folder, "--json", "-")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["tracks"] == 2


def test_the_command_refuses_a_folder_without_music(tmp_path: Path) -> None:
    assert_refused(run_apart("bench", "--audio", tmp_path), "tracks that can be decoded")


def test_other_options_do_not_go_with_it(tmp_path: Path) -> None:
    assert_refused(run("bench", "--audio", tmp_path, "--quick"), "--audio goes with --json only")
