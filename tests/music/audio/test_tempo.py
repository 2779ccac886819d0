"""The tempo of clicks, of drums that were made at a known one, and of what has none."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.music.audio.descriptors.definition import SAMPLE_RATE
from bandstand.music.audio.descriptors.summary import describe
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


@pytest.mark.parametrize("volume", [1e-30, 1e-12, 1e-8, 1.0, 1e5])
def test_precision_is_no_matter_of_the_tempo(volume: float) -> None:
    clip = drums("rock", 111.0, 10.0, Playing(noise=0.01), np.random.default_rng(5))
    assert tempo_of(volume * clip) == pytest.approx(tempo_of(clip), rel=1e-6)


def test_one_bang_does_not_hide_the_beat() -> None:
    rng = np.random.default_rng(11)
    clip = 0.02 * drums("rock", 124.0, SECONDS, Playing(), rng)
    clip[50_000:53_000] += rng.uniform(-0.9, 0.9, 3000)
    assert near(tempo_of(clip), 124.0, 0.5, 1, 2)


@given(seed=st.integers(0, 2**32 - 1), seconds=st.floats(0.5, 6))
@settings(max_examples=25)
def test_noise_has_a_tempo_within_the_range_or_none(seed: int, seconds: float) -> None:
    noise = np.random.default_rng(seed).uniform(-1, 1, int(seconds * SAMPLE_RATE))
    with np.errstate(all="raise"):
        estimate = tempo_of(noise)
    assert estimate == 0 or 40 <= estimate <= 240


# Beats per bar, steps per beat, and who plays on which step: kick, snare, hat, open hat, rim.
PATTERNS: Final[dict[str, tuple[int, int, dict[str, str]]]] = {
    "rock": (4, 2, {"k": "x...x...", "s": "..x...x.", "h": "xxxxxxxx"}),
    "pushed rock": (4, 2, {"k": "x..xx...", "s": "..x...x.", "h": "xxxxxxxx"}),
    "house": (4, 2, {"k": "x.x.x.x.", "s": "..x...x.", "o": ".x.x.x.x"}),
    "techno": (4, 4, {"k": "x...x...x...x...", "o": "..x...x...x...x."}),
    "sixteenths": (4, 4, {"k": "x.....x.x.......", "s": "....x.......x...", "h": 16 * "x"}),
    "breakbeat": (4, 4, {"k": "x.x.......xx....", "s": "....x..x.x..x..x", "h": 8 * "x."}),
    "hip hop": (4, 4, {"k": "x......xx.x.....", "s": "....x.......x...", "h": 8 * "x."}),
    "half time": (4, 4, {"k": "x.........x.....", "s": "........x.......", "h": 8 * "x."}),
    "one drop": (4, 2, {"k": "....x...", "s": "....x...", "h": "xxxxxxxx", "r": ".x.x.x.x"}),
    "punk": (4, 2, {"k": "x.x.x.x.", "s": ".x.x.x.x", "h": "xxxxxxxx"}),
    "shuffle": (4, 3, {"k": "x.....x.....", "s": "...x.....x..", "h": "x.xx.xx.xx.x"}),
    "waltz": (3, 2, {"k": "x.....", "s": "..x.x.", "h": "xxxxxx"}),
    "clave": (4, 4, {"r": "x..x..x...x.x...", "k": "x.......x.......", "h": 8 * "x."}),
    "four kicks": (4, 1, {"k": "xxxx"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Playing:
    """How a pattern is played; the defaults are a machine in an empty room."""

    swing: float = 0.0  # how late off-beats are, as a share of a step
    jitter: float = 0.0  # standard deviation of each stroke's time, in seconds
    touch: float = 0.0  # standard deviation of each stroke's loudness, relative
    bars_to_a_fill: int = 0  # 0 is never
    noise: float = 0.0  # relative to full scale
    pad: float = 0.0  # loudness of soft chords, two bars long


def human(rng: np.random.Generator) -> Playing:
    """Return a way of playing with a little of everything."""
    return Playing(
        swing=float(rng.choice([0.0, 0.0, rng.uniform(0, 0.3)])),
        jitter=float(rng.uniform(0, 0.012)),
        touch=float(rng.uniform(0, 0.3)),
        bars_to_a_fill=int(rng.choice([0, 4, 8])),
        noise=float(rng.choice([0.0, 0.003, 0.02])),
        pad=float(rng.choice([0.0, 0.05, 0.2])),
    )


def drums(
    pattern: str, bpm: float, seconds: float, playing: Playing, rng: np.random.Generator
) -> Vector:
    """Return `seconds` of a pattern at `bpm`, which begins somewhere within a bar."""
    clip = np.zeros(int((seconds + 1) * SAMPLE_RATE))
    for time, stroke in _strokes(pattern, bpm, seconds, playing, rng):
        start = int(time * SAMPLE_RATE)
        clip[start : start + len(stroke)] += stroke
    clip = clip[: int(seconds * SAMPLE_RATE)]
    bar = PATTERNS[pattern][0] * 60 / bpm
    clip += playing.pad * _chords(len(clip), 2 * bar, rng)
    clip += playing.noise * rng.standard_normal(len(clip))
    clip *= rng.uniform(0.1, 0.9) / np.abs(clip).max()
    return clip


def clicks(bpm: float, seconds: float) -> Vector:
    """Return single samples at `bpm`, the first after a tenth of a second."""
    clip = np.zeros(int(seconds * SAMPLE_RATE))
    times = np.arange(0.1, seconds, 60 / bpm)
    clip[(times * SAMPLE_RATE).astype(np.intp)] = 0.9
    return clip


def _strokes(
    pattern: str, bpm: float, seconds: float, playing: Playing, rng: np.random.Generator
) -> Iterator[tuple[float, Vector]]:
    beats, steps, parts = PATTERNS[pattern]
    step_time = 60 / bpm / steps
    bar_time = beats * steps * step_time
    loudness = {drum: rng.uniform(0.5, 1.0) for drum in parts}
    for bar, start in enumerate(np.arange(-rng.uniform(0, bar_time), seconds, bar_time)):
        fill = playing.bars_to_a_fill and (bar + 1) % playing.bars_to_a_fill == 0
        for drum, line in parts.items():
            for step, sign in enumerate(_filled(line, steps) if fill and drum == "s" else line):
                late = playing.swing if steps != 3 and step % 2 else 0.0
                time = start + (step + late) * step_time + playing.jitter * rng.standard_normal()
                if sign == "x" and 0 <= time < seconds:
                    touch = max(1 + playing.touch * rng.standard_normal(), 0.1)
                    yield time, loudness[drum] * touch * _stroke(drum, rng)


def _filled(line: str, steps: int) -> str:
    return line[:-steps] + steps * "x"


def _stroke(drum: str, rng: np.random.Generator) -> Vector:
    time = np.arange(SAMPLE_RATE // 4) / SAMPLE_RATE
    hiss = rng.standard_normal(len(time) + 1)
    if drum == "k":
        return np.sin(2 * np.pi * (50 * time - 2.4 * np.exp(-time / 0.03))) * np.exp(-time / 0.09)
    if drum == "s":
        body = np.sin(2 * np.pi * 190 * time)
        return (0.6 * hiss[1:] + 0.4 * body) * np.exp(-time / 0.05)
    if drum == "r":
        return np.sin(2 * np.pi * 1700 * time) * np.exp(-time / 0.008)
    return 0.5 * np.diff(hiss) * np.exp(-time / (0.06 if drum == "o" else 0.015))


def _chords(samples: int, seconds: float, rng: np.random.Generator) -> Vector:
    length = int(seconds * SAMPLE_RATE)
    time = np.arange(length) / SAMPLE_RATE
    swell = np.minimum(1, np.minimum(time, time[::-1]) / 0.2)
    chords = []
    for _ in range(samples // length + 1):
        root = 110 * 2 ** (rng.integers(12) / 12)
        tones = (np.sin(2 * np.pi * root * ratio * time) for ratio in (1, 1.25, 1.5))
        chords.append(swell * np.sum(list(tones), axis=0) / 3)
    return np.concatenate(chords)[:samples]
