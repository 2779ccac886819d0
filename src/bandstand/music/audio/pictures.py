"""Covers inside audio files, as the bytes that are there; thumbnails of pictures.

Only `thumbnail` decodes, and only in a limited child process, since pictures come from strangers.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import av
from av.stream import Disposition

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.containers import DECODER_ERRORS, opened
from bandstand.music.audio.picture_size import check_size, checked_picture, media_type
from bandstand.music.audio.source import Source

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.stream import Stream


# ── Pictures inside an audio file ───────────────────────────────────────────────────────

MAX_COVER_BYTES: Final = 20_000_000  # bytes
# Pictures come first, one packet each; what follows is sound.
_MAX_COVER_PACKETS: Final = 64


def embedded_cover(file: BinaryIO) -> tuple[str, bytes] | None:
    """Return the media type and the bytes of the front cover, or else of another picture.

    Only JPEG, PNG and WebP count, by how they begin, whatever the file calls them: a browser
    can do nothing with these but show them.
    """
    with opened(Source(file)) as container:
        streams = pictures(container)
        if not streams:
            return None
        images = {
            packet.stream_index: bytes(packet)
            for packet in islice(container.demux(), _MAX_COVER_PACKETS)
            if 0 < packet.size <= MAX_COVER_BYTES and packet.stream_index in streams
        }
    for index in streams:
        kind = media_type(images.get(index, b""))
        if kind is not None:
            return kind, images[index]
    return None


def pictures(container: InputContainer) -> list[int]:
    """Return the streams that are pictures, the front cover first."""
    attached = [stream for stream in container.streams.video if _is_attached(stream)]
    return [stream.index for stream in sorted(attached, key=_is_not_front)]


def _is_attached(stream: Stream) -> bool:
    return bool(stream.disposition & Disposition.attached_pic)


def _is_not_front(stream: Stream) -> bool:
    return "front" not in stream.metadata.get("comment", "").lower()


# ── Thumbnails ──────────────────────────────────────────────────────────────────────────

_PICTURE_DECODERS: Final = {"image/jpeg": "mjpeg", "image/png": "png", "image/webp": "webp"}
_JPEG_QUALITY: Final = "4"  # of a JPEG, as ffmpeg counts: 2 is best, 31 worst


def thumbnail(image: bytes, side: int) -> bytes:
    """Return the picture as a JPEG whose longer side is at most `side` pixels."""
    kind = checked_picture(image)
    try:
        frame = _decoded_picture(image, _PICTURE_DECODERS[kind])
        scale = min(1.0, side / max(frame.width, frame.height))
        width, height = (max(1, round(scale * n)) for n in (frame.width, frame.height))
        return _as_jpeg(frame.reformat(width, height, format="yuvj420p", interpolation="AREA"))
    except DECODER_ERRORS:
        msg = "expected a picture, got one that is damaged"
        raise UnreadableAudioError(msg) from None


def _decoded_picture(image: bytes, codec: str) -> av.VideoFrame:
    decoder: Any = av.CodecContext.create(codec, "r")
    decoder.thread_count = 1
    packets = (av.Packet(image), None)
    frames = [frame for packet in packets for frame in decoder.decode(packet)]
    if not frames:
        raise EOFError
    # What the picture itself says may be another size than its header.
    frame: av.VideoFrame = frames[0]
    check_size(frame.width, frame.height)
    return frame


def _as_jpeg(frame: av.VideoFrame) -> bytes:
    encoder: Any = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt = frame.width, frame.height, "yuvj420p"
    encoder.time_base = Fraction(1, 25)
    encoder.options = {"qmin": _JPEG_QUALITY, "qmax": _JPEG_QUALITY}
    frame.pts = 0
    return b"".join(bytes(packet) for packet in [*encoder.encode(frame), *encoder.encode(None)])
