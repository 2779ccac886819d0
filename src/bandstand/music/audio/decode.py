"""The middle of a track as samples, decoded packet by packet from a file that may lie.

A header is accepted if the sound is where the header says. Otherwise the packets are
counted, without decoding them, and the clip is the middle of what is there. If even seeking
to that place fails, everything is decoded from the beginning.

Every way is bounded: a `Source` ends after a number of bytes, counting after a number of packets,
decoding from the beginning after a number of seconds, and only the clip is kept. Of a track that
could not be counted to its end, the clip is the middle of the part that was.

Frames are mixed to 16 kHz, one channel, 16 bits. The 16-bit way is the paper's: channels are
averaged so that the sum cannot clip, which swresample does for whole numbers only (its mix of
floats is √2 louder for stereo), and the result is rounded to multiples of 1/32768.
"""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, cast

import av
import av.error
import numpy as np
from av.filter import Graph

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.containers import (
    DECODER_ERRORS,
    Sound,
    audio_stream,
    check_rate,
    frames_of,
    opened,
    packets_of,
    start_of,
)
from bandstand.music.audio.descriptors.definition import (
    CLIP_SAMPLES,
    CLIP_SECONDS,
    FRAME,
    SAMPLE_RATE,
    clip_start,
)
from bandstand.music.audio.source import Source, behind_tag, tag_size
from bandstand.music.audio.tags import read_tags
from bandstand.music.audio.tracker_support import is_module, read_module
from bandstand.types import frozen

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from numpy.typing import NDArray

    from bandstand.types import Tags, Vector

# ── Duration: as the header claims, or as the packets add up ───────────────────────────

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


# ── Mono samples ───────────────────────────────────────────────────────────────────────


# Codecs that keep floats as they are, and so also those that are no numbers.
_FLOAT_CODECS: Final = frozenset(
    {
        "als",
        "pcm_f16le",
        "pcm_f24le",
        "pcm_f32be",
        "pcm_f32le",
        "pcm_f64be",
        "pcm_f64le",
        "wavpack",
    }
)
# Frames that go in between two pulls, and samples that come out at once: a call costs more than
# the arithmetic for a short frame.
_FRAMES_PER_PULL: Final = 32
_SAMPLES_PER_PULL: Final = SAMPLE_RATE


class _Kind(NamedTuple):
    """The format of all frames in one filter graph."""

    rate: int
    sample_format: str
    layout: str


class MonoClip:
    """The clip of a track that begins at `start`, in seconds, filled frame by frame."""

    def __init__(self, start: float, *, codec: str) -> None:
        self._start = start
        self._needs_check = codec in _FLOAT_CODECS
        self._pieces: list[NDArray[np.int16]] = []
        self._graph: Graph | None = None
        self._kind: _Kind | None = None
        self._waiting = 0
        self.is_full = False

    def add(self, frame: AudioFrame, at: float) -> None:
        """Add one decoded frame that begins at second `at` of the track."""
        if self._needs_check:
            _check_finite(frame)
        kind = _Kind(frame.sample_rate, frame.format.name, frame.layout.name)
        if self._graph is None or kind != self._kind:
            self._change(kind)
        frame.pts = round(at * kind.rate)
        self._push(frame)

    def samples(self) -> Vector:
        """Return the clip: float64 in [-1, 1), at most 30 s."""
        self._drain()
        whole = np.concatenate([np.zeros(0, np.int16), *self._pieces])[:CLIP_SAMPLES]
        clip: Vector = frozen(whole / 32768.0)
        return clip

    def _change(self, kind: _Kind) -> None:
        """Begin, or go on with a stream that changes on its way."""
        self._drain()
        done = sum(piece.size for piece in self._pieces) / SAMPLE_RATE
        self.is_full = done >= CLIP_SECONDS
        if not self.is_full:
            self._graph = _graph(kind, self._start, CLIP_SECONDS - done)
            self._kind = kind

    def _push(self, frame: AudioFrame | None) -> None:
        if self._graph is not None:
            with suppress(av.error.EOFError):  # it has all it needs; the next pull notes that
                self._graph.push(frame)
            self._waiting += 1
            if self._waiting >= _FRAMES_PER_PULL or frame is None:
                self._pull(self._graph)

    def _pull(self, graph: Graph) -> None:
        self._waiting = 0
        try:
            while True:
                self._pieces.append(_mono(graph.pull()))
        except av.error.BlockingIOError:
            pass  # it needs more
        except av.error.EOFError:
            self.is_full = True

    def _drain(self) -> None:
        self._push(None)
        self._graph = None


def _graph(kind: _Kind, start: float, duration: float) -> Graph:
    """Return filters that cut the clip out, mix it to one channel and resample it.

    Frames are cut by their time stamps, as `ffmpeg -ss … -t 30` does.
    """
    check_rate(kind.rate)
    graph = Graph()
    graph.threads = 1
    try:
        filters = (
            graph.add(
                "abuffer",
                sample_rate=str(kind.rate),
                sample_fmt=kind.sample_format,
                channel_layout=kind.layout,
                time_base=f"1/{kind.rate}",
            ),
            graph.add("atrim", start_pts=str(round(start * kind.rate)), duration=f"{duration:.6f}"),
            graph.add(
                "aformat",
                sample_rates=str(SAMPLE_RATE),
                sample_fmts="s16",
                channel_layouts="mono",
            ),
            graph.add("abuffersink"),
        )
        graph.link_nodes(*filters).configure()
        graph.set_audio_frame_size(_SAMPLES_PER_PULL)
    except av.error.FFmpegError:
        msg = f"expected channels that can be mixed to one, got {kind.layout}"
        raise UnreadableAudioError(msg) from None
    return graph


