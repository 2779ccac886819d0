"""The definitions written down once more, one frame and one number at a time.

Nothing here is vectorised and nothing is shared with the package, so an error would have to be
made twice.
"""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.music.audio.descriptors.definition import FRAME_NAMES
from bandstand.music.audio.descriptors.summary import frame_descriptors

if TYPE_CHECKING:
    from bandstand.types import Vector

N, N2, RATE = 512, 257, 16_000


def power_of(frame: Vector) -> list[float]:
    window = [0.54 - 0.46 * math.cos(2 * math.pi * n / (N - 1)) for n in range(N)]
    angles = -2j * np.pi / N * np.outer(np.arange(N2), np.arange(N))
    return [abs(x) ** 2 / (2 * N) ** 2 for x in np.exp(angles) @ (frame * window)]


def shape_of(frame: Vector, p: list[float], before: list[float] | None) -> list[float]:
    changes = sum(1 for a, b in pairwise(frame) if a * b < 0)
    total = sum(p)
    centroid = sum(k * x for k, x in enumerate(p)) / total / N2
    below = [k for k in range(2, N2) if sum(p[: k + 1]) < 0.9 * total]
    tiny = sys.float_info.min
    old = [0.0] * N2 if before is None else [math.log(x + tiny) for x in before]
    d = [(math.log(x + tiny) - o) ** 2 for x, o in zip(p, old, strict=True)][1:]
    roll_off = below[-1] / N2 if below else 1.0
    return [(1 + changes) / N, centroid, roll_off, sum(d) / (max(d) * N2)]


def mfcc_of(p: list[float]) -> list[float]:
    lowest, spacing, ratio = (float(np.float32(x)) for x in (133.3333, 66.66666, 1.0711703))
    edges = [lowest + spacing * i for i in range(13)]
    while len(edges) < 42:
        edges.append(edges[-1] * ratio)
    logs = []
    for lower, centre, upper in zip(edges, edges[1:], edges[2:], strict=False):
        energy = 0.0
        for k, x in enumerate(p):
            hertz = k * RATE / N
            if lower < hertz <= centre:
                energy += x * 2 / (upper - lower) * (hertz - lower) / (centre - lower)
            elif centre < hertz < upper:
                energy += x * 2 / (upper - lower) * (upper - hertz) / (upper - centre)
        logs.append(math.log10(energy))
    angle = math.pi / 80
    rows = [
        sum(x * math.cos(j * (2 * i + 1) * angle) for i, x in enumerate(logs)) / math.sqrt(20)
        for j in range(13)
    ]
    return [rows[0] * math.sqrt(2) / 2, *rows[1:]]


def chroma_of(p: list[float]) -> list[float]:
    pitch = [12 * math.log2(k / N2 * RATE / 27.5) for k in range(1, N2)]
    pitch = [pitch[0] - 18, *pitch]
    width = [max(b - a, 1) for a, b in pairwise(pitch)] + [1]
    classes = [0.0] * 12
    for x, b, w in zip(p, pitch, width, strict=True):
        far = [((b - o + 6 + 120) % 12) - 6 for o in range(12)]
        weights = [math.exp(-0.5 * (2 * d / w) ** 2) for d in far]
        norm = math.sqrt(sum(weight**2 for weight in weights))
        classes = [c + x * weight / norm for c, weight in zip(classes, weights, strict=True)]
    return [*classes, max(classes) / (sum(classes) / 12), max(classes) / min(classes)]


def bands_of(p: list[float]) -> list[float]:
    edges = [1000 * 2 ** ((i - 8) / 4) for i in range(25)]
    crest, flatness = [], []
    for lower, upper in pairwise(edges):
        first = math.floor(0.95 * lower / 31.25 + 0.5)
        last = math.floor(1.05 * upper / 31.25 + 0.5)
        inside = p[first : last + 1] if last <= 256 else [1.0]
        mean = sum(inside) / len(inside)
        crest.append(max(inside) / mean)
        flatness.append(math.exp(sum(map(math.log, inside)) / len(inside)) / mean)
    return crest + flatness


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    colour=st.floats(0, 1.5),
    volume=st.floats(1e-4, 1),
    length=st.integers(2 * N - 400, 2 * N),
)
def test_two_frames_are_what_the_definitions_say(
    seed: int, colour: float, volume: float, length: int
) -> None:
    noise = np.fft.rfft(np.random.default_rng(seed).standard_normal(length))
    coloured = np.fft.irfft(noise / np.arange(1, len(noise) + 1) ** colour, length)
    samples = volume * coloured / np.abs(coloured).max()

    padded = np.zeros(2 * N)
    padded[:length] = samples
    before = None
    for values, frame in zip(frame_descriptors(samples), padded.reshape(2, N), strict=True):
        p = power_of(frame)
        expected = [*shape_of(frame, p, before), *mfcc_of(p), *chroma_of(p), *bands_of(p)]
        for name, value, number in zip(FRAME_NAMES, values, expected, strict=True):
            assert value == pytest.approx(number, rel=1e-9, abs=1e-12), name
        before = p
