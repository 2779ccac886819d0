"""The duration of a track: as its header claims, or as its packets add up."""

from __future__ import annotations

import io
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import av

from bandstand.music.audio.containers import audio_stream, opened, packets_of
from bandstand.music.audio.source import behind_tag, tag_size

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer

    from bandstand.music.audio.source import Source

MAX_PACKETS: Final = 2_000_000  # 14 hours of mp3
# Raw streams have no header; their length is guessed from the first packets.
_RAW: Final = frozenset({"aac", "ac3", "dts", "dtshd", "eac3", "latm", "loas"})
# Nor has an mp3, unless its first frame begins with one of these …
_MP3_HEADERS: Final = (b"Xing", b"Info", b"VBRI")
_MP3_HEADER_WITHIN: Final = 64  # bytes after the ID3 tag
# … and counts as many bytes as there are, give or take a tag at the end: two files that were put
# together, or half of one, still begin with the header that was true once.
_MP3_BYTES_BESIDE: Final = 1 << 17
_MP3_BYTES_COUNTED: Final = 2  # the flag for it, in Xing and Info


class Length(NamedTuple):
    """Seconds that are there for certain, and seconds of the whole track as far as we know."""

    counted: float
    whole: float


def claimed_length(source: Source) -> float | None:
    """Return the seconds that the header promises; None if there is no such header."""
    with opened(source) as container:
        seconds = _stated(container, audio_stream(container))
        name = container.format.name
    if name in _RAW or (name == "mp3" and not _has_mp3_header(source)):
        return None
    return seconds


def counted_length(source: Source, *, max_packets: int = MAX_PACKETS) -> Length:
    """Return how long all packets last together, which takes no decoding."""
    with opened(source) as container:
        stream = audio_stream(container)
        total, packets = 0, 0
        first: int | None = None
        last = 0
        for packet in islice(packets_of(container, stream), max_packets):
            packets += 1
            total += max(packet.duration or 0, 0)
            if packet.pts is not None:
                first = packet.pts if first is None else first
                last = packet.pts
        # Packets that do not say how long they last say at least when they begin.
        ticks = total or last - (first or 0)
        counted = max(float(ticks * stream.time_base), 0.0) if stream.time_base else 0.0
        is_all = packets < max_packets and not source.is_spent()
        stated = _stated(container, stream) or 0.0
    return Length(counted, counted if is_all else max(counted, stated))


def _stated(container: InputContainer, stream: AudioStream) -> float | None:
    """Return the duration of the stream, or else that of the container."""
    if stream.duration is not None and stream.duration > 0 and stream.time_base:
        return float(stream.duration * stream.time_base)
    if container.duration is not None and container.duration > 0:
        return container.duration / av.time_base
    return None


def _has_mp3_header(source: Source) -> bool:
    """Return whether an mp3 says how long it is, in a header that fits the file."""
    frame = behind_tag(source, _MP3_HEADER_WITHIN)
    places = [(frame.find(header), header) for header in _MP3_HEADERS if header in frame]
    # Behind anything else than a frame, libavformat does not look for the header.
    if not places or frame[0] != 0xFF or frame[1] & 0xE0 != 0xE0:
        return False
    counted = _mp3_bytes(frame, *min(places))
    there = source.seek(0, io.SEEK_END) - tag_size(source.head(_MP3_HEADER_WITHIN))
    source.seek(0)
    return counted is None or abs(there - counted) <= _MP3_BYTES_BESIDE


def _mp3_bytes(frame: bytes, place: int, header: bytes) -> int | None:
    """Return how many bytes of sound a header counts; None if it does not."""
    if header == b"VBRI":
        start = place + 10
    elif int.from_bytes(frame[place + 4 : place + 8], "big") & _MP3_BYTES_COUNTED:
        start = place + 12
    else:
        return None
    return int.from_bytes(frame[start : start + 4], "big") or None
