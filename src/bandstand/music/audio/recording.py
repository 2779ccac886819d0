"""One audio file as the rest of Bandstand sees it: a clip, a duration and tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.decode import decode
from bandstand.music.audio.descriptors.definition import FRAME
from bandstand.music.audio.tags import read_tags
from bandstand.music.audio.tracker_support import is_module, read_module

if TYPE_CHECKING:
    from bandstand.arrays import Vector
    from bandstand.tracks import Tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What was read of one file."""

    samples: Vector  # the middle 30 s: 16 kHz, mono, in [-1, 1); read-only
    duration: float  # seconds, of the whole track
    tags: Tags


def read(file: BinaryIO, *, extension: str = "", allow_programs: bool = False) -> Recording:
    """Return the clip and the tags of an open, seekable, regular file.

    `extension`, such as ".mod", is a hint for the oldest tracker modules, which nothing else
    tells from noise. Modules need another program: unless programs are allowed they raise
    `NeedsProgramError`, so that the caller can ask again from where they are. Everything else
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
