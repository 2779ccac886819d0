"""Tracker modules (mod, xm, it, s3m …): scores with their own instruments, played by ffmpeg.

PyAV's wheel cannot play them. An ffmpeg on the PATH that was built with libopenmpt or
libmodplug can, if the caller allows other programs to be started. It gets fixed arguments; its
output and its time are bounded.
"""

import io
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import BinaryIO, Final, cast

import numpy as np
from av.audio.frame import AudioFrame

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.containers import Sound, other_kind
from bandstand.music.audio.descriptors.definition import CLIP_SAMPLES, clip_start
from bandstand.music.audio.opus import RATE, encoded
from bandstand.music.audio.tags import clean
from bandstand.types import Tags, frozen

MAX_READ_SECONDS: Final = 60.0  # seconds
_BLOCK_BYTES: Final = 1 << 18  # bytes of sound, a bit more than a second
# The file is standard input, and its name never reaches the command line. It is opened again from
# there, since a demuxer that needs the size refuses a pipe.
_INPUT: Final = "file:/dev/fd/0"
_COMMON_OPTIONS: Final = ("-hide_banner", "-nostdin", "-protocol_whitelist", "file,pipe")
# No other variable is passed on: FFREPORT, for one, would write files.
_KEPT_VARIABLES: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


@cache
def demuxers(ffmpeg: str) -> frozenset[str]:
    """Return the names of the containers that this ffmpeg can read."""
    listing = _output([ffmpeg, "-hide_banner", "-demuxers"], None, limit=1 << 20, errors=False)
    rows = (line.split() for line in listing.decode(errors="replace").splitlines())
    names = (row[1] for row in rows if len(row) > 1 and row[0].startswith("D"))
    return frozenset(name for several in names for name in several.split(","))


def ffmpeg_with(wanted: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the ffmpeg on the PATH and the first of the wanted demuxers that it has, if any."""
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        return None
    return next(((ffmpeg, name) for name in wanted if name in demuxers(ffmpeg)), None)


def described(ffmpeg: str, demuxer: str, file: BinaryIO) -> str:
    """Return what ffmpeg says about a file, as it would be shown to a person."""
    # Without an output file ffmpeg complains at the end, which does no harm.
    arguments = [ffmpeg, *_COMMON_OPTIONS, "-f", demuxer, "-i", _INPUT]
    words = _output(arguments, file, limit=1 << 16, errors=True)
    return words.decode(errors="surrogateescape")


def decoded(ffmpeg: str, demuxer: str, file: BinaryIO, *, start: float, samples: int) -> bytes:
    """Return at most `samples` samples: 16 kHz, mono, 16 bits, little-endian."""
    arguments = [ffmpeg, *_COMMON_OPTIONS, "-loglevel", "quiet", "-threads", "1", "-f", demuxer]
    arguments += ["-ss", f"{start:.3f}", "-i", _INPUT, "-t", f"{samples / 16_000:.3f}"]
    arguments += ["-map", "0:a:0", "-ac", "1", "-ar", "16000", "-f", "s16le", "pipe:1"]
    return _output(arguments, file, limit=2 * samples, errors=False)


def played(
    ffmpeg: str, demuxer: str, file: BinaryIO, *, rate: int, seconds: int
) -> Iterator[bytes]:
    """Yield the sound from its beginning, up to `seconds`: stereo, 16 bits, little-endian.

    Each block is a whole number of samples for both channels.
    """
    arguments = [ffmpeg, *_COMMON_OPTIONS, "-loglevel", "quiet", "-threads", "1", "-f", demuxer]
    arguments += ["-i", _INPUT, "-t", str(seconds), "-map", "0:a:0", "-ac", "2", "-ar", str(rate)]
    arguments += ["-f", "s16le", "pipe:1"]
    with _running(arguments, file, errors=False) as output:
        while block := _read(output, _BLOCK_BYTES):
            yield block[: len(block) // 4 * 4]


def _output(arguments: list[str], file: BinaryIO | None, *, limit: int, errors: bool) -> bytes:
    """Return the first bytes that a program writes before it ends or its time is up."""
    with _running(arguments, file, errors=errors) as output:
        return _read(output, limit)


@contextmanager
def _running(arguments: list[str], file: BinaryIO | None, *, errors: bool) -> Iterator[int]:
    """Yield the output pipe of a program that runs until the end of the block."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    with subprocess.Popen(
        arguments,
        # Pipes only: in a limited process not even /dev/null can be opened for writing.
        stdin=subprocess.PIPE if file is None else file,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if errors else subprocess.PIPE,
        env={**kept, "LC_ALL": "C"},
    ) as process:
        try:
            yield cast("BinaryIO", process.stdout).fileno()
        finally:
            process.kill()


def _read(pipe: int, limit: int) -> bytes:
    until = time.monotonic() + MAX_READ_SECONDS
    data = bytearray()
    while len(data) < limit:
        ready, _, _ = select.select([pipe], [], [], max(until - time.monotonic(), 0.0))
        more = os.read(pipe, limit - len(data)) if ready else b""
        if not more:
            break
        data += more
    return bytes(data)


