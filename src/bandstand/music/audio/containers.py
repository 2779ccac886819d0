"""Opening a file as a container of sound, and refusing everything else.

Only containers and codecs of these lists are tried. So a playlist is never followed, a picture
or a film is never decoded, and formats that hold no music cannot be used against us.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

import av
import av.error
from av.stream import Discard

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.source import Source, certain_format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.packet import Packet

    from bandstand.types import Vector


# ── Opening a container ─────────────────────────────────────────────────────────────────

# As ffmpeg calls them.
_CONTAINERS: Final = """
    aac ac3 aiff amr ape asf au avi caf dsf dts dtshd eac3 flac flv iff latm loas matroska mov mp3
    mpc mpc8 mpeg mpegts nut ogg oma qcp rm shn sox tak tta voc w64 wav wsd wv xwma
"""
_CODECS: Final = """
    aac aac_latm ac3 adpcm_ima_qt adpcm_ima_wav adpcm_ms adpcm_swf adpcm_yamaha alac als amrnb
    amrwb ape atrac3 atrac3plus cook dca dsd_lsbf dsd_lsbf_planar dsd_msbf dsd_msbf_planar eac3 flac
    g722 g726 gsm gsm_ms mlp mp1 mp1float mp2 mp2float mp3 mp3float mpc7 mpc8 nellymoser opus
    pcm_alaw pcm_bluray pcm_dvd pcm_f16le pcm_f24le pcm_f32be pcm_f32le pcm_f64be pcm_f64le
    pcm_mulaw pcm_s16be pcm_s16be_planar pcm_s16le pcm_s16le_planar pcm_s24be pcm_s24le
    pcm_s24le_planar pcm_s32be pcm_s32le pcm_s32le_planar pcm_s64be pcm_s64le pcm_s8 pcm_s8_planar
    pcm_u16be pcm_u16le pcm_u24be pcm_u24le pcm_u32be pcm_u32le pcm_u8 ralf shorten sipr speex tak
    truehd truespeech tta vorbis wavpack wmalossless wmapro wmav1 wmav2 wmavoice
"""
CODECS: Final = frozenset(_CODECS.split())
_OPTIONS: Final = {
    "format_whitelist": ",".join(_CONTAINERS.split()),
    "codec_whitelist": ",".join(_CODECS.split()),
    # An empty list: what a container points to is never opened.
    "protocol_whitelist": "",
}
# Before version 19, PyAV needs an option to read tags that are not UTF-8; since then it reads
# them so, and refuses the option.
_METADATA_OPTIONS: Final[dict[str, Any]] = (
    {"metadata_errors": "surrogateescape"} if int(av.__version__.split(".")[0]) < 19 else {}
)

MIN_SAMPLE_RATE: Final = 1_000  # hertz
MAX_SAMPLE_RATE: Final = 1_000_000

# How a reason begins that is the disk's fault, not the file's.
READING_FAILED: Final = "the file could not be read: "
# How some files begin that are often found beside music.
_OTHER_KINDS: Final = (
    (b"#EXTM3U", "a playlist"),
    (b"[playlist]", "a playlist"),
    (b"ffconcat", "a playlist"),
    (b"<", "a web page or another text"),
    (b"\xff\xd8\xff", "a picture"),
    (b"\x89PNG", "a picture"),
    (b"GIF8", "a picture"),
    (b"BM", "a picture"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"MThd", "a MIDI file, which holds notes and no sound"),
)
# PyAV raises these for damaged files: its own errors, and some by accident.
DECODER_ERRORS: Final = (av.error.FFmpegError, ArithmeticError, EOFError, LookupError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """A clip: 16 kHz, mono, in [-1, 1); and the seconds of the whole track."""

    samples: Vector
    duration: float


@contextmanager
def opened(source: Source) -> Iterator[InputContainer]:
    """Yield the container in `source`, from its beginning; every failure is one sentence.

    All that PyAV raises for damaged and hostile files becomes an `UnreadableAudioError` here.
    A MemoryError is not the file's fault alone, and passes.
    """
    source.renew()
    head = source.head(16)
    if not head:
        _refuse(source, "expected audio, got an empty file")
    form = certain_format(source)
    try:
        with av.open(
            source, mode="r", format=form, container_options=_OPTIONS, **_METADATA_OPTIONS
        ) as container:
            yield container
    except MemoryError:
        raise
    except DECODER_ERRORS:
        kind = other_kind(head) or "something that is damaged or no known format"
        _refuse(source, f"expected audio, got {kind}")


def audio_stream(container: InputContainer) -> AudioStream:
    """Return the first audio stream that can be decoded, with all others switched off."""
    chosen = next((stream for stream in container.streams.audio if _is_decodable(stream)), None)
    if chosen is None:
        found = "one of an unknown codec" if container.streams.audio else "none"
        msg = f"expected an audio stream that can be decoded, got {found}"
        raise UnreadableAudioError(msg)
    check_rate(chosen.codec_context.sample_rate)
    for stream in container.streams:
        if stream.index != chosen.index:
            stream.discard = Discard.all
    chosen.codec_context.thread_count = 1  # files are decoded side by side, in processes
    return chosen


def check_rate(rate: int) -> None:
    """Refuse sample rates that no music has."""
    if not MIN_SAMPLE_RATE <= rate <= MAX_SAMPLE_RATE:
        limits = f"{MIN_SAMPLE_RATE:,} to {MAX_SAMPLE_RATE:,} Hz"
        msg = f"expected a sample rate of {limits}, got {rate:,} Hz"
        raise UnreadableAudioError(msg)


def _is_decodable(stream: AudioStream) -> bool:
    # There is no codec context where there is no decoder, whatever PyAV's types say.
    context: Any = stream.codec_context
    return context is not None and context.name in CODECS


def other_kind(head: bytes) -> str | None:
    r"""Return the well-known kind of file, other than audio, that begins like this.

    >>> other_kind(b"#EXTM3U\nsong.mp3"), other_kind(b"OggS")
    ('a playlist', None)
    """
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "a picture"
    return next((kind for start, kind in _OTHER_KINDS if head.startswith(start)), None)


def _refuse(source: Source, reason: str) -> NoReturn:
    if source.problem is not None:
        reason = f"{READING_FAILED}{source.problem.strerror or 'unknown error'}"
    raise UnreadableAudioError(reason) from None


# ── Packets and frames ──────────────────────────────────────────────────────────────────

# Reading goes on after an error, but not for ever.
_MAX_READ_ERRORS: Final = 20


def packets_of(container: InputContainer, stream: AudioStream) -> Iterator[Packet[AudioStream]]:
    """Yield the packets from here to the end; the last one is empty and flushes the decoder."""
    for _ in range(_MAX_READ_ERRORS):
        try:
            yield from container.demux(stream)
        except MemoryError:
            raise
        except DECODER_ERRORS:
            continue
        return


def frames_of(
    container: InputContainer, stream: AudioStream
) -> Iterator[tuple[AudioFrame, float | None]]:
    """Yield each frame with the second of the track at which it begins, if it says so."""
    origin = start_of(stream)
    tick = float(stream.time_base or 0)
    for packet in packets_of(container, stream):
        for frame in _decoded_packet(packet):
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


def _decoded_packet(packet: Packet[AudioStream]) -> list[AudioFrame]:
    try:
        return packet.decode()
    except MemoryError:
        raise
    except DECODER_ERRORS:
        return []  # a damaged packet, or one that depends on it
