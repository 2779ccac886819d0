"""The instruments, as tables, and the sounds they are made of.

A sound is an array of float32 samples at 48 kHz, the rate at which Opus works: `(n,)` for one
channel, `(2, n)` for left and right.
"""

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from bandstand.types import Matrix, Vector
from bandstand_demo.notes import hertz

RATE: Final = 48_000
HIGHEST: Final = 17_000.0  # Hz; a partial above this is left out, so that nothing aliases
_BLOCK: Final = 256
_TABLE: Final = 4_096
_LOOP: Final = 1 << 17  # 2.7 seconds
_NOISE: Final = 1 << 16
_TINY: Final = 1e-18

Sound: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]


def samples(seconds: float) -> int:
    """Return how many samples a length of time has, at least one."""
    return max(1, round(seconds * RATE))


def edged(sound: Sound, attack: float, release: float) -> Sound:
    """Return the sound with a rise at its beginning and a fall at its end, in seconds.

    Where the sound is shorter than both together, each takes its share of it.
    """
    count = sound.shape[-1]
    shrink = min(1.0, count / (samples(attack) + samples(release)))
    rise, fall = (max(1, int(samples(s) * shrink)) for s in (attack, release))
    shaped = sound.copy()
    shaped[..., :rise] *= half_cosine(rise)
    shaped[..., count - fall :] *= half_cosine(fall)[::-1]
    return shaped


def decay(count: int, seconds: float, level: float = 0.0) -> Sound:
    """Return an exponential fall from 1 towards `level` that is down to 1/e after `seconds`."""
    # Below e⁻³⁰ nothing is heard, and floating-point numbers stay normal.
    exponent = np.minimum(np.arange(count) / (seconds * RATE), 30.0)
    return (level + (1.0 - level) * np.exp(-exponent)).astype(np.float32)


@lru_cache(maxsize=64)
def half_cosine(count: int) -> Sound:
    """Return a rise from 0 to 1 that begins and ends flat; it must not be changed."""
    angle = (np.arange(count) + 0.5) * (np.pi / count)
    rise: Sound = (0.5 - 0.5 * np.cos(angle)).astype(np.float32)
    return rise


def ring(hz: Vector, levels: Vector, decays: Vector, count: int) -> Sound:
    """Return a sum of sine waves, each dying away at its own rate.

        y(t) = Σ_p level_p · exp(−decay_p·t) · sin(2π·hz_p·t)

    A decaying sine at time `block + offset` is a product of what depends on the block and what
    depends on the offset, so the whole sum is one matrix product: (blocks, 2P) · (2P, 256).
    """
    pole = (2j * np.pi * hz - decays) / RATE
    outer = levels * _exponential(np.outer(np.arange(0, count, _BLOCK), pole))
    inner = _exponential(np.outer(pole, np.arange(_BLOCK)))
    left = _single(np.hstack([outer.imag, outer.real]))
    right = _single(np.vstack([inner.real, inner.imag]))
    return (left @ right).ravel()[:count]


