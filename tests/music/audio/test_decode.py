from __future__ import annotations

import io
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bandstand.music.audio.decode import claimed_length, counted_length
from bandstand.music.audio.descriptors.definition import CLIP_SAMPLES
from bandstand.music.audio.source import Source, tag_size
from tests.fixtures.music.audio_files import FILMS, FORMATS, chunk, make, melody, wav
from tests.fixtures.music.sound_checks import (
    loudness,
    read_bytes,
    read_file,
    seconds_into_the_melody,
)

if TYPE_CHECKING:
    from pathlib import Path

LONG = 32.0  # seconds; its clip begins at 1
START = 1.0
# Those that keep every sample, and know where it is.
EXACT = (".aiff", ".au", ".caf", ".flac", ".tta", ".w64", ".wav", ".wv")
OTHER_CODECS = (
    (".aiff", "pcm_f32be"),
    (".aiff", "pcm_s24be"),
    (".caf", "alac"),
    (".m4a", "alac"),
    (".mka", "aac"),
    (".mkv", "vorbis"),
    (".mov", "pcm_s16le"),
    (".wav", "adpcm_ima_wav"),
    (".wav", "adpcm_ms"),
    (".wav", "pcm_alaw"),
    (".wav", "pcm_f32le"),
    (".wav", "pcm_f64le"),
    (".wav", "pcm_mulaw"),
    (".wav", "pcm_s24le"),
    (".wav", "pcm_s32le"),
    (".wav", "pcm_s64le"),
    (".wav", "pcm_u8"),
    (".wma", "wmav1"),
)
USUAL = tuple((suffix, None) for suffix in FORMATS)
# With an index of another kind than the usual codec has there.
SOUGHT = ((".caf", "alac"), (".m4a", "alac"), (".mov", "pcm_s16le"), (".wav", "adpcm_ms"))


def pulses(seconds: float, rate: int = 16_000) -> bytes:
    """Return a melody as 16-bit samples."""
    return bytes(np.round(melody(seconds, rate=rate)[0] * 32767).astype("<i2"))


# ── Every format ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("suffix", "codec"), [*USUAL, *OTHER_CODECS])
def test_a_short_track_is_decoded_whole(tmp_path: Path, suffix: str, codec: str | None) -> None:
    found = read_file(make(tmp_path / f"a{suffix}", seconds=2.5, codec=codec))
    assert found.duration == pytest.approx(2.5, abs=0.1)
    assert len(found.samples) / 16_000 == pytest.approx(2.5, abs=0.1)
    assert seconds_into_the_melody(found.samples, 2.5) == pytest.approx(0, abs=0.06)
    assert loudness(found.samples) == pytest.approx(0.188, rel=0.1)


@pytest.mark.parametrize(
    ("suffix", "codec"), [*(pair for pair in USUAL if pair[0] not in FILMS), *SOUGHT]
)
def test_the_middle_of_a_long_track_is_found(
    tmp_path: Path, suffix: str, codec: str | None
) -> None:
    channels = 2 if suffix == ".ogg" else 1  # the Vorbis encoder knows stereo only
    path = tmp_path / f"a{suffix}"
    found = read_file(make(path, seconds=LONG, codec=codec, channels=channels, film=False))
    assert found.duration == pytest.approx(LONG, abs=0.1)
    assert CLIP_SAMPLES - 1000 < len(found.samples) <= CLIP_SAMPLES
    # ADPCM is packed in blocks of a fifth of a second, and time stamps are those of blocks.
    blurred = 0.3 if codec is not None and codec.startswith("adpcm") else 0.06
    assert seconds_into_the_melody(found.samples, LONG) == pytest.approx(START, abs=blurred)


@pytest.mark.parametrize("suffix", EXACT)
def test_a_lossless_clip_is_exact_to_the_sample(tmp_path: Path, suffix: str) -> None:
    rate = 44_100
    tune = melody(LONG, rate=rate)[0]
    found = read_file(make(tmp_path / f"a{suffix}", samples=tune))
    piece = tune[int(START * rate) : int((START + 30) * rate)]
    alone = read_file(make(tmp_path / "b.wav", samples=piece))
    np.testing.assert_array_equal(found.samples, alone.samples)


@pytest.mark.parametrize("suffix", [".avi", ".mkv", ".mp4", ".ts"])
def test_the_sound_of_a_film_is_found_beside_its_picture(tmp_path: Path, suffix: str) -> None:
    found = read_file(make(tmp_path / f"a{suffix}", seconds=33, channels=1, film=True))
    assert len(found.samples) == pytest.approx(CLIP_SAMPLES, abs=1000)
    assert seconds_into_the_melody(found.samples, 33) == pytest.approx(1.5, abs=0.06)


# ── Samples ──────────────────────────────────────────────────────────────────────────────


