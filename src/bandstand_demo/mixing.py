"""From a score to sound: notes at their time and place, the room, a common loudness."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from bandstand_demo import instruments
from bandstand_demo.loudness import loudness
from bandstand_demo.oscillators import noise
from bandstand_demo.sound import RATE, half_cosine, samples

if TYPE_CHECKING:
    from bandstand_demo.score import Clock, Part, Score
    from bandstand_demo.sound import Sound, Wave

    Spectra: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.complex64]]

# ReplayGain's reference loudness: every piece is brought to it, so none needs to be turned.
TARGET: Final = -18.0  # LUFS
CEILING: Final = 0.84  # −1.5 dBFS; the encoder may add a little
_KNEE: Final = 0.65
# The room is computed at a quarter of the rate: what it gives back is dull anyway.
_COARSE: Final = 4
_COARSE_RATE: Final = RATE // _COARSE
_HUMAN: Final = 0.07  # standard deviation of the velocity, in parts of it
_AIR: Final = 2e-4
_UNHEARD: Final = 0.003  # of the peak; −50 dB
_GLANCE: Final = 16  # samples; a finer look would find the same end
_LEAD: Final = 0.02  # seconds before the first note


def mix(score: Score, rng: np.random.Generator) -> Sound:
    """Return a score as sound: (2, n), peaks below −1 dBFS, loudness near −18 LUFS."""
    stage = _Stage(samples(score.clock.seconds(score.beats) + score.tail))
    for part in score.parts:
        _play(part, score.clock, stage, rng)
    instruments.forget()
    _echo(stage, samples(score.clock.seconds(score.echo_beats)))
    _reverberate(stage, score.room)
    _breathe(stage)
    return mastered(stage.dry, fade=score.fade)


class _Stage:
    """Where the sound collects: the direct sound, and what goes to the room and to the echo."""

    def __init__(self, least: int) -> None:
        length = -(-least // _COARSE) * _COARSE
        self.dry: Sound = np.zeros((2, length), dtype=np.float32)
        self.room: Wave = np.zeros(length, dtype=np.float32)
        self.echo: Wave = np.zeros(length, dtype=np.float32)

    def add(self, first: int, sound: Sound, gains: Wave, room: float, echo: float) -> None:
        """Add a sound from sample `first` on; what reaches beyond the end is lost."""
        sound = sound[..., : self.dry.shape[1] - first]
        here = slice(first, first + sound.shape[-1])
        self.dry[:, here] += gains[:, None] * sound
        mono = sound[0] if sound.ndim == 2 else sound
        if room:
            self.room[here] += np.float32(room) * mono
        if echo:
            self.echo[here] += np.float32(echo) * mono


def _play(part: Part, clock: Clock, stage: _Stage, rng: np.random.Generator) -> None:
    # A constant-power pan: the two squares add up to one.
    player = part.player
    angle = (player.pan + 1.0) * np.pi / 4
    sides = np.array([np.cos(angle), np.sin(angle)]) * np.sqrt(2.0) * player.gain
    jitter = np.clip(rng.standard_normal((len(part.notes), 2)), -2.0, 2.0).tolist()
    for note, (late, strong) in zip(part.notes, jitter, strict=True):
        time = _LEAD + clock.seconds(note.start) + player.looseness * late
        level = note.velocity * (1.0 + _HUMAN * strong)
        sound = instruments.note(
            player.instrument, note.pitch, clock.duration(note) + player.ring, note.velocity
        )
        gains = (level * sides).astype(np.float32)
        loud = level * player.gain
        stage.add(max(0, int(time * RATE)), sound, gains, loud * player.wet, loud * player.echo)


def _echo(stage: _Stage, delay: int) -> None:
    """Add three echoes, left, right and left, each half as loud."""
    if not stage.echo.any():
        return
    for turn in range(1, 4):
        here, level = turn * delay, np.float32(0.5**turn)
        if here < stage.echo.size:
            late = level * stage.echo[:-here]
            stage.dry[turn % 2, here:] += late
            stage.dry[1 - turn % 2, here:] += np.float32(0.35) * late


def _reverberate(stage: _Stage, seconds: float) -> None:
    """Add the room's answer, by convolution with decaying noise that differs left and right."""
    coarse = _decimated(stage.room)
    size = _fast_length(coarse.size + int(seconds * _COARSE_RATE))
    spectrum = np.fft.rfft(coarse, size)
    for dry, answer in zip(stage.dry, _room(round(seconds, 2), size), strict=True):
        wet = np.fft.irfft(spectrum * answer, size).astype(np.float32, copy=False)
        _add_interpolated(dry, wet[: coarse.size])


