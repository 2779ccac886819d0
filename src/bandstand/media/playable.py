"""What browsers can play as it is, by how a file begins; its name counts for nothing.

    MP3, FLAC, WAV with plain samples, Ogg with Vorbis, Opus or FLAC, AAC    play
    MP4 and Matroska or WebM                                                 depends on the codec
    all others: ALAC, AIFF, WMA, Monkey's Audio, tracker modules …           do not

Only a few bytes are compared here. To look deeper is for a limited child.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from bandstand.music.audio.source import Source, behind_tag, certain_format, tag_size

if TYPE_CHECKING:
    from collections.abc import Mapping

# The codec decides, and only a child can tell it.
ASK: Final = "ask"
CONVERT: Final = "convert"
CONVERTED_TYPE: Final = "audio/ogg"

_OGG_CODECS: Final = (b"\x01vorbis", b"OpusHead", b"\x7fFLAC")
_PLAIN_SAMPLES: Final = frozenset({1, 3})  # whole numbers, floats
_EXTENSIBLE: Final = 0xFFFE
# By ffmpeg's names, the first of a container's names.
_BY_CODEC: Final[Mapping[str, Mapping[str, str]]] = {
    "mov": {"aac": "audio/mp4", "mp3": "audio/mp4", "mp3float": "audio/mp4", "opus": "audio/mp4"},
    "matroska": {"opus": "audio/webm", "vorbis": "audio/webm"},
}

# A media type, ASK or CONVERT.
Verdict = str


def judged(file: BinaryIO) -> Verdict:
    """Return the media type of a file that browsers play, or ASK, or CONVERT."""
    source = Source(file)
    head = source.head(64)
    match certain_format(source):
        case "flac" if head.startswith(b"fLaC"):
            return "audio/flac"
        case "ogg" if _ogg_content(head).startswith(_OGG_CODECS):
            return "audio/ogg"
        case "wav" if _has_plain_samples(head):
            return "audio/wav"
        case "mov" | "matroska":
            return ASK
        case "mp3" | "aac" | None:
            return _mpeg(behind_tag(source, 4) if tag_size(head) else head)
        case _:
            return CONVERT


def judged_codec(container: str, codec: str) -> Verdict:
    """Return the media type of a container with such a codec, or CONVERT.

    >>> judged_codec("mov,mp4", "aac"), judged_codec("mov,mp4", "alac")
    ('audio/mp4', 'convert')
    """
    return _BY_CODEC.get(container.partition(",")[0], {}).get(codec, CONVERT)


def _ogg_content(head: bytes) -> bytes:
    """Return the beginning of what is in the first page."""
    return head[27 + head[26] :] if len(head) > 26 else b""


def _has_plain_samples(head: bytes) -> bool:
    if head[12:16] != b"fmt ":
        return False
    kind = int.from_bytes(head[20:22], "little")
    if kind == _EXTENSIBLE:
        kind = int.from_bytes(head[44:46], "little")
    return kind in _PLAIN_SAMPLES


def _mpeg(start: bytes) -> Verdict:
    """Return what frames that begin like this are: MP3, AAC, or something to be converted."""
    if len(start) < 2 or start[0] != 0xFF or start[1] & 0xE0 != 0xE0:
        return CONVERT
    if start[1] & 0xF6 == 0xF0:
        return "audio/aac"
    is_layer_three = start[1] & 0x06 == 0x02
    return "audio/mpeg" if is_layer_three else CONVERT