def test_samples_that_are_already_right_come_back_as_they_were() -> None:
    data = pulses(3)
    found = read_bytes(wav(data))
    np.testing.assert_array_equal(found.samples * 32768, np.frombuffer(data, "<i2"))
    assert found.duration == 3


def test_full_scale_is_minus_one_to_almost_one() -> None:
    found = read_bytes(wav(np.array([-32768, 32767] * 512, "<i2").tobytes()))
    assert (found.samples.min(), found.samples.max()) == (-1.0, 32767 / 32768)


def test_samples_cannot_be_changed() -> None:
    found = read_bytes(wav(pulses(1)))
    with pytest.raises(ValueError, match="read-only"):
        found.samples[0] = 1


@pytest.mark.parametrize("codec", ["pcm_s16le", "pcm_f32le", "pcm_s24le", "pcm_u8"])
def test_stereo_is_the_mean_of_both_channels(tmp_path: Path, codec: str) -> None:
    left = melody(1, rate=16_000)[0]
    both = np.stack([left, 0 * left])
    found = read_file(make(tmp_path / "a.wav", samples=both, rate=16_000, codec=codec))
    step = 1 / 64 if codec == "pcm_u8" else 1 / 8192
    np.testing.assert_allclose(found.samples, left / 2, atol=step)


def test_channels_that_cancel_are_silence(tmp_path: Path) -> None:
    tune = melody(1)[0]
    found = read_file(make(tmp_path / "a.flac", samples=np.stack([tune, -tune])))
    assert np.abs(found.samples).max() < 1e-3


def test_no_number_of_channels_makes_it_clip(tmp_path: Path) -> None:
    loud = 0.99 * np.sin(2 * np.pi * 440 * np.arange(44_100) / 44_100)
    for channels in (1, 2, 6):
        found = read_file(make(tmp_path / "a.flac", samples=loud, channels=channels))
        assert 0.9 < np.abs(found.samples[800:-800]).max() < 1


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 48_000, 96_000, 192_000])
def test_a_tone_keeps_its_pitch_at_every_rate(rate: int) -> None:
    tone = np.sin(2 * np.pi * 1000 * np.arange(2 * rate) / rate) * 16_000
    found = read_bytes(wav(tone.astype("<i2").tobytes(), rate=rate))
    assert len(found.samples) == pytest.approx(32_000, abs=2)
    spectrum = np.abs(np.fft.rfft(found.samples[:16_000]))
    assert int(spectrum.argmax()) == 1000


def test_a_tone_is_not_taken_for_a_broadcast() -> None:
    # Its period is 192 bytes, as long as a packet of a broadcast.
    tone = np.sin(2 * np.pi * 1000 * np.arange(96_000) / 96_000) * 16_000
    assert read_bytes(wav(tone.astype("<i2").tobytes(), rate=96_000)).duration == 1


def test_what_is_above_the_new_range_is_gone() -> None:
    tone = np.sin(2 * np.pi * 15_000 * np.arange(44_100) / 44_100) * 16_000
    found = read_bytes(wav(tone.astype("<i2").tobytes(), rate=44_100))
    assert loudness(found.samples) < 0.01


def test_the_same_file_gives_the_same_samples_every_time(tmp_path: Path) -> None:
    path = make(tmp_path / "a.mp3", seconds=LONG)
    np.testing.assert_array_equal(read_file(path).samples, read_file(path).samples)


@pytest.mark.parametrize("seconds", [29.9, 30.0, 30.02, 30.6, 31.0])
def test_around_thirty_seconds_nothing_is_lost(seconds: float) -> None:
    found = read_bytes(wav(pulses(seconds)))
    assert len(found.samples) == min(round(seconds * 16_000), CLIP_SAMPLES)
    assert found.duration == pytest.approx(seconds, abs=1e-3)


# ── Headers that lie, or say nothing ─────────────────────────────────────────────────────


@pytest.mark.parametrize("suffix", [".flac", ".mkv", ".mp3", ".ogg", ".wav", ".wma"])
def test_a_truncated_track_gives_the_middle_of_the_rest(tmp_path: Path, suffix: str) -> None:
    content = make(tmp_path / f"a{suffix}", seconds=50, film=False).read_bytes()
    for share in (0.35, 0.55, 0.75):
        found = read_bytes(content[: int(len(content) * share)])
        assert len(found.samples) > 12 * 16_000
        begin = seconds_into_the_melody(found.samples, 50)
        # A clip that is all there where the header promised it is taken; else that of the rest.
        middles = [(50 - 30) / 2, max(50 * share - 30, 0) / 2]
        assert min(abs(begin - middle) for middle in middles) < 2.5


