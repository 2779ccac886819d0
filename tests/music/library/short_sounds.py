"""Short pieces of sound, in every format that the decoder's own library can write.

Each piece is three notes over a little noise, drawn from a seed: two seeds never sound, or
hash, the same.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from io import BytesIO
from typing import Any, NamedTuple

import av
import numpy as np
import numpy.typing as npt

RATE = 16_000
SECONDS = 3.0

Samples = npt.NDArray[np.int16]


class Format(NamedTuple):
    container: str
    codec: str
    rate: int
    layout: str


FORMATS = {
    "wav": Format("wav", "pcm_s16le", RATE, "mono"),
    "flac": Format("flac", "flac", RATE, "mono"),
    "mp3": Format("mp3", "libmp3lame", RATE, "mono"),
    "ogg": Format("ogg", "vorbis", RATE, "stereo"),
    "opus": Format("ogg", "libopus", RATE, "mono"),
    "m4a": Format("ipod", "aac", RATE, "mono"),
    "alac": Format("ipod", "alac", RATE, "mono"),
    "aiff": Format("aiff", "pcm_s16be", RATE, "mono"),
    "wma": Format("asf", "wmav2", 22_050, "mono"),
    "webm": Format("webm", "libopus", RATE, "mono"),
}


def piece(seed: int, *, seconds: float = SECONDS) -> Samples:
    """Return three notes over a little noise, 16 bits, mono, 16 kHz."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(seconds * RATE)) / RATE
    notes = sum(np.sin(2 * np.pi * f * time) for f in rng.uniform(110, 1760, size=3))
    beat = np.exp(-5 * (time % rng.uniform(0.3, 0.7)))
    sound = 0.2 * beat * notes + 0.01 * rng.standard_normal(len(time))
    return np.asarray(np.round(np.clip(sound, -1, 0.999) * 32_768), dtype=np.int16)


def encoded(kind: str, samples: Samples, *, index_first: bool = False) -> bytes:
    """Return `samples` as the bytes of a file of one of the FORMATS."""
    form = FORMATS[kind]
    sink = BytesIO()
    options = {"fflags": "+bitexact"}
    if form.container == "ogg":
        options["page_duration"] = "100000"  # microseconds; else three seconds are one page
    if index_first:
        options["movflags"] = "frag_keyframe+empty_moov"
    with av.open(sink, "w", format=form.container, options=options) as container:
        stream = container.add_stream(form.codec, rate=form.rate, layout=form.layout)
        assert isinstance(stream, av.AudioStream)
        stream.bit_rate = 64_000
        if form.codec == "vorbis":  # the library's own encoder counts as a trial
            stream.codec_context.options = {"strict": "experimental"}
        for frame in (_frame(samples), None):
            container.mux(stream.encode(frame))
    return sink.getvalue()


def film(samples: Samples | None) -> bytes:
    """Return a second of black pictures as a Matroska file, with or without sound."""
    sink = BytesIO()
    with av.open(sink, "w", format="matroska", options={"fflags": "+bitexact"}) as container:
        pictures = container.add_stream("mpeg4", rate=25)
        pictures.width, pictures.height, pictures.pix_fmt = 32, 32, "yuv420p"
        frames: list[tuple[Any, Any]] = [
            (pictures, av.VideoFrame(32, 32, "yuv420p")) for _ in range(25)
        ]
        if samples is not None:
            sound = container.add_stream("pcm_s16le", rate=RATE, layout="mono")
            frames.append((sound, _frame(samples)))
        for stream, frame in [*frames, *((stream, None) for stream in container.streams)]:
            container.mux(stream.encode(frame))
    return sink.getvalue()


def _frame(samples: Samples) -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = RATE, 0, Fraction(1, RATE)
    return frame


def wav(
    data: bytes,
    *,
    rate: int = RATE,
    channels: int = 1,
    bits: int = 16,
    kind: int = 1,
    size: int | None = None,
) -> bytes:
    """Return a WAV file written by hand; `size` is what its header claims.

    `kind` is 1 for integers and 3 for floats; nothing is checked, which is the point.
    """
    claimed = len(data) if size is None else size
    return wav_header(claimed, rate=rate, channels=channels, bits=bits, kind=kind) + data


def wav_header(
    size: int, *, rate: int = RATE, channels: int = 1, bits: int = 16, kind: int = 1
) -> bytes:
    """Return the first 44 bytes of a WAV file with `size` bytes of sound."""
    frame = min(channels * bits // 8, 0xFFFF)
    per_second = min(rate * frame, 0xFFFFFFFF)
    form = struct.pack("<HHIIHH", kind, channels, rate, per_second, frame, bits)
    riff = struct.pack("<I", min(size + 36, 0xFFFFFFFF))
    return (
        b"RIFF"
        + riff
        + b"WAVEfmt "
        + struct.pack("<I", 16)
        + form
        + b"data"
        + struct.pack("<I", size)
    )
