"""The type and the size of a picture, by its first bytes; nothing is decoded.

A picture that claims more pixels than any cover has is refused: one of a few kilobytes can claim
gigabytes.
"""

from __future__ import annotations

import struct
from typing import Final

from bandstand.errors import UnreadableAudioError

MAX_PIXELS: Final = 36_000_000  # 6,000 by 6,000
MAX_SIDE: Final = 10_000

# Of a JPEG: frames of any kind (SOF), but not tables (DHT, JPG, DAC) with numbers among them.
_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH: Final = frozenset({0x01, *range(0xD0, 0xD9)})
_MAX_JPEG_SEGMENTS: Final = 1_000


def media_type(image: bytes) -> str | None:
    """Return the media type of a JPEG, PNG or WebP that begins like this, None of all else.

    >>> media_type(bytes.fromhex("ffd8ffe0")), media_type(b"<svg>")
    ('image/jpeg', None)
    """
    if image.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if image.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if image.startswith(b"RIFF") and image[8:12] == b"WEBP":
        return "image/webp"
    return None


def claimed_size(image: bytes) -> tuple[int, int] | None:
    """Return the width and height of a JPEG, PNG or WebP in pixels; None if it does not say.

    >>> claimed_size(bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes([0, 0, 1, 0] * 2))
    (256, 256)
    """
    if image.startswith(b"\x89PNG\r\n\x1a\n"):
        return _png_size(image)
    if image.startswith(b"RIFF") and image[8:12] == b"WEBP":
        return _webp_size(image)
    return _jpeg_size(image) if image.startswith(b"\xff\xd8") else None


def checked_picture(image: bytes) -> str:
    """Return the media type of a picture that a cover may be; refuse all others."""
    kind, size = media_type(image), claimed_size(image)
    if kind is None or size is None:
        msg = "expected a JPEG, PNG or WebP picture, got something else"
        raise UnreadableAudioError(msg)
    check_size(*size)
    return kind


def check_size(width: int, height: int) -> None:
    """Refuse a picture of more pixels than any cover has."""
    sides_fit = 0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE
    if not sides_fit or width * height > MAX_PIXELS:
        msg = (
            f"expected a picture of at most {MAX_PIXELS:,} pixels and {MAX_SIDE:,} a side, "
            f"got {width:,} × {height:,}"
        )
        raise UnreadableAudioError(msg)


def _png_size(image: bytes) -> tuple[int, int] | None:
    if len(image) < 24 or image[12:16] != b"IHDR":
        return None
    width, height = struct.unpack(">II", image[16:24])
    return width, height


def _jpeg_size(image: bytes) -> tuple[int, int] | None:
    place = 2
    for _ in range(_MAX_JPEG_SEGMENTS):
        while image[place : place + 2] == b"\xff\xff":  # padding
            place += 1
        if len(image) < place + 9 or image[place] != 0xFF:
            return None
        marker = image[place + 1]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", image[place + 5 : place + 9])
            return width, height
        length = int.from_bytes(image[place + 2 : place + 4], "big")
        place += 2 if marker in _JPEG_WITHOUT_LENGTH else 2 + length
    return None


def _webp_size(image: bytes) -> tuple[int, int] | None:
    kind, data = image[12:16], image[20:30]
    if len(data) < 10:
        return None
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[4:7], "little"), 1 + int.from_bytes(data[7:10], "little")
    if kind == b"VP8L" and data[0] == 0x2F:
        bits = int.from_bytes(data[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and data[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[6:10])
        return width & 0x3FFF, height & 0x3FFF
    return None
