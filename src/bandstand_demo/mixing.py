"""From a score to sound: notes at their time and place, the room, a common loudness."""

from functools import cache, lru_cache
from typing import Any, Final

import numpy as np

from bandstand.types import Vector
from bandstand_demo import instruments
from bandstand_demo.composition import Line, Score
from bandstand_demo.instruments import RATE, Sound, half_cosine, noise, samples

# ReplayGain's reference loudness: every piece is brought to it, so none needs to be turned.
TARGET: Final = -18.0  # LUFS
CEILING: Final = 0.84  # −1.5 dBFS; the encoder may add a little
_KNEE: Final = 0.65
# The room is computed at a quarter of the rate: what it gives back is dull anyway.
_COARSE: Final = 4
_COARSE_RATE: Final = RATE // _COARSE
_HUMAN: Final = 0.07  # standard deviation of the velocity, in parts of it
_ECHO_BEATS: Final = 0.75
_AIR: Final = 2e-4  # noise, so that no silence between notes is digital
_UNHEARD: Final = 0.006  # of the peak; −44 dB
_LEAD: Final = 0.02  # seconds before the first note
_TAIL: Final = 2.0  # seconds after the last bar
_FRAME: Final = 4_096  # samples of which the loudness is taken
_FRAME_STRIDE: Final = 8  # one frame of eight stands for all
_SILENCE: Final = -70.0  # LUFS


