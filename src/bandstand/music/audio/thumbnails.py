"""Pictures made small, for a page; only in a limited child process, since they are strangers'.

A picture is examined before it is decoded: what claims more pixels than any cover has is refused
by its header, in which a picture of a few kilobytes can claim gigabytes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import av

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.containers import SURPRISES
from bandstand.music.audio.picture_size import check_size, checked_picture

_DECODERS: Final = {"image/jpeg": "mjpeg", "image/png": "png", "image/webp": "webp"}
_QUALITY: Final = "4"  # of a JPEG, as ffmpeg counts: 2 is best, 31 worst


def thumbnail(image: bytes, side: int) -> bytes:
    """Return the picture as a JPEG whose longer side is at most `side` pixels."""
    kind = checked_picture(image)
    try:
        frame = _decoded(image, _DECODERS[kind])
        scale = min(1.0, side / max(frame.width, frame.height))
        width, height = (max(1, round(scale * n)) for n in (frame.width, frame.height))
        return _jpeg(frame.reformat(width, height, format="yuvj420p", interpolation="AREA"))
    except SURPRISES:
        msg = "expected a picture, got one that is damaged"
        raise UnreadableAudioError(msg) from None


def _decoded(image: bytes, codec: str) -> av.VideoFrame:
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


def _jpeg(frame: av.VideoFrame) -> bytes:
    encoder: Any = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt = frame.width, frame.height, "yuvj420p"
    encoder.time_base = Fraction(1, 25)
    encoder.options = {"qmin": _QUALITY, "qmax": _QUALITY}
    frame.pts = 0
    return b"".join(bytes(packet) for packet in [*encoder.encode(frame), *encoder.encode(None)])