# ── Modules ────────────────────────────────────────────────────────────────────────────


MAX_MODULE_BYTES: Final = 64 << 20  # bytes
HEAD_BYTES: Final = 1084  # bytes, in which every kind of module shows what it is
# Believed where the content is ambiguous: the oldest modules have no mark.
EXTENSIONS: Final = frozenset(
    {".669", ".it", ".med", ".mod", ".mptm", ".mtm", ".oct", ".okt", ".s3m", ".stm", ".ult", ".xm"}
)
DEMUXERS: Final = ("libopenmpt", "libmodplug")
_MODULE_MARKS: Final = (
    (0, b"Extended Module: "),
    (0, b"IMPM"),
    (0, b"MTM\x10"),
    (0, b"MMD"),
    (0, b"OKTASONG"),
    (0, b"MAS_UTrack_V00"),
    (20, b"!Scream!"),
    (44, b"SCRM"),
)
# At 1080, where ProTracker and its followers say how many channels there are.
_MOD_MARK: Final = re.compile(
    rb"M[.!&]K[.!]|N\.T\.|FLT[48]|EXO[48]|CD81|OCTA|[1-9]CHN|[0-9]{2}C[HN]|TDZ[1-9]"
)
# Sound files with the name of a module begin like this.
_SOUND_STARTS: Final = (
    b"ID3",
    b"OggS",
    b"fLaC",
    b"RIFF",
    b"FORM",
    b"wvpk",
    b"\xff\xfa",
    b"\xff\xfb",
)
_DURATION: Final = re.compile(r"^ +Duration: ([0-9]+):([0-9]{2}):([0-9]{2}\.[0-9]+)", re.MULTILINE)
_TITLE: Final = re.compile(r"^ +title +: (.*)$", re.MULTILINE)


class NeedsProgramError(UnreadableAudioError):
    """The file is sound, but only another program can play it, and none may be started here."""


def is_module(file: BinaryIO, extension: str = "") -> bool:
    """Return whether a file is a tracker module, by its content and only then by its name."""
    file.seek(0)
    head = file.read(HEAD_BYTES)
    if any(head.startswith(mark, place) for place, mark in _MODULE_MARKS):
        return True
    if _MOD_MARK.fullmatch(head[1080:1084]):
        return True
    is_something_else = not head or head.startswith(_SOUND_STARTS) or other_kind(head) is not None
    return extension.lower() in EXTENSIONS and not is_something_else


def player_for(file: BinaryIO, *, allow_programs: bool) -> tuple[str, str]:
    """Return the ffmpeg that can play a module, and the name of its demuxer."""
    if not allow_programs:
        msg = "tracker modules need another program, and none may be started here"
        raise NeedsProgramError(msg)
    if file.seek(0, io.SEEK_END) > MAX_MODULE_BYTES:
        msg = f"expected a tracker module of at most {MAX_MODULE_BYTES >> 20} MB, got a larger one"
        raise UnreadableAudioError(msg)
    found = ffmpeg_with(DEMUXERS)
    if found is None:
        msg = "tracker modules need an ffmpeg with libopenmpt on the PATH"
        raise UnreadableAudioError(msg)
    return found


def read_module(file: BinaryIO, *, allow_programs: bool) -> tuple[Sound, Tags]:
    """Return the middle of a module, played, and its title."""
    found = player_for(file, allow_programs=allow_programs)
    description = described(*found, file)
    duration = _duration(description)
    pulses = decoded(*found, file, start=clip_start(duration), samples=CLIP_SAMPLES)
    samples = np.frombuffer(pulses[: len(pulses) // 2 * 2], dtype="<i2") / 32768.0
    title = _TITLE.search(description)
    tags = Tags(title=clean(title[1]) if title else None)
    return Sound(samples=frozen(samples), duration=duration), tags


def _duration(description: str) -> float:
    found = _DURATION.search(description)
    if found is None:
        msg = "expected a tracker module, got something that is damaged"
        raise UnreadableAudioError(msg)
    hours, minutes, seconds = found.groups()
    return 3600.0 * int(hours[:6]) + 60.0 * int(minutes) + float(seconds)


# Some modules loop endlessly.
MAX_SECONDS: Final = 3_600  # seconds


def module_chunks(
    file: BinaryIO,
    *,
    size: int,
    allow_programs: bool,
    form: str = "opus",
    kilobits: int | None = None,
) -> Iterator[bytes]:
    """Yield a converted module, in pieces of at least `size` bytes but for the last."""
    found = player_for(file, allow_programs=allow_programs)
    blocks = played(*found, file, rate=RATE, seconds=MAX_SECONDS)
    frames = map(_stereo_frame, blocks)
    return encoded(frames, layout="stereo", size=size, form=form, kilobits=kilobits)


def _stereo_frame(block: bytes) -> AudioFrame:
    samples = np.frombuffer(block, dtype="<i2").reshape(1, -1)
    frame = AudioFrame.from_ndarray(samples, format="s16", layout="stereo")
    frame.sample_rate = RATE
    return frame