def mix(score: Score, rng: np.random.Generator) -> Sound:
    """Return a score as sound: (2, n), peaks below −1 dBFS, loudness near −18 LUFS."""
    clock, style = score.clock, score.style
    count = -(-samples(clock.seconds(clock.beats) + _TAIL) // _COARSE) * _COARSE
    # Left, right, what goes to the room, and what comes back as an echo.
    tracks = np.zeros((4, count), dtype=np.float32)
    for line in score.lines:
        _play(line, score, tracks, rng)
    dry, room, echo = tracks[:2], tracks[2], tracks[3]
    _echo(dry, echo, samples(_ECHO_BEATS * 60.0 / clock.tempo))
    _reverberate(dry, room, style.room)
    for side in (0, 1):
        dry[side] += np.float32(_AIR) * noise(count, 40.0, 9_000.0, 50 + side)
    # A piece without an end of its own fades.
    return mastered(dry, 1.0 if "end" in style.plan else 3.0)


def _play(line: Line, score: Score, tracks: Sound, rng: np.random.Generator) -> None:
    """Add the notes of a part; what reaches beyond the end is lost."""
    (instrument, part, notes), clock, played = line, score.clock, dict[Any, Any]()
    # A constant-power pan: the two squares add up to two.
    gain, pan, wet = part.mix
    angle = (pan + 1.0) * np.pi / 4
    sides = np.sqrt(2.0) * np.array([np.cos(angle), np.sin(angle)])
    gains = (gain * np.array([*sides, wet, part.echo])).astype(np.float32)
    jitter = np.clip(rng.standard_normal((len(notes), 2)), -2.0, 2.0).tolist()
    for note, (late, strong) in zip(notes, jitter, strict=True):
        # A note that comes back is computed once: few forces, lengths to a hundredth of a second.
        seconds = round(max(clock.duration(note), 0.03), 2)
        wanted = (instrument, note.pitch, seconds, max(1, round(3 * note.velocity)) / 3)
        if wanted not in played:
            played[wanted] = instruments.note(*wanted)
        time = _LEAD + clock.seconds(note.start) + score.style.looseness * late
        first = max(0, int(time * RATE))
        sound = played[wanted][..., : max(0, tracks.shape[1] - first)]
        here = slice(first, first + sound.shape[-1])
        level = np.float32(note.velocity * (1.0 + _HUMAN * strong))
        tracks[:2, here] += (level * gains[:2])[:, None] * sound
        mono = sound[0] if sound.ndim == 2 else sound
        for track in (2, 3):
            if gains[track]:
                tracks[track, here] += level * gains[track] * mono


def _echo(dry: Sound, echo: Sound, delay: int) -> None:
    """Add three echoes, left, right and left, each half as loud."""
    for turn in range(1, 4) if echo.any() else ():
        late = np.float32(0.5**turn) * echo[: -turn * delay]
        dry[turn % 2, turn * delay :] += late
        dry[1 - turn % 2, turn * delay :] += np.float32(0.35) * late


def _reverberate(dry: Sound, room: Sound, seconds: float) -> None:
    """Add the room's answer, by convolution with decaying noise that differs left and right."""
    padded = np.pad(room, 3)
    coarse = np.zeros(room.size // _COARSE, dtype=np.float32)
    for place, weight in enumerate((1, 2, 3, 4, 3, 2, 1)):
        coarse += np.float32(weight / 16) * padded[place : place + room.size : _COARSE]
    # A multiple of 2¹⁷ is quickly transformed, and often the room's spectra are there already.
    size = -(-(coarse.size + int(seconds * _COARSE_RATE)) // (1 << 17)) << 17
    spectrum = np.fft.rfft(coarse, size)
    for side, answer in zip(dry, _room(seconds, size), strict=True):
        wet = np.fft.irfft(spectrum * answer, size)[: coarse.size].astype(np.float32, copy=False)
        slope = np.diff(wet, append=np.float32(0.0)) / np.float32(_COARSE)
        columns = side.reshape(-1, _COARSE)
        for place in range(_COARSE):
            columns[:, place] += wet + np.float32(place) * slope


@lru_cache(maxsize=8)
def _room(seconds: float, size: int) -> np.ndarray[Any, np.dtype[np.complex64]]:
    """Return the spectra of a room's answer to a clap, left and right, with energy 1."""
    count = int(seconds * _COARSE_RATE)
    time = np.arange(count) / _COARSE_RATE
    wash = np.random.default_rng(7).standard_normal((2, count)) * 10.0 ** (-3.0 * time / seconds)
    wash *= np.minimum(time / 0.012, 1.0)  # the first reflections need their time
    # Air and walls swallow the high tones, and a small speaker's low ones would boom.
    hz = np.fft.rfftfreq(count, 1 / _COARSE_RATE)
    wash = np.fft.irfft(np.fft.rfft(wash) / (1.0 + (hz / 2800.0) ** 2) * hz / (hz + 150.0), count)
    energy = np.sqrt(np.sum(wash**2, axis=1, keepdims=True))
    return np.fft.rfft((wash / energy).astype(np.float32), size).astype(np.complex64, copy=False)


def mastered(sound: Sound, fade: float) -> Sound:
    """Return the sound at the common loudness, its end faded, its peaks rounded off softly."""
    levels = np.abs(sound).max(axis=0)
    heard = np.flatnonzero(levels > _UNHEARD * levels.max())
    sound = sound[:, : int(heard[-1]) + 1] if heard.size else sound
    count = min(samples(fade), sound.shape[1])
    sound[:, -count:] *= half_cosine(count)[::-1]
    # Rounding the peaks takes a little loudness away; a second turn makes it up.
    for _ in range(2):
        sound = _rounded(sound * np.float32(10.0 ** ((TARGET - loudness(sound)) / 20.0)))
    return sound


def _rounded(sound: Sound) -> Sound:
    """Return the sound with everything beyond the knee bent towards the ceiling."""
    loud = np.abs(sound) > _KNEE
    over, room = np.abs(sound[loud]) - np.float32(_KNEE), np.float32(CEILING - _KNEE)
    sound[loud] = np.sign(sound[loud]) * (np.float32(_KNEE) + room * np.tanh(over / room))
    return sound


def loudness(sound: Sound) -> float:
    """Return the loudness of a stereo sound (2, n) in LUFS: ITU-R BS.1770, without gating.

    A sine of 1 kHz and amplitude 1 in one channel has −3.01 LUFS, by the standard.

    >>> sine = np.sin(np.arange(200_000) * (2 * np.pi * 997 / 48_000))
    >>> round(loudness(np.stack([sine, 0 * sine]).astype(np.float32)), 1)
    -3.0
    """
    frames = sound.shape[1] // _FRAME
    framed = sound[:, : frames * _FRAME].reshape(2, frames, _FRAME)[:, ::_FRAME_STRIDE]
    window = np.hanning(_FRAME).astype(np.float32)
    power = np.abs(np.fft.rfft(framed * window)) ** 2
    mean_square = power.mean(axis=1).sum(axis=0) @ _weights() / (_FRAME * np.sum(window**2))
    if mean_square <= 10.0 ** (_SILENCE / 10.0):
        return _SILENCE
    return float(-0.691 + 10.0 * np.log10(mean_square))


@cache
def _weights() -> Vector:
    """Return the K weighting of each bin, a shelf and a high-pass; both halves count."""
    hz = np.fft.rfftfreq(_FRAME, 1 / RATE)
    shelf = (1.0 + 2.512 * (hz / 1682.0) ** 4) / (1.0 + (hz / 1682.0) ** 4)
    weights: Vector = 2.0 * shelf * (hz**2 / (hz**2 + 38.1**2)) ** 2
    return weights
