"""Packets and frames of a stream, in order, past whatever is damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand.music.audio.containers import SURPRISES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.packet import Packet

# Reading goes on after an error, but not for ever.
_READ_ERRORS: Final = 20


def packets_of(container: InputContainer, stream: AudioStream) -> Iterator[Packet[AudioStream]]:
    """Yield the packets from here to the end; the last one is empty and flushes the decoder."""
    for _ in range(_READ_ERRORS):
        try:
            yield from container.demux(stream)
        except MemoryError:
            raise
        except SURPRISES:
            continue
        return


def frames_of(
    container: InputContainer, stream: AudioStream
) -> Iterator[tuple[AudioFrame, float | None]]:
    """Yield each frame with the second of the track at which it begins, if it says so."""
    origin = start_of(stream)
    tick = float(stream.time_base or 0)
    for packet in packets_of(container, stream):
        for frame in _decoded(packet):
            if frame.samples > 0 and frame.sample_rate > 0:
                stamp = frame.pts if tick > 0 else None
                yield frame, None if stamp is None else stamp * tick - origin


def start_of(stream: AudioStream) -> float:
    """Return the time stamp of the stream's first sample, in seconds.

    It is not zero in an mp3, where it follows the encoder's delay, nor in a broadcast.
    """
    if stream.start_time is None or not stream.time_base:
        return 0.0
    return float(stream.start_time * stream.time_base)


def _decoded(packet: Packet[AudioStream]) -> list[AudioFrame]:
    try:
        return packet.decode()
    except MemoryError:
        raise
    except SURPRISES:
        return []  # a damaged packet, or one that depends on it
