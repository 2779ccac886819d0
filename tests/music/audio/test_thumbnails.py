from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.source import checked_picture, claimed_size, media_type
from bandstand.music.audio.tags import thumbnail
from tests.fixtures.music.audio_files import huge_png, picture
from tests.fixtures.music.handmade_tags import jpeg

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


@pytest.mark.parametrize("codec", CODECS)
def test_a_picture_that_was_cut_is_refused_or_shown_in_part(codec: str) -> None:
    image = picture(codec, width=200, height=200)
    for length in range(0, len(image), max(1, len(image) // 20)):
        try:
            small = thumbnail(image[:length], 64)
        except UnreadableAudioError:
            continue
        assert claimed_size(small) == (64, 64)


@given(
    st.sampled_from(CODECS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=9)
)
def test_a_picture_that_was_changed_is_refused_or_shown(
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
