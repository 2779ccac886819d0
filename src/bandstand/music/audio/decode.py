"""The middle of a track as samples, decoded packet by packet from a file that may lie.

A header is believed if the sound is where the header says. Otherwise the packets are
counted, without decoding them, and the clip is the middle of what is there. If even seeking
to that place fails, everything is decoded from the beginning.

Every way is bounded: a `Source` ends after a number of bytes, counting after a number of packets,
decoding from the beginning after a number of seconds, and only the clip is kept. Of a track that
could not be counted to its end, the clip is the middle of the part that was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.containers import (
    DECODER_ERRORS,
    audio_stream,
    frames_of,
    opened,
    start_of,
)
from bandstand.music.audio.descriptors.definition import (
    CLIP_SECONDS,
    FRAME,
    SAMPLE_RATE,
    clip_start,
)
from bandstand.music.audio.duration import claimed_length, counted_length
from bandstand.music.audio.source import Source
from bandstand.music.audio.tags import read_tags
from bandstand.music.audio.to_mono import MonoClip, Sound
from bandstand.music.audio.tracker_support import is_module, read_module

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer

    from bandstand.types import Tags, Vector


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
