"""The picture inside an audio file, as the bytes that are there; nothing is decoded."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final

from av.stream import Disposition

from bandstand.music.audio.containers import opened
from bandstand.music.audio.picture_size import media_type
from bandstand.music.audio.source import Source

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.stream import Stream

LARGEST: Final = 20_000_000  # bytes
# Pictures come first, one packet each; what follows is sound.
_PACKETS: Final = 64


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
            for packet in islice(container.demux(), _PACKETS)
            if 0 < packet.size <= LARGEST and packet.stream_index in streams
        }
    for index in streams:
        kind = media_type(images.get(index, b""))
        if kind is not None:
            return kind, images[index]
    return None


def pictures(container: InputContainer) -> list[int]:
    """Return which streams are pictures, the front cover first."""
    attached = [stream for stream in container.streams.video if _is_attached(stream)]
    return [stream.index for stream in sorted(attached, key=_is_no_front)]


def _is_attached(stream: Stream) -> bool:
    return bool(stream.disposition & Disposition.attached_pic)


def _is_no_front(stream: Stream) -> bool:
    return "front" not in stream.metadata.get("comment", "").lower()
