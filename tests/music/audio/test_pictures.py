"""Covers inside audio files, and thumbnails."""

import io
from contextlib import suppress
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.source import checked_picture, claimed_size, media_type
from bandstand.music.audio.tags import MAX_COVER_BYTES, embedded_cover, thumbnail
from tests.fixtures.music.audio_files import apic, huge_png, id3, make, picture
from tests.fixtures.music.handmade_tags import jpeg
from tests.fixtures.music.sound_checks import read_file

KINDS = {"mjpeg": "image/jpeg", "png": "image/png", "libwebp": "image/webp"}
BACK = 4


def cover_of(content: bytes) -> tuple[str, bytes] | None:
    return embedded_cover(io.BytesIO(content))


@pytest.fixture
def sound(tmp_path: Path) -> bytes:
    return make(tmp_path / "a.mp3", seconds=1, options={"id3v2_version": "0"}).read_bytes()


@pytest.mark.parametrize("suffix", [".flac", ".m4a", ".mp3", ".ogg", ".opus"])
@pytest.mark.parametrize(("codec", "kind"), KINDS.items())
def test_a_cover_comes_back_as_it_was(tmp_path: Path, suffix: str, codec: str, kind: str) -> None:
    path = make(tmp_path / f"a{suffix}", seconds=1, cover=picture(codec))
    assert cover_of(path.read_bytes()) == (kind, picture(codec))
    assert read_file(path).tags.cover == kind


def test_the_front_cover_comes_before_others(sound: bytes) -> None:
    name, content = apic(picture("png"), b"image/png")
    back = name, content.replace(b"image/png\0\x03", b"image/png\0" + bytes([BACK]))
    assert cover_of(id3(back, apic(picture())) + sound) == ("image/jpeg", picture())
    assert cover_of(id3(back) + sound) == ("image/png", picture("png"))


@pytest.mark.parametrize(
    "image",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<html><script>alert(1)</script></html>",
        b"GIF89a" + bytes(100),
        b"PK\x03\x04" + bytes(100),
        b"\xff\xd8",
        b"",
    ],
)
def test_only_pictures_that_browsers_just_show_count(sound: bytes, image: bytes) -> None:
    for kind in (b"image/jpeg", b"image/png", b"image/svg+xml", b"text/html", b"-->"):
        assert cover_of(id3(apic(image, kind)) + sound) is None


def test_the_kind_is_what_the_bytes_say_and_not_the_tag(sound: bytes) -> None:
    assert cover_of(id3(apic(picture(), b"image/png")) + sound) == ("image/jpeg", picture())


def test_a_cover_that_is_too_large_is_left_alone(sound: bytes) -> None:
    image = picture() + bytes(MAX_COVER_BYTES)
    assert cover_of(id3(apic(image)) + sound) is None
    assert cover_of(id3(apic(image[:MAX_COVER_BYTES])) + sound) == (
        "image/jpeg",
        image[:MAX_COVER_BYTES],
    )


CODECS = ("mjpeg", "png", "libwebp")


def pixels(image: bytes) -> NDArray[np.uint8]:
    decoder: Any = av.CodecContext.create("mjpeg", "r")
    frames = [*decoder.decode(av.Packet(image)), *decoder.decode(None)]
    array: NDArray[np.uint8] = frames[0].to_ndarray(format="gray")
    return array


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [(600, 300), (300, 600), (512, 512), (16, 16), (1, 700)])
def test_the_longer_side_is_what_was_asked_for(codec: str, size: tuple[int, int]) -> None:
    width, height = size
    image = picture(codec, width=width, height=height)
    assert claimed_size(image) == size
    scale = min(1, 64 / max(size))
    expected = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = thumbnail(image, 64)
    assert media_type(small) == "image/jpeg"
    assert claimed_size(small) == expected
    assert np.all(np.abs(pixels(small).astype(int) - 128) <= 12)  # still grey


@pytest.mark.parametrize(
    "image",
    [b"", b"<svg>", b"GIF89a", huge_png(), jpeg(60_000, 10), jpeg(9_000, 9_000), jpeg(0, 0),
     b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBP", b"RIFF\0\0\0\0WAVE"],
    ids=lambda image: repr(image[:12]),
)  # fmt: skip
def test_what_no_cover_can_be_is_refused_before_it_is_decoded(image: bytes) -> None:
    with pytest.raises(UnreadableAudioError, match="expected a"):
        checked_picture(image)


@given(
    st.sampled_from(CODECS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=9)
)
def test_a_changed_picture_is_refused_or_shown(
    codec: str, changes: list[tuple[float, int]]
) -> None:
    image = bytearray(picture(codec, width=40, height=30))
    for place, value in changes:
        image[int(place * (len(image) - 1))] = value
    with suppress(UnreadableAudioError):
        assert media_type(thumbnail(bytes(image), 64)) == "image/jpeg"


@given(st.sampled_from([b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBP"]), st.binary())
def test_a_header_of_any_bytes_claims_a_size_or_none(start: bytes, rest: bytes) -> None:
    size = claimed_size(start + rest)
    assert size is None or all(0 <= side < 2**32 for side in size)
