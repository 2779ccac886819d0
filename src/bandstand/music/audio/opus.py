"""A recording as Ogg Opus, which every browser plays, or as MP3 for apps, piece by piece.

The sound is decoded, resampled to 48 kHz and encoded as it is read, so a recording of hours
takes no more memory than one of seconds. Tags and pictures are left behind.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, cast

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
    from collections.abc import Iterable, Iterator, Mapping

    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import OutputContainer

RATE: Final = 48_000  # hertz; Opus knows hardly anything else
BIT_RATES: Final = {"mono": 80_000, "stereo": 144_000}
# Enough for hours of uncompressed sound.
_MAX_READ_BYTES: Final = 1 << 34
_MAX_READ_CALLS: Final = 1 << 22


class _Encoder(NamedTuple):
    """An encoder and its container, by ffmpeg's names."""

    container: str
    name: str
    samples: str
    frame_size: int
    bit_rates: Mapping[str, int]
    options: Mapping[str, str]


_ENCODERS: Final = {
    "opus": _Encoder("ogg", "libopus", "s16", 960, BIT_RATES, {}),
    # What is written as it comes has no header with its length; at one bit rate none is needed.
    "mp3": _Encoder(
        *("mp3", "libmp3lame", "s16p", 1_152, {"mono": 96_000, "stereo": 192_000}),
        {"write_xing": "0", "id3v2_version": "0"},
    ),
}


class Codec(NamedTuple):
    """The container and codec of a recording, by ffmpeg's names."""

    container: str  # one name, or several with commas between them
    codec: str


def codec_of(file: BinaryIO) -> Codec:
    """Return the container and the codec of a file's sound; nothing is decoded."""
    with opened(Source(file)) as container:
        return Codec(container.format.name, audio_stream(container).codec_context.name)


def converted_chunks(
    file: BinaryIO, *, size: int, form: str = "opus", kilobits: int | None = None
) -> Iterator[bytes]:
    """Yield the recording, in pieces of at least `size` bytes but for the last.

    `form` is "opus" or "mp3"; without `kilobits`, per second, it has the usual bit rate.
    """
    source = Source(file, limit=_MAX_READ_BYTES, calls=_MAX_READ_CALLS)
    with opened(source) as container:
        stream = audio_stream(container)
        layout = "mono" if stream.codec_context.layout.nb_channels == 1 else "stereo"
        frames = (frame for frame, _ in frames_of(container, stream))
        yield from encoded(frames, layout=layout, size=size, form=form, kilobits=kilobits)


def encoded(
    frames: Iterable[AudioFrame],
    *,
    layout: str,
    size: int,
    form: str = "opus",
    kilobits: int | None = None,
) -> Iterator[bytes]:
    """Yield encoded frames of sound, in pieces of at least `size` bytes but for the last."""
    sink = _Sink()
    count = 0
    kind = _ENCODERS[form]
    with av.open(sink, "w", format=kind.container, options=dict(kind.options)) as output:
        stream = _stream(output, kind, layout, kilobits)
        for piece in _resampled(frames, kind, layout):
            count += piece.samples
            output.mux(stream.encode(piece))
            if sink.size >= size:
                yield sink.take()
        if not count:
            msg = "expected audio, got a file without a single sample"
            raise UnreadableAudioError(msg)
        output.mux(stream.encode(None))
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


def _stream(
    output: OutputContainer, kind: _Encoder, layout: str, kilobits: int | None
) -> AudioStream:
    stream = cast("AudioStream", output.add_stream(kind.name, rate=RATE, layout=layout))
    stream.bit_rate = kind.bit_rates[layout] if kilobits is None else kilobits * 1_000
    stream.codec_context.thread_count = 1
    return stream


def _resampled(
    frames: Iterable[AudioFrame], encoder: _Encoder, layout: str
) -> Iterator[AudioFrame]:
    """Yield the frames at 48 kHz, one after the other without gaps."""
    resampler: AudioResampler | None = None
    size = encoder.frame_size
    kind: tuple[int, str, str] | None = None
    place = 0
    for frame in frames:
        now = (frame.sample_rate, frame.format.name, frame.layout.name)
        if now != kind:
            # A stream that changes on its way goes on with other filters.
            yield from _pieces(resampler, None)
            check_rate(frame.sample_rate)
            resampler = AudioResampler(encoder.samples, layout, RATE, frame_size=size)
            kind, place = now, 0
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