def _mono(frame: object) -> NDArray[np.int16]:
    # There are no pictures in this graph.
    return cast("AudioFrame", frame).to_ndarray().reshape(-1).astype(np.int16)


def _check_finite(frame: AudioFrame) -> None:
    # Rounding to 16 bits would turn infinity into noise, silently.
    if not np.isfinite(frame.to_ndarray()).all():
        msg = "expected samples that are finite numbers, got NaN or infinity"
        raise UnreadableAudioError(msg)


# ── The clip ───────────────────────────────────────────────────────────────────────────


# Where seeking fails, the clip begins no later, since all before it is decoded too.
MAX_START_SECONDS: Final = 600.0  # seconds
# A header may be wrong by this much: encoders add silence at both ends.
_TOLERANCE_SECONDS: Final = 0.5  # seconds
# Most codecs need a little of what came before. A Vorbis page begins early enough by itself.
_LEAD_SECONDS: Final = {"vorbis": 0.0}
_DEFAULT_LEAD_SECONDS: Final = 0.1  # seconds


def decode(file: BinaryIO) -> Sound:
    """Return the middle 30 seconds of the track, or all of a shorter one."""
    source = Source(file)
    return _as_claimed(source) or _as_counted(source)


def _as_claimed(source: Source) -> Sound | None:
    """Return the clip where the header claims it; None if the claim is missing or wrong."""
    duration = claimed_length(source)
    return None if duration is None else _by_seeking(source, duration)


def _as_counted(source: Source) -> Sound:
    """Return the middle of what is there, whatever the header says."""
    length = counted_length(source)
    sound = _by_seeking(source, length.counted)
    if sound is None:
        start = min(clip_start(length.counted), MAX_START_SECONDS)
        sound = _from_the_beginning(source, start)
        if len(sound.samples) < FRAME:  # time stamps can lie as well
            sound = _from_the_beginning(source, 0.0)
    return Sound(samples=sound.samples, duration=max(sound.duration, length.whole))


def _by_seeking(source: Source, duration: float) -> Sound | None:
    """Return the middle of a track of that duration; None if it is not all there."""
    start = clip_start(duration)
    with opened(source) as container:
        stream = audio_stream(container)
        clip = MonoClip(start, codec=stream.codec_context.name)
        if not _seek(container, stream, start):
            return None
        end = 0.0
        for frame, stamp in frames_of(container, stream):
            at = end if stamp is None else stamp
            if not end and at > start + _TOLERANCE_SECONDS:
                return None  # the seek went too far
            clip.add(frame, at)
            end = at + frame.samples / frame.sample_rate
            if clip.is_full:
                break
    samples = clip.samples()
    seconds = len(samples) / SAMPLE_RATE
    if start == 0 and seconds < CLIP_SECONDS - _TOLERANCE_SECONDS:
        # That was all of it, so now we know how long it is.
        is_right = abs(seconds - duration) <= _TOLERANCE_SECONDS
        return Sound(samples=samples, duration=duration if is_right else seconds)
    if abs(seconds - min(duration, CLIP_SECONDS)) > _TOLERANCE_SECONDS:
        return None
    return Sound(samples=samples, duration=duration)


def _seek(container: InputContainer, stream: AudioStream, start: float) -> bool:
    """Seek to the last place from which the sound at `start` can be decoded, if possible."""
    if start == 0:
        return True
    if container.format.name == "wav" and stream.codec_context.name.startswith("adpcm"):
        return False  # libavformat lands seconds away from where its time stamps say
    lead = _LEAD_SECONDS.get(stream.codec_context.name, _DEFAULT_LEAD_SECONDS)
    try:
        ticks = (max(start - lead, 0.0) + start_of(stream)) / float(stream.time_base or 0)
        container.seek(int(ticks), stream=stream)
    except MemoryError:
        raise
    except DECODER_ERRORS:
        return False
    return True


def _from_the_beginning(source: Source, start: float) -> Sound:
    """Return what comes after `start` seconds of sound, whatever the time stamps say."""
    end = 0.0
    with opened(source) as container:
        stream = audio_stream(container)
        clip = MonoClip(start, codec=stream.codec_context.name)
        for frame, _ in frames_of(container, stream):
            clip.add(frame, end)
            end += frame.samples / frame.sample_rate
            if clip.is_full:
                break
    return Sound(samples=clip.samples(), duration=end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One audio file as the rest of Bandstand sees it: a clip, a duration and tags."""

    samples: Vector  # the middle 30 s: 16 kHz, mono, in [-1, 1); read-only
    duration: float  # seconds, of the whole track
    tags: Tags


def read(file: BinaryIO, *, extension: str = "", allow_programs: bool = False) -> Recording:
    """Return the clip and the tags of an open, seekable, regular file.

    `extension`, such as ".mod", is a hint for the oldest tracker modules, which look like noise
    otherwise. Modules need another program: unless programs are allowed they raise
    `NeedsProgramError`, so that the caller can try again where they are. Everything else
    that cannot be decoded raises `UnreadableAudioError` with a reason of one sentence.
    """
    if is_module(file, extension):
        sound, tags = read_module(file, allow_programs=allow_programs)
    else:
        sound, tags = decode(file), read_tags(file)
    if len(sound.samples) < FRAME:
        msg = f"expected at least {FRAME} samples at 16 kHz, got {len(sound.samples)}"
        raise UnreadableAudioError(msg)
    return Recording(samples=sound.samples, duration=sound.duration, tags=tags)
