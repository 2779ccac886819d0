"""A bounded file, and what its first bytes say; no decoder is loaded for it.

ffmpeg is given the name of the container if the first bytes leave no doubt. ffmpeg guesses from
all of the first megabyte, and the content can mislead it: a tone whose period is that of a
broadcast's packets, or a large cover in front of the sound.
"""

import io
import re
import struct
from typing import BinaryIO, Final

from bandstand.errors import UnreadableAudioError

# ── A bounded file ──────────────────────────────────────────────────────────────────────

# Bytes per opening of the file, of which there are a handful. A clip needs a few megabytes,
# that of a film a few hundred.
MAX_READ_BYTES: Final = 1 << 29
# Calls, since a decoder can also be led around in small steps. It reads 32 kB at a time.
MAX_READ_CALLS: Final = 1 << 17


class Source:
    """A readable, seekable file that ends at a limit of bytes and calls.

    It has no name, so no decoder can open its neighbours. Errors of the file are kept in
    `problem` and look like its end: PyAV prints some of those that cross it.
    """

    def __init__(
        self, file: BinaryIO, *, limit: int = MAX_READ_BYTES, calls: int = MAX_READ_CALLS
    ) -> None:
        self._file = file
        self._limits = (limit, calls)
        self._left, self._calls_left = self._limits
        self.problem: OSError | None = None

    def renew(self) -> None:
        """Reset the limits."""
        self._left, self._calls_left = self._limits

    def is_spent(self) -> bool:
        """Return whether a limit was reached."""
        return self._left <= 0 or self._calls_left < 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`; none at the end or beyond the limits."""
        allowed = self._left if size < 0 else min(size, self._left)
        if allowed <= 0 or not self._may_call():
            return b""
        try:
            data = self._file.read(allowed)
        except OSError as problem:
            self.problem = problem
            return b""
        self._left -= len(data)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Return the new position, or -1 if there is no such place."""
        try:
            return self._file.seek(offset, whence) if self._may_call() else -1
        except (OSError, ValueError, OverflowError):
            return -1

    def tell(self) -> int:
        """Return the position."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Return True: the decoder may seek."""
        return True

    def head(self, size: int) -> bytes:
        """Return the first bytes, and go back to the beginning."""
        self.seek(0)
        data = self.read(size)
        self.seek(0)
        return data

    def _may_call(self) -> bool:
        self._calls_left -= 1
        return self._calls_left >= 0


# ── ID3v2 tags ──────────────────────────────────────────────────────────────────────────

_ID3_HEADER_BYTES: Final = 10  # bytes
# Picard keeps the recording's identifier here, where neither PyAV nor tinytag looks.
_IDENTIFIER: Final = re.compile(rb"http://musicbrainz\.org\0([0-9A-Fa-f-]{36})")
_MAX_IDENTIFIER_BYTES: Final = 1 << 20  # bytes


def tag_size(head: bytes) -> int:
    r"""Return the length in bytes of the tag of a file that begins with `head`; 0 if there is none.

    >>> tag_size(b"ID3\x04\x00\x00\x00\x00\x01\x01"), tag_size(b"OggS\x00")
    (139, 0)
    """
    if len(head) < _ID3_HEADER_BYTES or not head.startswith(b"ID3"):
        return 0
    size = 0
    for byte in head[6:_ID3_HEADER_BYTES]:  # seven bits each
        size = size << 7 | byte & 0x7F
    return _ID3_HEADER_BYTES + size


def behind_tag(source: Source, size: int) -> bytes:
    """Return the first bytes of the sound."""
    source.seek(tag_size(source.head(_ID3_HEADER_BYTES)))
    start = source.read(size)
    source.seek(0)
    return start


def recording_identifier(source: Source) -> str | None:
    """Return the MusicBrainz identifier of the recording from the tag's UFID frame."""
    size = tag_size(source.head(_ID3_HEADER_BYTES))
    found = _IDENTIFIER.search(source.head(min(size, _MAX_IDENTIFIER_BYTES)))
    return found[1].decode("ascii") if found else None


# ── Containers that are certain by their first bytes ────────────────────────────────────

# By ffmpeg's names.
_FORMAT_STARTS: Final = {
    b"fLaC": "flac",
    b"OggS": "ogg",
    b"\x1aE\xdf\xa3": "matroska",
    b"0&\xb2u\x8ef\xcf\x11": "asf",
    b"MAC ": "ape",
    b"wvpk": "wv",
    b"TTA1": "tta",
    b"TTA2": "tta",
    b"MPCK": "mpc8",
    b"MP+": "mpc",
    b"DSD ": "dsf",
    b"caff": "caf",
    b".snd": "au",
    b"FLV": "flv",
}
_FORMAT_CHUNKS: Final = {
    (b"RIFF", b"WAVE"): "wav",
    (b"RF64", b"WAVE"): "wav",
    (b"RIFF", b"AVI "): "avi",
    (b"FORM", b"AIFF"): "aiff",
    (b"FORM", b"AIFC"): "aiff",
}
# Those before which ffmpeg reads a tag.
_FORMATS_WITH_ID3: Final = frozenset({"ape", "flac", "mpc", "mpc8", "ogg", "tta"})


def certain_format(source: Source) -> str | None:
    """Return ffmpeg's name of the container; None if ffmpeg has to guess it."""
    head = source.head(16)
    if not tag_size(head):
        return _named(head)
    start = behind_tag(source, 16)
    name = _named(start)
    if name is not None:
        return name if name in _FORMATS_WITH_ID3 else None
    is_adts = len(start) > 1 and start[0] == 0xFF and start[1] & 0xF6 == 0xF0
    return "aac" if is_adts else "mp3"


def _named(head: bytes) -> str | None:
    if head[4:8] == b"ftyp":
        return "mov"
    inner = _FORMAT_CHUNKS.get((head[:4], head[8:12]))
    return inner or next(
        (name for mark, name in _FORMAT_STARTS.items() if head.startswith(mark)), None
    )


# ── Pictures: type and size ────────────────────────────────────────────────────────────

# A picture that claims more pixels than any cover has is refused: a few kilobytes can claim
# gigabytes.


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
