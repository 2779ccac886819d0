"""Where sounds come from: partials, a table, a loop of many voices, noise; and their envelopes.

A sound is an array of float32 samples at 48 kHz, the rate at which Opus works: `(n,)` for one
channel, `(2, n)` for left and right.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from bandstand.types import Matrix, Vector

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
