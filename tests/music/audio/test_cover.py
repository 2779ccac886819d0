from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.source import media_type
from bandstand.music.audio.tags import MAX_COVER_BYTES, embedded_cover
from tests.fixtures.music.audio_files import apic, id3, make, picture
from tests.fixtures.music.sound_checks import read_file

if TYPE_CHECKING:
    from pathlib import Path

KINDS = {"mjpeg": "image/jpeg", "png": "image/png", "libwebp": "image/webp"}
BACK = 4


def cover_of(content: bytes) -> tuple[str, bytes] | None:
    return embedded_cover(io.BytesIO(content))


@pytest.fixture
def sound(tmp_path: Path) -> bytes:
    return make(tmp_path / "a.mp3", seconds=1, options={"id3v2_version": "0"}).read_bytes()


@pytest.mark.parametrize("suffix", [".flac", ".m4a", ".mp3", ".ogg", ".opus"])
@pytest.mark.parametrize(("codec", "kind"), KINDS.items())
def test_a_cover_comes_back_byte_by_byte(
    tmp_path: Path, suffix: str, codec: str, kind: str
) -> None:
    path = make(tmp_path / f"a{suffix}", seconds=1, cover=picture(codec))
    assert cover_of(path.read_bytes()) == (kind, picture(codec))
    assert read_file(path).tags.cover == kind


def test_a_file_without_a_cover_has_none(tmp_path: Path) -> None:
    for suffix in (".mp3", ".wav", ".mp4"):
        path = make(tmp_path / f"a{suffix}", seconds=1)
        assert cover_of(path.read_bytes()) is None
        assert read_file(path).tags.cover is None


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


def test_a_file_that_is_no_sound_is_refused() -> None:
    with pytest.raises(UnreadableAudioError, match="got a picture"):
        cover_of(picture())


def test_other_files_have_no_media_type() -> None:
    assert media_type(b"RIFF\0\0\0\0WAVE") is None
    assert media_type(b"") is None
