import io
import random
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.decode import claimed_length, counted_length, read
from bandstand.music.audio.descriptors.definition import CLIP_SAMPLES
from bandstand.music.audio.source import Source, tag_size
from bandstand.music.audio.tags import embedded_cover
from tests.fixtures.music.audio_files import (
    FILMS,
    FORMATS,
    apic,
    chunk,
    huge_png,
    id3,
    make,
    make_silent_film,
    melody,
    picture,
    wav,
)
from tests.fixtures.music.sound_checks import (
    loudness,
    read_bytes,
    read_file,
    seconds_into_the_melody,
)

LONG = 32.0  # seconds; its clip begins at 1
START = 1.0
# Those that keep every sample, and know where it is.
EXACT = (".aiff", ".au", ".caf", ".flac", ".tta", ".w64", ".wav", ".wv")
OTHER_CODECS = {
    ".aiff": ("pcm_f32be",),
    ".caf": ("alac",),
    ".m4a": ("alac",),
    ".mka": ("aac",),
    ".mkv": ("vorbis",),
    ".mov": ("pcm_s16le",),
    ".wav": ("adpcm_ms", "pcm_alaw", "pcm_f32le", "pcm_f64le", "pcm_s24le", "pcm_s64le", "pcm_u8"),
    ".wma": ("wmav1",),
}
OTHER = tuple((suffix, codec) for suffix, codecs in OTHER_CODECS.items() for codec in codecs)
USUAL = tuple((suffix, None) for suffix in FORMATS)
# With an index of another kind than the usual codec has there.
SOUGHT = ((".caf", "alac"), (".m4a", "alac"), (".mov", "pcm_s16le"), (".wav", "adpcm_ms"))


def pulses(seconds: float, rate: int = 16_000) -> bytes:
    """Return a melody as 16-bit samples."""
    return bytes(np.round(melody(seconds, rate=rate)[0] * 32767).astype("<i2"))


# ── Every format ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("suffix", "codec"), [*USUAL, *OTHER])
def test_a_short_track_is_decoded_whole(tmp_path: Path, suffix: str, codec: str | None) -> None:
    found = read_file(make(tmp_path / f"a{suffix}", seconds=2.5, codec=codec))
    assert found.duration == pytest.approx(2.5, abs=0.1)
    assert len(found.samples) / 16_000 == pytest.approx(2.5, abs=0.1)
    assert seconds_into_the_melody(found.samples, 2.5) == pytest.approx(0, abs=0.06)
    assert loudness(found.samples) == pytest.approx(0.188, rel=0.1)


@pytest.mark.parametrize(
    ("suffix", "codec"), [*(pair for pair in USUAL if pair[0] not in FILMS), *SOUGHT]
)
def test_the_middle_of_a_long_track_is_read(tmp_path: Path, suffix: str, codec: str | None) -> None:
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


# ── Samples ──────────────────────────────────────────────────────────────────────────────


def test_samples_that_are_already_right_come_back_as_they_were() -> None:
    data = pulses(3) + np.array([-32768, 32767], "<i2").tobytes()
    found = read_bytes(wav(data))
    np.testing.assert_array_equal(found.samples * 32768, np.frombuffer(data, "<i2"))
    assert found.duration == pytest.approx(3, abs=0.001)
    with pytest.raises(ValueError, match="read-only"):
        found.samples[0] = 1


@pytest.mark.parametrize("codec", ["pcm_s16le", "pcm_f32le", "pcm_s24le", "pcm_u8"])
def test_stereo_is_the_mean_of_both_channels(tmp_path: Path, codec: str) -> None:
    left = melody(1, rate=16_000)[0]
    both = np.stack([left, 0 * left])
    found = read_file(make(tmp_path / "a.wav", samples=both, rate=16_000, codec=codec))
    step = 1 / 64 if codec == "pcm_u8" else 1 / 8192
    np.testing.assert_allclose(found.samples, left / 2, atol=step)


def test_no_number_of_channels_makes_it_clip(tmp_path: Path) -> None:
    loud = 0.99 * np.sin(2 * np.pi * 440 * np.arange(44_100) / 44_100)
    for channels in (1, 2, 6):
        found = read_file(make(tmp_path / "a.flac", samples=loud, channels=channels))
        assert 0.9 < np.abs(found.samples[800:-800]).max() < 1


@pytest.mark.parametrize("rate", [8_000, 11_025, 48_000, 96_000, 192_000])
def test_a_tone_keeps_its_pitch_at_every_rate(rate: int) -> None:
    tone = np.sin(2 * np.pi * 1000 * np.arange(2 * rate) / rate) * 16_000
    found = read_bytes(wav(tone.astype("<i2").tobytes(), rate=rate))
    assert len(found.samples) == pytest.approx(32_000, abs=2)
    spectrum = np.abs(np.fft.rfft(found.samples[:16_000]))
    assert int(spectrum.argmax()) == 1000


