"""The middle of a track as samples, decoded packet by packet from a file that may lie.

A header is believed if the sound is where the header says. Otherwise the packets are
counted, without decoding them, and the clip is the middle of what is there. If even a jump
to that place fails, everything is decoded from the beginning.

Every way is bounded: a `Source` ends after so many bytes, counting ends after so many
packets, decoding from the beginning after so many seconds, and nothing but the clip is
kept. Of a track that could not be counted to its end, the clip is the middle of the part
that was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

from bandstand.music.audio.containers import SURPRISES, audio_stream, opened
from bandstand.music.audio.descriptors.definition import (
    CLIP_SECONDS,
    FRAME,
    SAMPLE_RATE,
    clip_start,
)
from bandstand.music.audio.duration import claimed_length, counted_length
from bandstand.music.audio.packets import frames_of, start_of
from bandstand.music.audio.source import Source
from bandstand.music.audio.to_mono import Mixdown

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer

    from bandstand.arrays import Vector

# Where nothing can be jumped over, the clip begins no later: all before it is decoded too.
LATEST_START: Final = 600.0  # seconds
# A header may be wrong by this much: encoders add silence at both ends.
_TOLERANCE: Final = 0.5  # seconds
# Most codecs need a little of what came before. A Vorbis page begins early enough by itself.
_LEAD: Final = {"vorbis": 0.0}
_USUAL_LEAD: Final = 0.1  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """A clip: 16 kHz, mono, in [-1, 1); and the seconds of the whole track."""

    samples: Vector
    duration: float


def decode(file: BinaryIO) -> Sound:
    """Return the middle 30 seconds of the track, or all of a shorter one."""
    source = Source(file)
    return _as_claimed(source) or _as_counted(source)


def _as_claimed(source: Source) -> Sound | None:
    """Return the clip that the header leads to; None if there is none, or it leads nowhere."""
    duration = claimed_length(source)
    return None if duration is None else _by_jumping(source, duration)


def _as_counted(source: Source) -> Sound:
    """Return the middle of what is there, whatever the header says."""
    length = counted_length(source)
    sound = _by_jumping(source, length.counted)
    if sound is None:
        start = min(clip_start(length.counted), LATEST_START)
        sound = _from_the_beginning(source, start)
        if len(sound.samples) < FRAME:  # time stamps can lie as well
            sound = _from_the_beginning(source, 0.0)
    return Sound(samples=sound.samples, duration=max(sound.duration, length.whole))


def _by_jumping(source: Source, duration: float) -> Sound | None:
    """Return the middle of a track of that duration; None if it is not all there."""
    start = clip_start(duration)
    with opened(source) as container:
        stream = audio_stream(container)
        clip = Mixdown(start, codec=stream.codec_context.name)
        if not _jump(container, stream, start):
            return None
        end = 0.0
        for frame, stamp in frames_of(container, stream):
            at = end if stamp is None else stamp
            if not end and at > start + _TOLERANCE:
                return None  # landed behind the place
            clip.add(frame, at)
            end = at + frame.samples / frame.sample_rate
            if clip.is_full:
                break
    samples = clip.samples()
    seconds = len(samples) / SAMPLE_RATE
    if start == 0 and seconds < CLIP_SECONDS - _TOLERANCE:
        # That was all of it, so now we know how long it is.
        is_right = abs(seconds - duration) <= _TOLERANCE
        return Sound(samples=samples, duration=duration if is_right else seconds)
    if abs(seconds - min(duration, CLIP_SECONDS)) > _TOLERANCE:
        return None
    return Sound(samples=samples, duration=duration)


def _jump(container: InputContainer, stream: AudioStream, start: float) -> bool:
    """Go to the last place from which the sound at `start` can be decoded, if that is possible."""
    if start == 0:
        return True
    if container.format.name == "wav" and stream.codec_context.name.startswith("adpcm"):
        return False  # libavformat lands seconds away from where its time stamps say
    lead = _LEAD.get(stream.codec_context.name, _USUAL_LEAD)
    try:
        ticks = (max(start - lead, 0.0) + start_of(stream)) / float(stream.time_base or 0)
        container.seek(int(ticks), stream=stream)
    except MemoryError:
        raise
    except SURPRISES:
        return False
    return True


def _from_the_beginning(source: Source, start: float) -> Sound:
    """Return what comes after `start` seconds of sound, whatever the time stamps say."""
    end = 0.0
    with opened(source) as container:
        stream = audio_stream(container)
        clip = Mixdown(start, codec=stream.codec_context.name)
        for frame, _ in frames_of(container, stream):
            clip.add(frame, end)
            end += frame.samples / frame.sample_rate
            if clip.is_full:
                break
    return Sound(samples=clip.samples(), duration=end)
