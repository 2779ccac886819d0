"""Files that hold no sound, or none that can be: refused with one plain sentence."""

from __future__ import annotations

import io
import random
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.decode import read
from bandstand.music.audio.tags import embedded_cover
from tests.fixtures.music.audio_files import (
    FORMATS,
    apic,
    huge_png,
    id3,
    make,
    make_silent_film,
    picture,
    wav,
)
from tests.fixtures.music.sound_checks import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "expected audio, got an empty file"),
        (b"\0", "damaged or no known format"),
        (bytes(100_000), "damaged or no known format"),
        (b"hello, world\n" * 1000, "damaged or no known format"),
        (M3U, "got a playlist"),
        (HLS, "got a playlist"),
        (b"[playlist]\nFile1=http://localhost/\n", "got a playlist"),
        (b"ffconcat version 1.0\nfile '/etc/passwd'\n", "got a playlist"),
        (b'<?xml version="1.0"?><playlist/>', "got a web page or another text"),
        (picture("mjpeg"), "got a picture"),
        (picture("png"), "got a picture"),
        (picture("libwebp"), "got a picture"),
        (b"GIF89a" + bytes(100), "got a picture"),
        (b"PK\x03\x04" + bytes(100), "got a ZIP archive"),
        (b"%PDF-1.7\n", "got a PDF document"),
        (b"MThd\0\0\0\6\0\1\0\1\0\x60", "got a MIDI file"),
        (b"RIFF\x24\0\0\0WAVE", "damaged or no known format"),
        (wav(b""), "at least 512 samples at 16 kHz, got 0"),
        (wav(b"\1\0"), "at least 512 samples at 16 kHz, got 1"),
        (wav(TONE[: 2 * 511]), "at least 512 samples at 16 kHz, got 511"),
        (wav(TONE, rate=0), "expected"),
        (wav(TONE, rate=1), "1,000 to 1,000,000 Hz, got 1 Hz"),
        (wav(TONE, rate=10_000_000), "1,000 to 1,000,000 Hz, got 10,000,000 Hz"),
        (wav(bytes(255 * 2 * 9000), channels=255), "mixed to one, got 255 channels"),
        (wav(TONE, kind=0x1234), "expected an audio stream that can be decoded"),
        (floats(np.nan), "finite numbers, got NaN or infinity"),
        (floats(np.inf), "finite numbers, got NaN or infinity"),
        (floats(-np.inf), "finite numbers, got NaN or infinity"),
        (wav(b"")[:40] + b"\xff\xff\xff\xff" + TONE[:900], "512 samples at 16 kHz, got 450"),
    ],
)
def test_what_is_no_sound_is_refused_with_a_reason(content: bytes, reason: str) -> None:
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


@pytest.mark.parametrize("size", [2**28 - 1, 5_000, 11, 0])
def test_a_tag_that_lies_about_its_size_raises_nothing_new(tmp_path: Path, size: int) -> None:
    sound = make(tmp_path / "a.mp3", seconds=1, options={"id3v2_version": "0"}).read_bytes()
    length = bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))
    with suppress(UnreadableAudioError):
        read_bytes(b"ID3\4\0\0" + length + struct.pack(">4sI", b"TIT2", 2**31) + sound)