def test_what_is_above_the_new_range_is_gone() -> None:
    tone = np.sin(2 * np.pi * 15_000 * np.arange(44_100) / 44_100) * 16_000
    found = read_bytes(wav(tone.astype("<i2").tobytes(), rate=44_100))
    assert loudness(found.samples) < 0.01


@pytest.mark.parametrize("seconds", [29.9, 30.02, 31.0])
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
def test_an_mp3_header_that_does_not_fit_is_not_believed(tmp_path: Path, change: str) -> None:
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


def test_a_stream_that_changes_its_rate_goes_on(tmp_path: Path) -> None:
    parts = [make(tmp_path / f"{rate}.mp2", seconds=8, rate=rate) for rate in (32_000, 48_000)]
    found = read_bytes(b"".join(part.read_bytes() for part in parts))
    assert len(found.samples) / 16_000 == pytest.approx(16, abs=0.3)


def test_strange_chunks_before_the_sound_are_passed_over() -> None:
    content = wav(pulses(1))
    odd = chunk(b"junk", bytes(99_999)) + chunk(b"LIST", b"INFO" + bytes(7))
    found = read_bytes(content[:12] + odd + content[12:])
    assert found.duration == pytest.approx(1)


# ── What holds no sound is refused ───────────────────────────────────────────────────────


TONE = (np.sin(np.arange(16_000) / 5) * 9000).astype("<i2").tobytes()
M3U = b"#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n"
HLS = (
    b"#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n"
    b"file:///etc/passwd\n#EXT-X-ENDLIST\n"
)


def floats(*odd: float) -> bytes:
    samples = np.zeros(16_000, "<f4")
    samples[8_000 : 8_000 + len(odd)] = odd
    return wav(samples.tobytes(), bits=32, kind=3)


