"""Descriptors of what is hardly sound: silence, constants, next to nothing, too much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bandstand.errors import InvalidInputError
from bandstand.music.audio.descriptors import spectral
from bandstand.music.audio.descriptors.definition import (
    CLIP_SAMPLES,
    FRAME,
    FRAME_NAMES,
    NAMES,
    SAMPLE_RATE,
    VERSION,
)
from bandstand.music.audio.descriptors.summary import describe, frame_descriptors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.types import Vector

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


def test_silence_has_the_values_of_its_own() -> None:
    values = describe(np.zeros(3 * FRAME))
    assert value(np.zeros(1), "mean_ZeroCrossings") == 1 / 512
    assert values[names["mean_Centroid"]] == 0.5
    assert values[names["mean_Rolloff"]] == 1
    assert values[names["mean_SCF1"]] == values[names["mean_SFM24"]] == 1
    assert values[names["mean_Chroma_PeakRatio_Minimum"]] == 0
    assert values[names["mean_MFCC0"]] == 0


def test_a_clip_shorter_than_a_frame_is_filled_up() -> None:
    clip = 0.1 * NOISE[:100]
    padded = np.concatenate([clip, np.zeros(FRAME - 100)])
    np.testing.assert_array_equal(describe(clip), describe(padded))
    assert frame_descriptors(clip).shape == (1, 79)


def test_a_clip_of_one_frame_has_no_spread() -> None:
    values = describe(0.1 * NOISE[:FRAME])
    assert not values[79:158].any()


def test_bands_above_half_the_sample_rate_are_the_constant_one() -> None:
    values = frame_descriptors(0.1 * NOISE)
    constant = [
        name for name, column in zip(FRAME_NAMES, values.T, strict=True) if (column == 1).all()
    ]
    assert constant == [f"{kind}{band}" for kind in ("SCF", "SFM") for band in range(20, 25)]


def test_a_band_with_one_empty_bin_is_not_flat() -> None:
    power = np.ones((1, 257))
    power[0, 180] = 0
    log_totals = spectral.band_log_totals(power, spectral.log_power(power))
    flatness = spectral.flatness(spectral.band_totals(power), log_totals)[0]
    assert [band for band in range(24) if flatness[band] == 0] == [17, 18]


def test_the_same_clip_has_the_same_numbers_to_the_last_digit() -> None:
    np.testing.assert_array_equal(describe(0.1 * NOISE), describe(list(0.1 * NOISE)))


def test_the_samples_stay_as_they_were() -> None:
    clip = 0.1 * NOISE
    before = clip.copy()
    clip.flags.writeable = False  # so that writing would raise
    describe(clip)
    np.testing.assert_array_equal(clip, before)


def test_there_are_159_different_names_and_a_version() -> None:
    assert len(set(NAMES)) == len(NAMES) == 159
    assert NAMES[-1] == "tempo_bpm"
    assert VERSION == 1


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


def test_roll_off_is_the_last_bin_below_nine_tenths_wherever_that_is() -> None:
    power = np.eye(257)
    power[:, 0] += 1e-9
    bins = spectral.roll_off(power) * 257
    # All power in bin k is reached at k, so k − 1 is the last below; under 2 there is none.
    np.testing.assert_allclose(bins[3:], np.arange(2, 256), rtol=1e-12)
    np.testing.assert_array_equal(bins[:3], 257)


@given(cut=st.integers(1, 90))
def test_frames_know_nothing_of_each_other_but_for_flux(cut: int) -> None:
    clip = 0.1 * NOISE[: 93 * FRAME]
    whole = frame_descriptors(clip)
    parts = np.concatenate(
        [frame_descriptors(clip[: cut * FRAME]), frame_descriptors(clip[cut * FRAME :])]
    )
    parts[cut, 3] = whole[cut, 3]
    np.testing.assert_allclose(parts, whole, rtol=1e-9, atol=1e-12)


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


@given(bin_number=st.integers(12, 220), volume=st.floats(0.01, 1))
def test_a_tone_is_where_it_is(bin_number: int, volume: float) -> None:
    tone = volume * np.sin(2 * np.pi * bin_number / FRAME * np.arange(4 * FRAME))
    values = frame_descriptors(tone)
    np.testing.assert_allclose(values[:, 1] * 257, bin_number, atol=0.25)
    # The tone's three bins hold a fifth, three fifths and a fifth of nearly all its power.
    np.testing.assert_allclose(values[:, 2] * 257, bin_number, atol=1.01)
    np.testing.assert_allclose(values[:, 0] * FRAME, 2 * bin_number, atol=2.01)


@pytest.mark.parametrize(("pitch_class", "hertz"), [(0, 440.0), (3, 523.25), (7, 659.26)])
def test_a_pitch_is_in_its_class(pitch_class: int, hertz: float) -> None:
    tone = 0.5 * np.sin(2 * np.pi * hertz / SAMPLE_RATE * np.arange(SAMPLE_RATE))
    chroma = describe(tone)[17:29]
    assert int(chroma.argmax()) == pitch_class
