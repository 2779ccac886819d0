"""The comparison with librosa: that both sides run, and what is said where there is none."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.music.audio.descriptors.definition import SAMPLE_RATE
from benchmarks.audio_speed import measure


def clip() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.random.default_rng(2).uniform(-0.5, 0.5, 2 * SAMPLE_RATE)


def test_both_sides_are_timed_in_every_turn() -> None:
    speed = measure(clip(), 2)
    assert len(speed.ours_seconds.runs) == len(speed.librosa_seconds.runs) == 2
    assert min(speed.ours_seconds.runs) > 0
    for ours, librosa, ratio in zip(
        speed.ours_seconds.runs, speed.librosa_seconds.runs, speed.ratio.runs, strict=True
    ):
        assert ratio == pytest.approx(librosa / ours)
    assert set(speed.as_json()) == {"ours_seconds", "librosa_seconds", "ratio"}


def test_without_librosa_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "librosa", None)
    with pytest.raises(BandstandError, match="librosa must be installed"):
        measure(clip(), 1)


def test_no_turns_at_all_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="repeats must be at least 1, got 0"):
        measure(clip(), 0)
