"""A recording as Ogg Opus, which every browser plays, piece by piece.

The sound is decoded, resampled to 48 kHz and encoded as it is read, so a recording of hours
takes no more memory than one of seconds. Tags and pictures are left behind.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

import av
from av.audio.resampler import AudioResampler

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.containers import (
    DECODER_ERRORS,
    audio_stream,
    check_rate,
    frames_of,
    opened,
)
from bandstand.music.audio.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import OutputContainer

RATE: Final = 48_000  # hertz; Opus knows hardly anything else
BIT_RATES: Final = {"mono": 80_000, "stereo": 144_000}
# Enough for hours of uncompressed sound.
_MAX_READ_BYTES: Final = 1 << 34
_MAX_READ_CALLS: Final = 1 << 22


class Codec(NamedTuple):
    """The container and codec of a recording, by ffmpeg's names."""

    container: str  # one name, or several with commas between them
    codec: str


def codec_of(file: BinaryIO) -> Codec:
    """Return the container and the codec of a file's sound; nothing is decoded."""
    with opened(Source(file)) as container:
        return Codec(container.format.name, audio_stream(container).codec_context.name)


def opus_chunks(file: BinaryIO, *, size: int) -> Iterator[bytes]:
    """Yield the recording as Ogg Opus, in pieces of at least `size` bytes but for the last."""
    source = Source(file, limit=_MAX_READ_BYTES, calls=_MAX_READ_CALLS)
    with opened(source) as container:
        stream = audio_stream(container)
        layout = "mono" if stream.codec_context.layout.nb_channels == 1 else "stereo"
        frames = (frame for frame, _ in frames_of(container, stream))
        yield from encoded(frames, layout=layout, size=size)


def encoded(frames: Iterable[AudioFrame], *, layout: str, size: int) -> Iterator[bytes]:
    """Yield frames of sound as Ogg Opus, in pieces of at least `size` bytes but for the last."""
    sink = _Sink()
    count = 0
    with av.open(sink, "w", format="ogg") as target:
        stream = _opus_stream(target, layout)
        for piece in _resampled(frames, layout):
            count += piece.samples
            target.mux(stream.encode(piece))
            if sink.size >= size:
                yield sink.take()
        if not count:
            msg = "expected audio, got a file without a single sample"
            raise UnreadableAudioError(msg)
        target.mux(stream.encode(None))
    yield sink.take()


class _Sink:
    """A target for writing that keeps the bytes until they are taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        self.size += len(data)
        return len(data)

    def take(self) -> bytes:
        whole = b"".join(self._parts)
        self._parts, self.size = [], 0
        return whole


def _opus_stream(target: OutputContainer, layout: str) -> AudioStream:
    stream = target.add_stream("libopus", rate=RATE, layout=layout)
    stream.bit_rate = BIT_RATES[layout]
    stream.codec_context.thread_count = 1
    return stream


def _resampled(frames: Iterable[AudioFrame], layout: str) -> Iterator[AudioFrame]:
    """Yield the frames at 48 kHz, one after the other without gaps."""
    resampler: AudioResampler | None = None
    kind: tuple[int, str, str] | None = None
    place = 0
    for frame in frames:
        now = (frame.sample_rate, frame.format.name, frame.layout.name)
        if now != kind:
            # A stream that changes on its way goes on with other filters.
            yield from _pieces(resampler, None)
            check_rate(frame.sample_rate)
            resampler, kind, place = AudioResampler("s16", layout, RATE, frame_size=960), now, 0
        frame.pts, frame.time_base = place, Fraction(1, frame.sample_rate)
        place += frame.samples
        yield from _pieces(resampler, frame)
    yield from _pieces(resampler, None)


def _pieces(resampler: AudioResampler | None, frame: AudioFrame | None) -> list[AudioFrame]:
    if resampler is None:
        return []
    try:
        pieces = resampler.resample(frame)
    except DECODER_ERRORS:
        msg = "expected channels that can be mixed to two, got something else"
        raise UnreadableAudioError(msg) from None
    for piece in pieces:
        piece.pts = None  # the encoder counts by itself
    return pieces
