"""Synthetic drums of a known tempo: patterns, a kit, and what makes a beat hard to find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.music.audio.descriptors.definition import SAMPLE_RATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.types import Vector

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
