"""Opening a file as a container of sound, and refusing everything else.

Only containers and codecs of these lists are tried. So a playlist is never followed, a picture
or a film is never decoded, and formats that hold no music cannot be used against us.

The container is named to ffmpeg where the first bytes leave no doubt. ffmpeg guesses from all of
the first megabyte, and can be misled by the content: a tone whose period is that of a broadcast's
packets, or a large cover in front of the sound.
"""

from __future__ import annotations

import io
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn

import av
import av.error
from av.stream import Discard

from bandstand.errors import UnreadableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.packet import Packet


# ── A bounded file ──────────────────────────────────────────────────────────────────────

# Bytes per opening of the file, of which there are a handful. A clip needs a few megabytes,
# that of a film a few hundred.
MAX_READ_BYTES: Final = 1 << 29
# Calls, since a decoder can also be led around in small steps. It reads 32 kB at a time.
MAX_READ_CALLS: Final = 1 << 17


class Source:
    """A readable, seekable file that ends at a limit of bytes and calls.

    It has no name, so no decoder can open its neighbours. Errors of the file are kept in
    `problem` and look like its end: PyAV prints some of those that cross it.
    """

    def __init__(
        self, file: BinaryIO, *, limit: int = MAX_READ_BYTES, calls: int = MAX_READ_CALLS
    ) -> None:
        self._file = file
        self._limits = (limit, calls)
        self._left, self._calls_left = self._limits
        self.problem: OSError | None = None

    def renew(self) -> None:
        """Reset the limits."""
        self._left, self._calls_left = self._limits

    def is_spent(self) -> bool:
        """Return whether a limit was reached."""
        return self._left <= 0 or self._calls_left < 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`; none at the end or beyond the limits."""
        allowed = self._left if size < 0 else min(size, self._left)
        if allowed <= 0 or not self._may_call():
            return b""
        try:
            data = self._file.read(allowed)
        except OSError as problem:
            self.problem = problem
            return b""
        self._left -= len(data)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Return the new position, or -1 if there is no such place."""
        try:
            return self._file.seek(offset, whence) if self._may_call() else -1
        except (OSError, ValueError, OverflowError):
            return -1

    def tell(self) -> int:
        """Return the position."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Return True: the decoder may seek."""
        return True

    def head(self, size: int) -> bytes:
        """Return the first bytes, and go back to the beginning."""
        self.seek(0)
        data = self.read(size)
        self.seek(0)
        return data

    def _may_call(self) -> bool:
        self._calls_left -= 1
        return self._calls_left >= 0


# ── ID3v2 tags ──────────────────────────────────────────────────────────────────────────

_ID3_HEADER_BYTES: Final = 10  # bytes
# Picard keeps the recording's identifier here, where neither PyAV nor tinytag looks.
_IDENTIFIER: Final = re.compile(rb"http://musicbrainz\.org\0([0-9A-Fa-f-]{36})")
_MAX_IDENTIFIER_BYTES: Final = 1 << 20  # bytes


def tag_size(head: bytes) -> int:
    r"""Return the length in bytes of the tag of a file that begins with `head`; 0 if there is none.

    >>> tag_size(b"ID3\x04\x00\x00\x00\x00\x01\x01"), tag_size(b"OggS\x00")
    (139, 0)
    """
    if len(head) < _ID3_HEADER_BYTES or not head.startswith(b"ID3"):
        return 0
    size = 0
    for byte in head[6:_ID3_HEADER_BYTES]:  # seven bits each
        size = size << 7 | byte & 0x7F
    return _ID3_HEADER_BYTES + size


def behind_tag(source: Source, size: int) -> bytes:
    """Return the first bytes of the sound."""
    source.seek(tag_size(source.head(_ID3_HEADER_BYTES)))
    start = source.read(size)
    source.seek(0)
    return start


def recording_identifier(source: Source) -> str | None:
    """Return the MusicBrainz identifier of the recording from the tag's UFID frame."""
    size = tag_size(source.head(_ID3_HEADER_BYTES))
    found = _IDENTIFIER.search(source.head(min(size, _MAX_IDENTIFIER_BYTES)))
    return found[1].decode("ascii") if found else None


# ── Containers that are certain by their first bytes ────────────────────────────────────

# By ffmpeg's names.
_FORMAT_STARTS: Final = {
    b"fLaC": "flac",
    b"OggS": "ogg",
    b"\x1aE\xdf\xa3": "matroska",
    b"0&\xb2u\x8ef\xcf\x11": "asf",
    b"MAC ": "ape",
    b"wvpk": "wv",
    b"TTA1": "tta",
    b"TTA2": "tta",
    b"MPCK": "mpc8",
    b"MP+": "mpc",
    b"DSD ": "dsf",
    b"caff": "caf",
    b".snd": "au",
    b"FLV": "flv",
}
_FORMAT_CHUNKS: Final = {
    (b"RIFF", b"WAVE"): "wav",
    (b"RF64", b"WAVE"): "wav",
    (b"RIFF", b"AVI "): "avi",
    (b"FORM", b"AIFF"): "aiff",
    (b"FORM", b"AIFC"): "aiff",
}
# Those before which ffmpeg reads a tag.
_FORMATS_WITH_ID3: Final = frozenset({"ape", "flac", "mpc", "mpc8", "ogg", "tta"})


def certain_format(source: Source) -> str | None:
    """Return ffmpeg's name of the container; None if ffmpeg has to guess it."""
    head = source.head(16)
    if not tag_size(head):
        return _named(head)
    start = behind_tag(source, 16)
    name = _named(start)
    if name is not None:
        return name if name in _FORMATS_WITH_ID3 else None
    is_adts = len(start) > 1 and start[0] == 0xFF and start[1] & 0xF6 == 0xF0
    return "aac" if is_adts else "mp3"


def _named(head: bytes) -> str | None:
    if head[4:8] == b"ftyp":
        return "mov"
    inner = _FORMAT_CHUNKS.get((head[:4], head[8:12]))
    return inner or next(
        (name for mark, name in _FORMAT_STARTS.items() if head.startswith(mark)), None
    )


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
