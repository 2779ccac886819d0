"""The tempo of clicks, of drums that were made at a known one, and of what has none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.music.audio.descriptors import tempo
from bandstand.music.audio.descriptors.definition import SAMPLE_RATE
from bandstand.music.audio.descriptors.summary import describe
from tests.fixtures.music.synthetic_drums import PATTERNS, Playing, clicks, drums, human

if TYPE_CHECKING:
    from bandstand.types import Vector

# How often a fixed share of right answers may fail by the luck of the draw.
FAILURE_RATE: Final = 1e-3
TOLERANCE: Final = 0.04
# What is asked of the estimator: right up to an octave, and right altogether.
UP_TO_AN_OCTAVE: Final = 0.95
THE_OCTAVE_TOO: Final = 0.6
SECONDS: Final = 20.0
CLIPS_PER_PATTERN: Final = 6


def tempo_of(samples: Vector) -> float:
    return float(describe(samples)[-1])


def slowed_tempo_of(samples: Vector) -> float:
    """Return the tempo as if the samples came at 14 kHz: a planted error."""
    return tempo_of(samples) * 14 / 16


def near(estimate: float, bpm: float, *factors: float) -> bool:
    return any(abs(estimate / (bpm * factor) - 1) <= TOLERANCE for factor in factors)


def too_few(hits: int, trials: int, share: float) -> bool:
    """Say whether so few hits are rarer than the failure rate, if `share` is the truth."""
    chances = (
        math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(hits + 1)
    )
    return sum(chances) < FAILURE_RATE


@pytest.fixture(scope="module")
def played() -> list[tuple[float, Vector]]:
    """Return tempi and clips: every pattern, played by people, between 60 and 180."""
    clips = []
    for number, pattern in enumerate(PATTERNS):
        for take in range(CLIPS_PER_PATTERN):
            rng = np.random.default_rng([20, number, take])
            bpm = float(rng.uniform(60, 180))
            clips.append((bpm, drums(pattern, bpm, SECONDS, human(rng), rng)))
    return clips


@pytest.mark.statistical
def test_drums_have_their_tempo_up_to_an_octave(played: list[tuple[float, Vector]]) -> None:
    hits = sum(near(tempo_of(clip), bpm, 0.5, 1, 2) for bpm, clip in played)
    assert not too_few(hits, len(played), UP_TO_AN_OCTAVE)


@pytest.mark.statistical
def test_most_drums_have_their_tempo_in_its_octave(played: list[tuple[float, Vector]]) -> None:
    hits = sum(near(tempo_of(clip), bpm, 1) for bpm, clip in played)
    assert not too_few(hits, len(played), THE_OCTAVE_TOO)


@pytest.mark.statistical
def test_a_wrong_sample_rate_would_be_noticed(played: list[tuple[float, Vector]]) -> None:
    hits = sum(near(slowed_tempo_of(clip), bpm, 0.5, 1, 2) for bpm, clip in played)
    assert too_few(hits, len(played), UP_TO_AN_OCTAVE)


@pytest.mark.statistical
def test_always_answering_120_would_be_noticed(played: list[tuple[float, Vector]]) -> None:
    assert too_few(sum(near(120, bpm, 0.5, 1, 2) for bpm, _ in played), len(played), 0.6)
    assert too_few(sum(near(120, bpm, 1) for bpm, _ in played), len(played), THE_OCTAVE_TOO)


@settings(max_examples=40)
@given(bpm=st.floats(42, 200), seconds=st.floats(8, 30))
def test_clicks_have_exactly_their_tempo(bpm: float, seconds: float) -> None:
    assert tempo_of(clicks(bpm, seconds)) == pytest.approx(bpm, rel=0.01)


@pytest.mark.parametrize("bpm", [60, 75, 90, 100, 120, 128, 150, 180])
def test_five_seconds_of_clicks_are_enough(bpm: float) -> None:
    assert tempo_of(clicks(bpm, 5.0)) == pytest.approx(bpm, rel=0.01)


@pytest.mark.parametrize("pattern", ["rock", "house", "techno", "four kicks"])
@pytest.mark.parametrize("bpm", [96.0, 120.0, 138.0])
def test_a_machine_in_an_empty_room_is_found_to_the_percent(pattern: str, bpm: float) -> None:
    clip = drums(pattern, bpm, SECONDS, Playing(), np.random.default_rng(3))
    assert any(tempo_of(clip) == pytest.approx(bpm * factor, rel=0.01) for factor in (0.5, 1, 2))


@given(exponent=st.integers(-10, 0))
@settings(max_examples=5)
def test_the_tempo_does_not_depend_on_the_volume(exponent: int) -> None:
    clip = drums("rock", 111.0, 10.0, Playing(noise=0.01), np.random.default_rng(5))
    assert tempo_of(2.0**exponent * clip) == pytest.approx(tempo_of(clip), rel=1e-9)


@pytest.mark.parametrize("volume", [1e-30, 1e-12, 1e-8, 1.0, 1e5])
def test_precision_is_no_matter_of_the_tempo(volume: float) -> None:
    clip = drums("rock", 111.0, 10.0, Playing(noise=0.01), np.random.default_rng(5))
    assert tempo_of(volume * clip) == pytest.approx(tempo_of(clip), rel=1e-6)


def test_one_bang_does_not_hide_the_beat() -> None:
    rng = np.random.default_rng(11)
    clip = 0.02 * drums("rock", 124.0, SECONDS, Playing(), rng)
    clip[50_000:53_000] += rng.uniform(-0.9, 0.9, 3000)
    assert near(tempo_of(clip), 124.0, 0.5, 1, 2)


def test_the_end_of_a_clip_is_no_event() -> None:
    steady = np.sin(2 * np.pi * 440 / SAMPLE_RATE * np.arange(10 * SAMPLE_RATE + 100))
    assert tempo_of(steady) == 0


@pytest.mark.parametrize("seconds", [0.01, 0.1, 0.49])
def test_what_is_shorter_than_two_beats_has_no_tempo(seconds: float) -> None:
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, int(seconds * SAMPLE_RATE))
    assert tempo_of(noise) == 0


@given(seed=st.integers(0, 2**32 - 1), seconds=st.floats(0.5, 6))
@settings(max_examples=25)
def test_noise_has_a_tempo_within_the_range_or_none(seed: int, seconds: float) -> None:
    noise = np.random.default_rng(seed).uniform(-1, 1, int(seconds * SAMPLE_RATE))
    with np.errstate(all="raise"):
        estimate = tempo_of(noise)
    assert estimate == 0 or 40 <= estimate <= 240


def test_a_chirp_and_a_single_event_have_a_finite_tempo() -> None:
    time = np.arange(5 * SAMPLE_RATE) / SAMPLE_RATE
    chirp = 0.5 * np.sin(2 * np.pi * (100 * time + 390 * time**2))
    assert 0 <= tempo_of(chirp) <= 240
    assert tempo_of(np.where(time == 2.0, 0.9, 0.0)) == 0


def test_the_tempi_are_in_equal_ratios_over_the_whole_range() -> None:
    ratios = tempo.TEMPI[1:] / tempo.TEMPI[:-1]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-12)
    assert tempo.TEMPI[0] == 40
    assert tempo.TEMPI[-1] == pytest.approx(240, rel=0.005)
