"""Small real audio files in every format that PyAV's wheel can encode, and hand-made bad ones.

    make(tmp_path / "song.mp3", seconds=3, tags={"title": "Song"})

The ending says what is made; `codec` asks for another one that the container can hold.
"""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray


class Format(NamedTuple):
    container: str
    codec: str
    rate: int = 44_100
    channels: int = 2


FORMATS: Final = {
    ".aac": Format("adts", "aac"),
    ".ac3": Format("ac3", "ac3"),
    ".aiff": Format("aiff", "pcm_s16be"),
    ".au": Format("au", "pcm_s16be"),
    ".avi": Format("avi", "libmp3lame"),
    ".caf": Format("caf", "pcm_s16be"),
    ".eac3": Format("eac3", "eac3"),
    ".flac": Format("flac", "flac"),
    ".flv": Format("flv", "libmp3lame"),
    ".m4a": Format("ipod", "aac"),
    ".mka": Format("matroska", "flac"),
    ".mkv": Format("matroska", "libmp3lame"),
    ".mov": Format("mov", "aac"),
    ".mp2": Format("mp2", "mp2"),
    ".mp3": Format("mp3", "libmp3lame"),
    ".mp4": Format("mp4", "aac"),
    ".mpg": Format("mpeg", "mp2"),
    ".ogg": Format("ogg", "vorbis"),
    ".opus": Format("opus", "libopus", 48_000),
    ".ts": Format("mpegts", "mp2"),
    ".tta": Format("tta", "tta"),
    ".w64": Format("w64", "pcm_s16le"),
    ".wav": Format("wav", "pcm_s16le"),
    ".webm": Format("webm", "libopus", 48_000),
    ".wma": Format("asf", "wmav2"),
    ".wv": Format("wv", "wavpack"),
}
FILMS: Final = frozenset({".avi", ".flv", ".mkv", ".mov", ".mp4", ".mpg", ".ts"})
_LAYOUTS: Final = {1: "mono", 2: "stereo", 6: "5.1"}
# Ogg keeps tags with the stream.
_TAGS_ON_STREAM: Final = frozenset({".ogg", ".opus"})
# Where the encoder would take eight bits.
_SIXTEEN_BITS: Final = {".tta": "s16", ".wv": "s16p"}
_FILM_CODECS: Final = {".flv": "flv", ".mpg": "mpeg1video"}


def make(
    path: Path,
    *,
    seconds: float = 2.0,
    samples: NDArray[np.float64] | None = None,
    codec: str | None = None,
    rate: int | None = None,
    channels: int | None = None,
    tags: Mapping[str, str] | None = None,
    cover: bytes | None = None,
    options: Mapping[str, str] | None = None,
    film: bool | None = None,
) -> Path:
    """Write a playable file and return its path.

    `samples` are (n,) or (channels, n) floats in [-1, 1); without them a melody is played.
    `cover` is a picture's bytes (mp3, flac, ogg, opus, m4a), `options` are the container's.
    Containers of films get some frames of picture, unless `film` is false.
    """
    form = FORMATS[path.suffix]
    tags = dict(tags or {})
    if cover is not None and path.suffix in _TAGS_ON_STREAM:
        tags["METADATA_BLOCK_PICTURE"] = b64encode(flac_picture(cover)).decode()
    rate = rate or form.rate
    sound = melody(seconds, rate=rate) if samples is None else np.atleast_2d(samples)
    if channels is None:
        channels = form.channels if samples is None else sound.shape[0]
    sound = np.broadcast_to(sound, (channels, sound.shape[1]))
    with av.open(str(path), "w", format=form.container, options=dict(options or {})) as container:
        stream: Any = container.add_stream(
            codec or form.codec, rate=rate, layout=_LAYOUTS[channels], options={"strict": "-2"}
        )
        if path.suffix in _SIXTEEN_BITS:
            stream.format = _SIXTEEN_BITS[path.suffix]
        if stream.codec_context.name.startswith("wma"):
            stream.bit_rate = 128_000  # which has no default there
        (stream if path.suffix in _TAGS_ON_STREAM else container).metadata.update(tags)
        film = path.suffix in FILMS if film is None else film
        screen = _add_film(container, path.suffix) if film else None
        container.start_encoding()
        _encode(container, stream, sound, rate)
        if screen is not None:
            _shoot(container, screen, sound.shape[1] / rate)
    if cover is not None and path.suffix not in _TAGS_ON_STREAM:
        path.write_bytes(_COVERED[path.suffix](path.read_bytes(), cover))
    return path


def make_silent_film(path: Path, *, seconds: float = 1.0) -> Path:
    """Write a film without sound and return its path."""
    with av.open(str(path), "w", format=FORMATS[path.suffix].container) as container:
        _shoot(container, _add_film(container, path.suffix), seconds)
    return path


def melody(seconds: float, *, rate: int = 44_100) -> NDArray[np.float64]:
    """Return a tune that never repeats, (1, n), so that every moment can be told apart."""
    time = np.arange(round(seconds * rate)) / rate
    glide = np.sin(2 * np.pi * (300 * time + 2 * time**2))
    beat = 0.6 + 0.4 * np.sin(2 * np.pi * 0.7 * time)
    noise = np.random.default_rng(1).normal(0, 0.02, time.size)
    tune: NDArray[np.float64] = (0.4 * glide * beat + noise)[np.newaxis]
    return tune