def sung(hz: float, levels: Vector, count: int, cents: float) -> Sound:
    """Return a tone with harmonics of these levels and a vibrato of 5 Hz that sets in gradually."""
    spectrum = np.zeros(_TABLE // 2 + 1, dtype=np.complex128)
    spectrum[1 : len(levels) + 1] = -0.5j * _TABLE * levels
    table = np.fft.irfft(spectrum).astype(np.float32)
    time = np.arange(count) / RATE
    # The phase is the integral of the frequency; the slowly growing depth is taken as constant.
    depth = np.minimum(time / 0.3, 1.0) * ((2.0 ** (cents / 1200.0) - 1.0) / (10 * np.pi))
    cycles = hz * (time - depth * np.cos(10 * np.pi * time))
    tone: Sound = table[(cycles * _TABLE).astype(np.int32) & (_TABLE - 1)]
    return tone


@lru_cache(maxsize=96)
def ensemble(hz: float, levels: tuple[float, ...], cents: float) -> Sound:
    """Return a seamless loop of 2.7 s in which every harmonic is a band, as of many voices.

    The spectrum is drawn directly: around harmonic k a bell of `cents`·k with random phases.
    """
    spacing = RATE / _LOOP
    spectrum = np.zeros(_LOOP // 2 + 1)
    for number, level in enumerate(levels, start=1):
        centre = number * hz
        spread = max(centre * (2.0 ** (cents / 1200.0) - 1.0), spacing)
        first, last = (int((centre + side * 4 * spread) / spacing) for side in (-1, 1))
        bins = np.arange(max(first, 1), min(last + 2, len(spectrum)))
        bell = np.exp(-0.5 * ((bins * spacing - centre) / spread) ** 2)
        spectrum[bins] += level * bell / np.sqrt(np.sum(bell**2))
    turns = np.random.default_rng(17).random(len(spectrum), dtype=np.float32)
    phases = np.exp(np.complex64(2j * np.pi) * turns)
    loop = np.fft.irfft(spectrum.astype(np.float32) * phases) * np.float32(_LOOP / 2)
    return loop.astype(np.float32, copy=False)


def noise(count: int, low: float, high: float, seed: int) -> Sound:
    """Return noise between two frequencies (Hz), with soft edges and a root mean square of 1."""
    return np.resize(_noise_loop(low, high, seed), count)


@lru_cache(maxsize=64)
def _noise_loop(low: float, high: float, seed: int) -> Sound:
    """Return 1.4 s that can be repeated without a seam."""
    hz = np.fft.rfftfreq(_NOISE, 1 / RATE)
    # Second-order slopes at both ends, as a gentle analogue filter has.
    shape = 1.0 / (1.0 + (hz / high) ** 4) * (hz / low) ** 4 / (1.0 + (hz / low) ** 4)
    white = np.random.default_rng(seed).standard_normal(_NOISE)
    wave = np.fft.irfft(np.fft.rfft(white) * shape)
    loop: Sound = (wave / np.sqrt(np.mean(wave**2))).astype(np.float32)
    return loop


def _exponential(exponent: np.ndarray[Any, np.dtype[np.complex128]]) -> Any:
    # Nothing below e⁻³⁰ is heard.
    return np.exp(np.maximum(exponent.real, -30.0)) * np.exp(1j * exponent.imag)


def _single(matrix: Matrix) -> Sound:
    # Products of smaller numbers would underflow, which is slow.
    return np.where(np.abs(matrix) < _TINY, 0.0, matrix).astype(np.float32)


# ── Instruments ────────────────────────────────────────────────────────────────────────


_HARMONICS: Final = 30  # of a voice without levels of its own


@dataclass(frozen=True, slots=True)
class Voice:
    """A sum of partials with an envelope.

    Partial k has the level sin(π·k·pluck) / k^slope · exp(−k·hz / cutoff) unless `levels` are
    given; a harder stroke raises the cutoff, so that it is brighter.
    """

    gain: float
    levels: tuple[float, ...] = ()
    ratios: tuple[float, ...] = ()  # of the partials with levels; harmonics unless given
    slope: float = 1.0
    pluck: float = 0.0  # where a string is taken, in parts of its length; or a pulse's duty
    even: float = 1.0  # how strong even harmonics are: less in a closed pipe
    cutoff: tuple[float, float] = (1e9, 0.0)  # Hz: without force, and what full force adds
    body: tuple[tuple[float, float], ...] = ()  # resonances: Hz, gain
    fall: tuple[float, float] = (0.0, 0.0)  # decay in 1/s, and how it grows from k to k + 1
    detune: float = 0.0  # cents between two of them
    vibrato: float = 0.0  # cents
    width: float = 0.0  # cents of each harmonic of an ensemble
    sustain: tuple[float, float] = (1.0, 1.0)  # seconds to fall, the level where it stays
    breath: float = 0.0  # level of the noise of air or bow
    attack: float = 0.003
    release: float = 0.1
    ring: float = 0.0  # seconds that a note goes on sounding after its end


@dataclass(frozen=True, slots=True)
class Drum:
    """A tone that falls from one frequency to another, and a burst of noise."""

    seconds: float
    # From Hz, to Hz, within seconds, dying away in seconds, level; and low Hz, high Hz, …
    tone: tuple[float, float, float, float, float] = (100, 100, 1.0, 0.1, 0.0)
    noise: tuple[float, float, float, float] = (1500, 6000, 0.003, 0.0)
    claps: int = 1  # how often the noise begins, a hundredth of a second apart
    attack: float = 0.001
    release: float = 0.04


def _string(gain: float, at: float, cutoff: tuple[float, float], ring: float = 0.0) -> Voice:
    return Voice(gain, pluck=at, cutoff=cutoff, fall=(1.2, 0.5), attack=0.002, ring=ring)


def _bowed(gain: float, *body: tuple[float, float]) -> Voice:
    bright = (2800, 2000)
    return Voice(gain, cutoff=bright, body=body, vibrato=12, breath=0.006, attack=0.07, ring=0.06)


def _brass(gain: float, cutoff: float) -> tuple[Voice, Voice]:
    """Return two layers, dark and bright, of which the bright one comes later and goes first."""
    dark = Voice(gain, slope=0, cutoff=(cutoff, 0), vibrato=5, sustain=(0.8, 0.6), attack=0.03)
    bright = (1.6 * cutoff, 1.6 * cutoff)
    return dark, replace(dark, gain=0.6 * gain, cutoff=bright, sustain=(0.25, 0.6), attack=0.055)


_CHOIR: Final = (1, 0.55, 0.42, 0.2, 0.1, 0.09, 0.08, 0.05, 0.03, 0.02)
_GLASS: Final = (1, 0.58, 0.33, 0.19, 0.18, 0.06, 0.06, 0.02, 0.01)
_TINE: Final = (1, 0.3, 0.13, 0.06, 0.03, 0.06)
_VOICES: Final[dict[str, Voice | tuple[Voice, Voice]]] = {
    "music_box": Voice(1.14, (1, 0.18, 0.08, 0.08), (1, 2, 3.01, 6.27), fall=(1.5, 1.4), ring=1.2),
    "celesta": Voice(1.09, (1, 0.25, 0.07, 0.04), (1, 2, 4, 5.4), fall=(1.9, 2), ring=0.8),
    "vibraphone": Voice(1.0, (1, 0.11, 0.03), (1, 4, 9.2), fall=(1.1, 2), ring=0.3),
    "electric_piano": Voice(0.95, _TINE, (1, 2, 3, 4, 5, 7.1), fall=(0.9, 1.0), ring=0.1),
    "piano": Voice(1.09, slope=0.7, cutoff=(900, 2600), fall=(0.5, 0.2), detune=0.9, release=0.14),
    "nylon_guitar": _string(1.13, 0.24, (1100, 1500)),
    "steel_guitar": _string(1.68, 0.14, (2400, 3200), ring=0.3),
    "harp": _string(0.95, 0.42, (1300, 1500), ring=2.0),
    "upright_bass": _string(1.05, 0.28, (380, 420), ring=0.1),
    "violin": _bowed(0.67, (280, 0.5), (460, 0.8), (2600, 0.7)),
    "viola": _bowed(0.65, (220, 0.7), (380, 0.8), (1900, 0.5)),
    "cello": _bowed(0.51, (105, 0.6), (190, 0.9), (1400, 0.5)),
    "flute": Voice(0.81, (1, 0.4, 0.17, 0.04), vibrato=9, breath=0.02, attack=0.055),
    "whistle": Voice(1.02, (1, 0.18, 0.1, 0.02), vibrato=7, breath=0.015, attack=0.03),
    "clarinet": Voice(0.8, slope=1.1, even=0.18, cutoff=(1400, 1200), vibrato=4, attack=0.04),
    "accordion": Voice(1.46, slope=0.6, cutoff=(2000, 1500), detune=11, attack=0.03, release=0.07),
    "trumpet": _brass(0.45, 1500),
    "horn": _brass(0.5, 750),
    "tuba": _brass(0.38, 380),
    "square": Voice(0.76, pluck=0.5, cutoff=(5000, 4000), sustain=(0.12, 0.65), release=0.012),
    "pulse": Voice(0.68, pluck=0.25, cutoff=(5000, 4000), sustain=(0.12, 0.65), release=0.012),
    "triangle": Voice(1.0, slope=2, even=0, release=0.01),
    "sub_bass": Voice(0.92, (1, 0.22, 0.07, 0.04), attack=0.008, ring=0.1),
    "saw_bass": Voice(0.9, cutoff=(900, 1600), fall=(1.0, 0.9), release=0.04),
    "reese": Voice(1.11, slope=0.8, cutoff=(420, 420), detune=22, attack=0.01, release=0.06),
    "stab": Voice(0.98, cutoff=(1500, 2500), fall=(3.0, 0.8), detune=14, release=0.08),
    "warm_pad": Voice(0.33, slope=1.9, width=22, attack=1.6, release=2.0, ring=0.5),
    "glass_pad": Voice(0.27, _GLASS, width=9, attack=1.6, release=2.0, ring=1.5),
    "choir": Voice(0.27, _CHOIR, width=32, attack=1.6, release=2.0, ring=1.5),
}
_DRUMS: Final[dict[str, Drum]] = {
    "kick": Drum(0.32, (160, 48, 0.03, 0.11, 1.0), (1500, 6000, 0.003, 0.08)),
    "bass_drum": Drum(0.55, (85, 52, 0.05, 0.18, 1.0), (1500, 6000, 0.003, 0.03)),
    "chip_kick": Drum(0.14, (330, 60, 0.022, 0.05, 1.0)),
    "snare": Drum(0.24, (200, 185, 0.1, 0.04, 0.6), (1100, 9000, 0.07, 0.24)),
    "field_snare": Drum(0.16, (280, 255, 0.1, 0.04, 0.6), (1500, 8000, 0.04, 0.24)),
    "brush": Drum(0.2, noise=(1400, 6500, 0.045, 0.27), attack=0.006),
    "sweep": Drum(0.55, noise=(1000, 5000, 99, 0.07), attack=0.27, release=0.27),
    "clap": Drum(0.26, noise=(900, 5500, 0.055, 0.35), claps=4),
    "hat": Drum(0.08, noise=(6500, 13000, 0.018, 0.25)),
    "open_hat": Drum(0.32, noise=(6000, 13000, 0.11, 0.25)),
    "ride": Drum(0.9, (4420, 4420, 1.0, 0.1, 0.1), (5000, 13000, 0.28, 0.09), release=0.2),
    "crash": Drum(1.8, noise=(3200, 13000, 0.5, 0.25)),
    "chip_noise": Drum(0.12, noise=(150, 9000, 0.03, 0.3), release=0.02),
    "surf": Drum(7.5, noise=(250, 2200, 99, 0.2), attack=3.7, release=3.7),
}
NAMES: Final = (*_VOICES, *_DRUMS)


def note(name: str, pitch: int, seconds: float, force: float) -> Sound:
    """Return one note; `force` in (0, 1] makes it brighter. Loudness is the mixer's business."""
    if name in _DRUMS:
        return _stroke(name)
    found = _VOICES[name]
    if isinstance(found, Voice):
        return _tone(found, pitch, seconds, force)
    dark, bright = (_tone(layer, pitch, seconds, force) for layer in found)
    return dark + bright


def _tone(voice: Voice, pitch: int, seconds: float, force: float) -> Sound:
    hz, count = hertz(pitch), samples(seconds + voice.ring)
    k = np.array(voice.ratios or range(1, 1 + (len(voice.levels) or _HARMONICS)), dtype=float)
    k = k[k * hz < HIGHEST]
    levels = _levels(voice, k, hz, force)
    if voice.width:
        return _pad(voice, hz, levels, count)
    if voice.vibrato:
        wave = sung(hz, levels, count, voice.vibrato)
    else:
        # High notes die sooner than low ones.
        fall = (voice.fall[0] + voice.fall[1] * (k - 1)) * (hz / 300.0) ** 0.35
        apart = 2.0 ** (voice.detune / 2400.0)
        sides = (k * hz / apart, k * hz * apart) if voice.detune else (k * hz,)
        n = len(sides)
        wave = ring(np.concatenate(sides), np.tile(levels / n, n), np.tile(fall, n), count)
    if voice.breath:
        wave = wave + noise(count, 900, 5000, 21) * np.float32(voice.breath)
    return edged(wave * decay(count, *voice.sustain), voice.attack, voice.release)


def _levels(voice: Voice, k: Vector, hz: float, force: float) -> Vector:
    if voice.levels:
        return voice.gain * np.array(voice.levels[: len(k)])
    cutoff = voice.cutoff[0] + voice.cutoff[1] * force
    levels = np.exp(-hz * k / cutoff) / k**voice.slope * np.where(k % 2 == 0, voice.even, 1.0)
    if voice.pluck:
        levels *= np.sin(np.pi * voice.pluck * k)
    if voice.body:
        octaves = [(np.log2(hz * k / centre), gain) for centre, gain in voice.body]
        levels *= 0.5 + sum(gain * np.exp(-8.0 * away**2) for away, gain in octaves)
    scaled: Vector = levels * (voice.gain / np.sqrt(np.sum(levels**2)))
    return scaled


def _pad(voice: Voice, hz: float, levels: Vector, count: int) -> Sound:
    """Return left and right from two places of one loop, so that they differ."""
    loop = ensemble(hz, tuple(levels.tolist()), voice.width)
    sides = [np.resize(np.roll(loop, -int(hz * part)), count) for part in (97, 211)]
    return edged(np.stack(sides), voice.attack, voice.release)


@cache
def _stroke(name: str) -> Sound:
    drum, count = _DRUMS[name], samples(_DRUMS[name].seconds)
    high, low, within, fade, level = drum.tone
    time = np.arange(count) / RATE
    # The integral of low + (high − low)·exp(−t / within).
    cycles = low * time + (high - low) * within * (1.0 - np.exp(-time / within))
    sound = (level * np.sin(2 * np.pi * cycles)).astype(np.float32) * decay(count, fade)
    bottom, top, fade, level = drum.noise
    shape = np.zeros(count, dtype=np.float32)
    for clap in range(drum.claps):
        begin, length = clap * RATE // 100, fade if clap == drum.claps - 1 else 0.004
        shape[begin:] = np.maximum(shape[begin:], decay(count - begin, length))
    sound += noise(count, bottom, top, 30 + len(name)) * shape * np.float32(level)
    return edged(sound, drum.attack, drum.release)