def test_a_header_that_promises_too_much_is_not_believed() -> None:
    content = bytearray(wav(pulses(40)))
    content[40:44] = (2**31).to_bytes(4, "little")
    found = read_bytes(bytes(content))
    assert seconds_into_the_melody(found.samples, 40) == pytest.approx(5, abs=0.1)


def test_a_header_that_promises_too_little_is_not_believed(tmp_path: Path) -> None:
    content = bytearray(make(tmp_path / "a.flac", seconds=50).read_bytes())
    samples = int.from_bytes(content[18:26], "big")
    content[18:26] = (samples >> 36 << 36 | 10 * 44_100).to_bytes(8, "big")
    found = read_bytes(bytes(content))
    assert found.duration == pytest.approx(50, abs=0.2)
    assert seconds_into_the_melody(found.samples, 50) == pytest.approx(10, abs=0.3)


@pytest.mark.parametrize("suffix", [".aac", ".ac3", ".mp2"])
def test_raw_streams_are_counted(tmp_path: Path, suffix: str) -> None:
    with make(tmp_path / f"a{suffix}", seconds=41).open("rb") as file:
        assert claimed_length(Source(file)) is None
        assert counted_length(Source(file)).counted == pytest.approx(41, abs=0.1)
    found = read_file(tmp_path / f"a{suffix}")
    assert found.duration == pytest.approx(41, abs=0.1)


def test_an_mp3_of_changing_rate_without_a_header_is_counted(tmp_path: Path) -> None:
    quiet = make(tmp_path / "a.mp3", samples=np.zeros(44_100 * 20), options={"write_xing": "0"})
    busy = make(tmp_path / "b.mp3", seconds=20, options={"write_xing": "0"})
    found = read_bytes(quiet.read_bytes() + busy.read_bytes())
    assert found.duration == pytest.approx(40, abs=0.2)


@pytest.mark.parametrize("change", ["junk in front", "put together", "cut"])
def test_an_mp3_header_that_does_not_fit_the_file_is_not_believed(
    tmp_path: Path, change: str
) -> None:
    noise = np.random.default_rng(1).normal(scale=0.2, size=44_100 * 40)
    samples = np.concatenate([np.zeros(44_100 * 80), noise])  # a rate that changes a lot
    whole = make(tmp_path / "a.mp3", samples=samples, options={"q": "2"}).read_bytes()
    changed = {
        "junk in front": bytes(1_000) + whole[tag_size(whole) :],
        "put together": whole + whole,
        "cut": whole[: len(whole) * 3 // 4],
    }
    found = read_bytes(changed[change])
    if change == "cut":
        assert found.duration < 115
    else:
        expected = 240 if change == "put together" else 120
        assert found.duration == pytest.approx(expected, abs=0.3)


def test_counting_ends_after_so_many_packets(tmp_path: Path) -> None:
    with make(tmp_path / "a.ac3", seconds=20).open("rb") as file:
        length = counted_length(Source(file), max_packets=100)
    assert length.counted == pytest.approx(100 * 1536 / 44_100, abs=0.01)
    assert length.whole > length.counted


def test_reading_ends_after_so_many_bytes(tmp_path: Path) -> None:
    content = make(tmp_path / "a.ac3", seconds=20).read_bytes()
    length = counted_length(Source(io.BytesIO(content), limit=len(content) // 2))
    assert 3 < length.counted < 15
    assert length.whole > length.counted


def test_damage_in_the_middle_costs_only_what_is_damaged(tmp_path: Path) -> None:
    content = bytearray(make(tmp_path / "a.mp3", seconds=LONG).read_bytes())
    middle = len(content) // 2
    content[middle : middle + 3000] = np.random.default_rng(1).bytes(3000)
    found = read_bytes(bytes(content))
    assert len(found.samples) > 29 * 16_000
    assert seconds_into_the_melody(found.samples, LONG) == pytest.approx(START, abs=0.3)


def test_a_stream_that_changes_its_rate_goes_on(tmp_path: Path) -> None:
    parts = [make(tmp_path / f"{rate}.mp2", seconds=8, rate=rate) for rate in (32_000, 48_000)]
    found = read_bytes(b"".join(part.read_bytes() for part in parts))
    assert len(found.samples) / 16_000 == pytest.approx(16, abs=0.3)


def test_strange_chunks_before_the_sound_are_passed_over() -> None:
    content = wav(pulses(1))
    odd = chunk(b"junk", bytes(99_999)) + chunk(b"LIST", b"INFO" + bytes(7))
    found = read_bytes(content[:12] + odd + content[12:])
    assert found.duration == pytest.approx(1)


def test_the_name_of_a_format_does_not_matter(tmp_path: Path) -> None:
    for true, false in product((".mp3", ".flac"), (".wav", ".mod", ".txt")):
        content = make(tmp_path / f"a{true}", seconds=1).read_bytes()
        assert read_bytes(content, extension=false).duration == pytest.approx(1, abs=0.1)