def picture(codec: str = "mjpeg", *, width: int = 16, height: int = 16) -> bytes:
    """Return a small grey picture: a JPEG (mjpeg), png or WebP (libwebp) file."""
    encoder: Any = av.CodecContext.create(codec, "w")
    encoder.width, encoder.height = width, height
    encoder.pix_fmt = {"mjpeg": "yuvj420p", "png": "rgb24", "libwebp": "yuv420p"}[codec]
    encoder.time_base = Fraction(1, 25)
    frame = av.VideoFrame(width, height, encoder.pix_fmt)
    for plane in frame.planes:
        plane.update(bytes([128]) * plane.buffer_size)
    return b"".join(bytes(packet) for packet in [*encoder.encode(frame), *encoder.encode(None)])


def wav(
    data: bytes, *, rate: int = 16_000, channels: int = 1, bits: int = 16, kind: int = 1
) -> bytes:
    """Return a WAV file with exactly these bytes in it; `kind` is 1 for numbers, 3 for floats."""
    width = channels * bits // 8
    layout = struct.pack("<HHIIHH", kind, channels, rate, rate * width % 2**32, width % 2**16, bits)
    body = b"WAVE" + chunk(b"fmt ", layout) + chunk(b"data", data)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def chunk(name: bytes, data: bytes) -> bytes:
    """Return a RIFF chunk."""
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def id3(*frames: tuple[bytes, bytes], version: int = 3) -> bytes:
    """Return an ID3v2 tag of (name, content) frames."""
    packed = sync_safe if version == 4 else struct.Struct(">I").pack
    body = b"".join(name + packed(len(data)) + b"\0\0" + data for name, data in frames)
    return b"ID3" + bytes([version, 0, 0]) + sync_safe(len(body)) + body


def sync_safe(number: int) -> bytes:
    """Return a number in four bytes of seven bits."""
    return bytes(number >> shift & 0x7F for shift in (21, 14, 7, 0))


def apic(image: bytes, media_type: bytes = b"image/jpeg") -> tuple[bytes, bytes]:
    """Return the ID3 frame of a front cover."""
    return b"APIC", b"\0" + media_type + b"\0\x03\0" + image


def flac_picture(image: bytes, media_type: bytes = b"image/jpeg") -> bytes:
    """Return a front cover as FLAC, and Ogg in a tag, keep it."""
    kind = struct.pack(">I", 3) + struct.pack(">I", len(media_type)) + media_type
    return kind + bytes(4 + 16) + struct.pack(">I", len(image)) + image


def huge_png(side: int = 20_000) -> bytes:
    """Return a PNG of about a megabyte whose side × side black pixels take over a gigabyte."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", squeezed_zeros(side * (3 * side + 1))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def squeezed_zeros(count: int) -> bytes:
    """Return zeros as zlib packs them, without going through all of them."""
    block = 1 << 20
    squeeze = zlib.compressobj(9, wbits=-15)
    many = squeeze.compress(bytes(block)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    last = zlib.compressobj(9, wbits=-15)
    rest = last.compress(bytes(count % block)) + last.flush()
    return b"\x78\xda" + many * (count // block) + rest + struct.pack(">HH", count % 65521, 1)


def _encode(container: Any, stream: Any, sound: NDArray[np.float64], rate: int) -> None:
    layout = stream.layout.name
    planes = np.ascontiguousarray(sound, dtype=np.float32)
    frame = AudioFrame.from_ndarray(planes, format="fltp", layout=layout)
    frame.sample_rate = rate
    frame.pts = 0
    size = stream.codec_context.frame_size or 1024
    fit = AudioResampler(format=stream.format.name, layout=layout, rate=rate, frame_size=size)
    for piece in [*fit.resample(frame), *fit.resample(None)]:
        container.mux(stream.encode(piece))
    container.mux(stream.encode(None))


def _add_film(container: Any, suffix: str) -> Any:
    stream = container.add_stream(_FILM_CODECS.get(suffix, "mpeg4"), rate=25)
    stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
    return stream


def _shoot(container: Any, stream: Any, seconds: float) -> None:
    frame = av.VideoFrame(64, 48, "yuv420p")
    for plane in frame.planes:
        plane.update(bytes(plane.buffer_size))
    for number in range(int(seconds * 25)):
        frame.pts = number
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def _mp3_with(content: bytes, image: bytes) -> bytes:
    # In place of the tag that is there, since a second one would be taken for damage.
    size = 10 + sum(
        byte << shift for byte, shift in zip(content[6:10], (21, 14, 7, 0), strict=True)
    )
    return id3(apic(image)) + (content[size:] if content.startswith(b"ID3") else content)


def _flac_with(content: bytes, image: bytes) -> bytes:
    block = flac_picture(image)
    end = 4 + 4 + 34  # the magic bytes and the first block, which is always of this size
    return content[:end] + b"\x06" + struct.pack(">I", len(block))[1:] + block + content[end:]


def _m4a_with(content: bytes, image: bytes) -> bytes:
    # The index comes last in the file, so nothing else moves when it grows.
    data = struct.pack(">I", 16 + len(image)) + b"data" + struct.pack(">II", 13, 0) + image
    atom = struct.pack(">I", 8 + len(data)) + b"covr" + data
    grown = bytearray(content)
    for name in (b"moov", b"udta", b"meta", b"ilst"):
        place = grown.rindex(name) - 4
        size = int.from_bytes(grown[place : place + 4], "big")
        grown[place : place + 4] = struct.pack(">I", size + len(atom))
    return bytes(grown[: place + size]) + atom + bytes(grown[place + size :])


_COVERED: Final = {".flac": _flac_with, ".m4a": _m4a_with, ".mp3": _mp3_with}