@lru_cache(maxsize=8)
def _room(seconds: float, size: int) -> Spectra:
    """Return the spectra of a room's answer to a clap, left and right, with energy 1."""
    count = int(seconds * _COARSE_RATE)
    rng = np.random.default_rng(7)
    time = np.arange(count) / _COARSE_RATE
    wash = rng.standard_normal((2, count)) * 10.0 ** (-3.0 * time / seconds)
    wash *= np.minimum(time / 0.012, 1.0)  # the first reflections need their time
    # Air and walls swallow the high tones, and a small speaker's low ones would boom.
    hz = np.fft.rfftfreq(count, 1 / _COARSE_RATE)
    shape = 1.0 / (1.0 + (hz / 2800.0) ** 2) * hz / (hz + 150.0)
    wash = np.fft.irfft(np.fft.rfft(wash) * shape, count)
    energy = np.sqrt(np.sum(wash**2, axis=1, keepdims=True))
    return np.fft.rfft((wash / energy).astype(np.float32), size).astype(np.complex64, copy=False)


def _breathe(stage: _Stage) -> None:
    """Add the faint noise of a room in which nobody plays, some 55 dB below the music.

    No recording is without it, and what measures spectra in decibels finds no void there.
    """
    length = stage.dry.shape[1]
    for side in (0, 1):
        air = noise(length, low=40.0, high=9_000.0, seed=50 + side)
        stage.dry[side] += np.float32(_AIR) * air


def _decimated(wave: Wave) -> Wave:
    """Return every fourth sample of the smoothed wave."""
    weights = np.array([1, 2, 3, 4, 3, 2, 1], dtype=np.float32) / 16
    padded = np.pad(wave, 3)
    coarse = np.zeros(wave.size // _COARSE, dtype=np.float32)
    for place, weight in enumerate(weights):
        coarse += weight * padded[place : place + wave.size : _COARSE]
    return coarse


def _add_interpolated(fine: Wave, coarse: Wave) -> None:
    """Add a coarse wave to a fine one, on straight lines between its samples."""
    step = np.diff(coarse, append=np.float32(0.0)) / np.float32(_COARSE)
    columns = fine.reshape(-1, _COARSE)
    for place in range(_COARSE):
        columns[:, place] += coarse + np.float32(place) * step


def _fast_length(least: int) -> int:
    """Return the next multiple of 2¹⁷, a length that Fourier transforms like.

    There are few of them, so the room's spectra are mostly there already.
    """
    return -(-least // (1 << 17)) << 17


def mastered(sound: Sound, *, fade: float) -> Sound:
    """Return the sound at the common loudness, its end faded, its peaks rounded off softly."""
    sound = _trimmed(sound)
    count = samples(fade)
    sound[:, -count:] *= half_cosine(count)[::-1]
    sound *= _gain(sound)
    if np.abs(sound).max() <= _KNEE:
        return sound
    # Rounding the peaks takes a little loudness away; a second turn makes it up.
    sound = _rounded(sound)
    return _rounded(sound * _gain(sound))


def _trimmed(sound: Sound) -> Sound:
    """Return the sound without the end at which nothing is heard any more."""
    levels = np.abs(sound[:, ::_GLANCE]).max(axis=0)
    heard = np.flatnonzero(levels > _UNHEARD * levels.max())
    return sound[:, : (int(heard[-1]) + 1) * _GLANCE] if heard.size else sound


def _gain(sound: Sound) -> np.float32:
    return np.float32(10.0 ** ((TARGET - loudness(sound)) / 20.0))


def _rounded(sound: Sound) -> Sound:
    """Return the sound with everything beyond the knee bent towards the ceiling."""
    size = np.abs(sound)
    room = np.float32(CEILING - _KNEE)
    loud = size > _KNEE
    over = size[loud] - np.float32(_KNEE)
    sound[loud] = np.sign(sound[loud]) * (np.float32(_KNEE) + room * np.tanh(over / room))
    return sound