REFUSED: dict[str, list[bytes]] = {
    "expected audio, got an empty file": [b""],
    "damaged or no known format": [b"\0", bytes(100_000), b"hello, world\n" * 1000],
    "got a playlist": [
        M3U,
        HLS,
        b"[playlist]\nFile1=http://localhost/\n",
        b"ffconcat version 1.0\nfile '/etc/passwd'\n",
    ],
    "got a web page or another text": [b'<?xml version="1.0"?><playlist/>'],
    "got a picture": [*map(picture, ("mjpeg", "png", "libwebp")), b"GIF89a" + bytes(100)],
    "got a ZIP archive": [b"PK\x03\x04" + bytes(100)],
    "got a PDF document": [b"%PDF-1.7\n"],
    "got a MIDI file": [b"MThd\0\0\0\6\0\1\0\1\0\x60"],
    "expected": [b"RIFF\x24\0\0\0WAVE", wav(TONE, rate=0)],
    "at least 512 samples at 16 kHz, got 0": [wav(b"")],
    "at least 512 samples at 16 kHz, got 1": [wav(b"\1\0")],
    "at least 512 samples at 16 kHz, got 511": [wav(TONE[: 2 * 511])],
    "512 samples at 16 kHz, got 450": [wav(b"")[:40] + b"\xff\xff\xff\xff" + TONE[:900]],
    "1,000 to 1,000,000 Hz, got 1 Hz": [wav(TONE, rate=1)],
    "1,000 to 1,000,000 Hz, got 10,000,000 Hz": [wav(TONE, rate=10_000_000)],
    "mixed to one, got 255 channels": [wav(bytes(255 * 2 * 9000), channels=255)],
    "expected an audio stream that can be decoded": [wav(TONE, kind=0x1234)],
    "finite numbers, got NaN or infinity": [*map(floats, (np.nan, np.inf, -np.inf))],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_no_sound_is_refused_with_a_reason(reason: str) -> None:
    for content in REFUSED[reason]:
        with pytest.raises(UnreadableAudioError) as caught:
            read_bytes(content)
        assert reason in str(caught.value)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 150


def test_the_shortest_clip_is_one_frame() -> None:
    assert len(read_bytes(wav(TONE[: 2 * 512])).samples) == 512


@pytest.mark.parametrize("suffix", [".mkv", ".mp4"])
def test_a_film_without_sound_is_refused(tmp_path: Path, suffix: str) -> None:
    content = make_silent_film(tmp_path / f"a{suffix}").read_bytes()
    with pytest.raises(UnreadableAudioError, match=r"expected an audio stream .* got none"):
        read_bytes(content)


def test_loud_floats_are_clipped_and_not_refused() -> None:
    found = read_bytes(floats(1e30, -1e30, 2.0))
    assert np.abs(found.samples).max() <= 1


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_the_beginning_of_a_file_is_read_or_refused(tmp_path: Path, suffix: str) -> None:
    content = make(tmp_path / f"a{suffix}", seconds=1).read_bytes()
    for tenth in range(10):
        try:
            found = read_bytes(content[: len(content) * tenth // 10])
        except UnreadableAudioError:
            continue
        assert found.duration <= 1.1


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_damaged_files_are_read_or_refused_and_never_anything_else(
    tmp_path: Path, suffix: str, capfd: pytest.CaptureFixture[str]
) -> None:
    content = make(tmp_path / f"a{suffix}", seconds=0.5, tags={"title": "T"}).read_bytes()
    rng = random.Random(suffix)
    for _ in range(25):
        damaged = bytearray(content)
        for _ in range(rng.choice((1, 5, 50))):
            damaged[rng.randrange(min(len(damaged), rng.choice((200, 10**9))))] = rng.randrange(256)
        for look in (read, embedded_cover):
            with suppress(UnreadableAudioError):
                look(io.BytesIO(damaged))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("size", [1, 100, 10_000, 300_000])
def test_random_bytes_are_read_or_refused(size: int) -> None:
    for seed in range(5):
        with suppress(UnreadableAudioError):
            found = read_bytes(np.random.default_rng(seed).bytes(size))
            assert np.isfinite(found.samples).all()


def test_what_a_file_points_to_is_not_opened(tmp_path: Path) -> None:
    secret = make(tmp_path / "secret.wav", seconds=3)
    for disguise in (
        f"#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\nfile://{secret}\n#EXT-X-ENDLIST\n",
        f"ffconcat version 1.0\nfile {secret}\n",
        f"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\na=control:{secret}\n",
        f"<SMIL><audio src='{secret}'/></SMIL>",
    ):
        path = tmp_path / "innocent.mp3"
        path.write_text(disguise, encoding="utf-8")
        with path.open("rb") as file, pytest.raises(UnreadableAudioError):
            read(file, extension=".mp3")


def test_a_cover_of_a_gigabyte_is_never_decoded(tmp_path: Path) -> None:
    content = make(tmp_path / "a.mp3", seconds=1, cover=huge_png()).read_bytes()
    found = read_bytes(content)
    assert found.tags.cover is None  # it could not be shown
    assert found.duration == pytest.approx(1, abs=0.1)


def test_a_tag_of_many_megabytes_hides_no_sound(tmp_path: Path) -> None:
    sound = make(tmp_path / "a.mp3", seconds=1, options={"id3v2_version": "0"}).read_bytes()
    noise = np.random.default_rng(0).bytes(8_000_000)
    long_title = ("e" + "\u0301\u0316" * 2_000_000).encode()
    for tag in (
        id3(apic(b"\xff\xd8\xff" + noise)),
        id3((b"TIT2", b"\0" + b"x" * 8_000_000)),
        id3((b"TIT2", b"\3" + long_title), version=4),
        id3((b"PRIV", noise), (b"TIT2", b"\0Title")),
    ):
        assert read_bytes(tag + sound).duration == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("size", "seconds"), [(2**28 - 1, None), (5_000, 0.73), (11, 1.04), (0, 1.04)]
)
def test_a_tag_that_lies_about_its_size_costs_the_sound_that_it_claims(
    tmp_path: Path, size: int, seconds: float | None
) -> None:
    sound = make(tmp_path / "a.mp3", seconds=1, options={"id3v2_version": "0"}).read_bytes()
    length = bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))
    content = b"ID3\4\0\0" + length + struct.pack(">4sI", b"TIT2", 2**31) + sound
    if seconds is None:
        with pytest.raises(UnreadableAudioError, match="expected audio"):
            read_bytes(content)
    else:
        assert read_bytes(content).duration == pytest.approx(seconds, abs=0.1)


# ── The source itself ────────────────────────────────────────────────────────────────────


class Broken(io.BytesIO):
    """A disk that fails after some bytes."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() > 100:
            raise OSError(5, "Input/output error")
        return super().read(min(size or 0, 101))


def test_a_source_ends_when_its_bytes_are_spent() -> None:
    source = Source(io.BytesIO(bytes(100)), limit=60)
    assert [len(source.read(40)) for _ in range(3)] == [40, 20, 0]
    assert source.is_spent()
    source.renew()
    assert not source.is_spent()
    assert len(source.read()) == 40


def test_a_source_has_no_name() -> None:
    with open(__file__, "rb") as file:
        assert not hasattr(Source(file), "name")


@pytest.mark.parametrize(("offset", "whence"), [(-1, 0), (-1000, 2), (2**80, 0)])
def test_places_that_are_nowhere_raise_nothing(offset: int, whence: int) -> None:
    assert Source(io.BytesIO(b"abc")).seek(offset, whence) <= 0


def test_an_error_of_the_disk_is_not_taken_for_damage(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnreadableAudioError, match="could not be read: Input/output error"):
        read(Broken(b"OggS" + bytes(1000)))
    with pytest.raises(UnreadableAudioError):
        read(Broken(wav(bytes(100_000))))
    assert capfd.readouterr() == ("", "")
