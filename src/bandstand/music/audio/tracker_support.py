"""Tracker modules (mod, xm, it, s3m …): scores with their own instruments, played by ffmpeg.

PyAV's wheel cannot play them. An ffmpeg on the PATH that was built with libopenmpt or
libmodplug can; it is used where the caller allows other programs to be started.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np
from av.audio.frame import AudioFrame

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.containers import other_kind
from bandstand.music.audio.descriptors.definition import CLIP_SAMPLES, clip_start
from bandstand.music.audio.ffmpeg import decoded, described, ffmpeg_with, played
from bandstand.music.audio.opus import RATE, encoded
from bandstand.music.audio.tags import clean
from bandstand.music.audio.to_mono import Sound
from bandstand.types import Tags, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator


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
# How sound begins that has the name of a module.
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


# Some modules loop for ever.
MAX_SECONDS: Final = 3_600  # seconds


def module_chunks(file: BinaryIO, *, size: int, allow_programs: bool) -> Iterator[bytes]:
    """Yield a module as Ogg Opus, in pieces of at least `size` bytes but for the last."""
    found = player_for(file, allow_programs=allow_programs)
    blocks = played(*found, file, rate=RATE, seconds=MAX_SECONDS)
    return encoded(map(_stereo_frame, blocks), layout="stereo", size=size)


def _stereo_frame(block: bytes) -> AudioFrame:
    samples = np.frombuffer(block, dtype="<i2").reshape(1, -1)
    frame = AudioFrame.from_ndarray(samples, format="s16", layout="stereo")
    frame.sample_rate = RATE
    return frame
