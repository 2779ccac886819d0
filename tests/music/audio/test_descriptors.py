"""The golden clips: every descriptor as MARSYAS printed it, to about six digits."""

import csv
import math
import sys
import wave
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import ArrayLike

from bandstand.errors import InvalidInputError
from bandstand.music.audio.descriptors import spectral
from bandstand.music.audio.descriptors.definition import (
    CLIP_SAMPLES,
    FRAME,
    FRAME_NAMES,
    NAMES,
    SAMPLE_RATE,
)
from bandstand.music.audio.descriptors.summary import describe, frame_descriptors
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
def test_a_periodic_window_is_seen(
    folder: Path, clip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    periodic = (0.54 - 0.46 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)) / (2 * FRAME)
    monkeypatch.setattr(spectral, "_SCALED_WINDOW", periodic)
    values = frame_descriptors(samples_of(folder, clip))
    assert misses(values[:GOLDEN_FRAMES], golden_frames(folder, clip)) > 100


@pytest.mark.parametrize("clip", NOT_SILENT)
def test_another_scale_and_a_shift_of_one_sample_would_be_noticed(folder: Path, clip: str) -> None:
    samples, golden = samples_of(folder, clip), golden_frames(folder, clip)
    assert misses(frame_descriptors(samples * 1.001)[:GOLDEN_FRAMES], golden) >= GOLDEN_FRAMES
    assert misses(frame_descriptors(samples[1:])[:GOLDEN_FRAMES], golden) > 100


# ── The definitions once more, one frame and one number at a time ────────────────────────


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
def test_two_frames_are_as_defined(seed: int, colour: float, volume: float, length: int) -> None:
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


# ── What is hardly sound ─────────────────────────────────────────────────────────────────


TIME: Final = np.arange(CLIP_SAMPLES)
NOISE: Final = np.random.default_rng(7).standard_normal(3 * SAMPLE_RATE)
HARDLY_SOUND: Final[dict[str, ArrayLike]] = {
    "silence": np.zeros(CLIP_SAMPLES),
    "a constant": np.full(CLIP_SAMPLES, 0.5),
    "the largest constant": np.full(CLIP_SAMPLES, -1.0),
    "a full-scale square wave": np.where(TIME // 50 % 2, 1.0, -1.0),
    "the fastest square wave": np.where(TIME % 2, 1.0, -1.0),
    "the smallest constant": np.full(CLIP_SAMPLES, 5e-324),
    "subnormal noise": NOISE * 1e-310,
    "noise with a subnormal power": NOISE * 1e-158,
    "noise with a smallest power": NOISE * 1e-150,
    "one sample": [0.3],
    "the smallest sample": [5e-324],
    "one impulse": np.eye(1, CLIP_SAMPLES)[0],
    "an impulse at the very end": np.eye(1, CLIP_SAMPLES)[0, ::-1],
    "sound between silences": np.concatenate([np.zeros(20_000), 0.1 * NOISE, np.zeros(20_000)]),
    "far too loud": NOISE * 1e5,
}
names = dict(zip(NAMES, range(len(NAMES)), strict=True))


def value(samples: ArrayLike, name: str) -> float:
    return float(describe(samples)[names[name]])


@pytest.mark.parametrize("kind", HARDLY_SOUND)
def test_every_descriptor_is_finite(kind: str) -> None:
    with np.errstate(all="raise"):
        values = describe(HARDLY_SOUND[kind])
    assert values.shape == (159,)
    assert np.isfinite(values).all()
    assert 0 <= values[-1] <= 240


@given(
    arrays(
        np.float64,
        st.integers(1, 2000),
        elements=st.floats(-1, 1) | st.sampled_from([0.0, 5e-324, -1e-160, 1e-154]),
    )
)
def test_whatever_the_samples_all_is_finite(samples: Vector) -> None:
    with np.errstate(all="raise"):
        assert np.isfinite(describe(samples)).all()
        assert np.isfinite(frame_descriptors(samples)).all()


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], r"at least one sample, got shape \(0,\)"),
        (0.5, r"at least one sample, got shape \(\)"),
        (np.zeros((2, 100)), r"one channel .*, got shape \(2, 100\)"),
        ([0.0, float("nan")], "finite and at most 1e.06 in size, got nan at sample 1"),
        ([float("-inf"), 0.0], "got -inf at sample 0"),
        ([0.0, 0.0, 2e6], "got 2000000.0 at sample 2"),
        ("noise", "samples must be numbers, got str"),
        ([10**400], "samples must be numbers, got list"),
    ],
)
def test_what_is_no_clip_is_refused(samples: ArrayLike, message: str) -> None:
    for function in (describe, frame_descriptors):
        with (
            np.errstate(all="raise"),
            pytest.raises(InvalidInputError, match=message),
        ):
            function(samples)


def test_a_clip_shorter_than_a_frame_is_filled_up() -> None:
    clip = 0.1 * NOISE[:100]
    padded = np.concatenate([clip, np.zeros(FRAME - 100)])
    np.testing.assert_array_equal(describe(clip), describe(padded))
    assert frame_descriptors(clip).shape == (1, 79)


def test_a_band_with_one_empty_bin_is_not_flat() -> None:
    power = np.ones((1, 257))
    power[0, 180] = 0
    log_totals = spectral.band_log_totals(power, spectral.log_power(power))
    flatness = spectral.flatness(spectral.band_totals(power), log_totals)[0]
    assert [band for band in range(24) if flatness[band] == 0] == [17, 18]


@given(exponent=st.integers(-12, 3))
def test_only_what_measures_loudness_changes_with_the_volume(exponent: int) -> None:
    gain = 2.0**exponent
    plain, scaled = frame_descriptors(0.1 * NOISE), frame_descriptors(gain * 0.1 * NOISE)
    expected = plain.copy()
    expected[0, 3] = scaled[0, 3]  # the first flux compares with a logarithm of 0
    expected[:, 4] += np.sqrt(40) * 2 * np.log10(gain)
    expected[:, 17:29] *= gain**2
    np.testing.assert_allclose(scaled, expected, rtol=1e-9, atol=1e-9 * gain**2)
    assert describe(gain * 0.1 * NOISE)[-1] == pytest.approx(describe(0.1 * NOISE)[-1], rel=1e-9)


@pytest.mark.parametrize("block", [1, 7, 92, 93, 94, 1000])
def test_no_descriptor_knows_of_the_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = 0.1 * NOISE[: 93 * FRAME - 300]
    expected = describe(clip), frame_descriptors(clip)
    monkeypatch.setattr(spectral, "_BLOCK_FRAMES", block)
    np.testing.assert_allclose(describe(clip), expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(frame_descriptors(clip), expected[1], rtol=1e-9, atol=1e-12)


def test_a_flux_that_forgot_the_block_before_would_be_noticed() -> None:
    clip = 0.1 * NOISE[: 2 * FRAME]
    alone = frame_descriptors(clip[FRAME:])[0, 3]
    assert frame_descriptors(clip)[1, 3] != pytest.approx(alone, rel=0.01)
