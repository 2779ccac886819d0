"""Where sounds come from: partials, a table, a loop of many voices, noise.

All of them are free of aliasing by construction: a partial above the hearing range is left
out rather than folded back.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from bandstand_demo.sound import RATE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.types import Matrix, Vector
    from bandstand_demo.sound import Wave

    ComplexVector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.complex64]]
    ComplexMatrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.complex128]]
    SingleMatrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float32]]

HIGHEST: Final = 17_000.0  # Hz; no partial above this
_BLOCK: Final = 256
_TABLE: Final = 4_096
_LOOP: Final = 1 << 17  # 2.7 seconds
_NOISE: Final = 1 << 16
_TINY: Final = 1e-18  # its square is still a normal number of single precision


def ring(frequencies: ArrayLike, levels: ArrayLike, decays: ArrayLike, count: int) -> Wave:
    """Return a sum of sine waves, each dying away at its own rate.

        y(t) = Σ_p level_p · exp(−decay_p·t) · sin(2π·frequency_p·t)

    A decaying sine at time `block + offset` is a product of what depends on the block and what
    depends on the offset, so the whole sum is one matrix product: (blocks, 2P) · (2P, 256).

    frequencies: Hz, decays: 1/s, levels: all broadcast to (P,).
    """
    hz, level, fall = (np.asarray(a, dtype=np.float64) for a in (frequencies, levels, decays))
    hz, level, fall = (a.ravel() for a in np.broadcast_arrays(hz, level, fall))
    heard = hz < HIGHEST
    pole = (2j * np.pi * hz[heard] - fall[heard]) / RATE
    blocks = np.arange(0, count, _BLOCK)
    outer = level[heard] * _exponential(np.outer(blocks, pole))
    inner = _exponential(np.outer(pole, np.arange(_BLOCK)))
    left = _single(np.hstack([outer.imag, outer.real]))
    right = _single(np.vstack([inner.real, inner.imag]))
    return (left @ right).ravel()[:count]


def sung(
    frequency: float, levels: Vector, count: int, *, depth: float, rate: float, onset: float = 0.25
) -> Wave:
    """Return a tone with harmonics of these levels and a vibrato that sets in gradually.

    depth: half the width of the vibrato in cents; rate: in Hz; onset: seconds until it is full.
    """
    table = _single_cycle(tuple(float(level) for level in levels), frequency)
    time = np.arange(count) / RATE
    ratio = 2.0 ** (depth / 1200.0) - 1.0
    growth = np.minimum(time / onset, 1.0)
    # The phase is the integral of the frequency; the slowly growing depth is taken as constant.
    sway = growth * np.cos(2 * np.pi * rate * time) * (ratio / (2 * np.pi * rate))
    cycles = frequency * (time - sway)
    tone: Wave = table[(cycles * _TABLE).astype(np.int32) & (_TABLE - 1)]
    return tone


@lru_cache(maxsize=96)
def ensemble(frequency: float, levels: tuple[float, ...], width: float) -> Wave:
    """Return a seamless loop of 2.7 s in which every harmonic is a band, as of many voices.

    The spectrum is drawn directly: around harmonic k a bell of `width`·k cents with random
    phases, so that the loop has no beginning and no beating (the "PADsynth" idea).
    """
    spacing = RATE / _LOOP
    spectrum = np.zeros(_LOOP // 2 + 1)
    for number, level in enumerate(levels, start=1):
        centre = number * frequency
        if centre > HIGHEST:
            break
        spread = max(centre * (2.0 ** (width / 1200.0) - 1.0), spacing)
        first, last = (int((centre + side * 4 * spread) / spacing) for side in (-1, 1))
        bins = np.arange(max(first, 1), min(last + 2, len(spectrum)))
        bell = np.exp(-0.5 * ((bins * spacing - centre) / spread) ** 2)
        spectrum[bins] += level * bell / np.sqrt(np.sum(bell**2))
    loop = np.fft.irfft(spectrum.astype(np.float32) * _phases()) * np.float32(_LOOP / 2)
    return loop.astype(np.float32, copy=False)


def noise(count: int, *, low: float, high: float, seed: int) -> Wave:
    """Return noise between two frequencies (Hz), with soft edges and a root mean square of 1.

    The same seed gives the same noise: a drum sounds like itself. After 1.4 s it comes back,
    without a seam.
    """
    loop = _noise_loop(low, high, seed)
    return np.resize(loop, count)


@lru_cache(maxsize=64)
def _noise_loop(low: float, high: float, seed: int) -> Wave:
    hz = np.fft.rfftfreq(_NOISE, 1 / RATE)
    # Second-order slopes at both ends, as a gentle analogue filter has.
    shape = 1.0 / (1.0 + (hz / high) ** 4)
    shape *= (hz / low) ** 4 / (1.0 + (hz / low) ** 4)
    white = np.random.default_rng(seed).standard_normal(_NOISE)
    wave = np.fft.irfft(np.fft.rfft(white) * shape)
    level: Wave = (wave / np.sqrt(np.mean(wave**2))).astype(np.float32)
    return level


def harmonics(count: int) -> Vector:
    """Return 1, 2, … `count`."""
    return np.arange(1.0, count + 1.0)


def heard_harmonics(frequency: float, most: int = 60) -> Vector:
    """Return the numbers of the harmonics of a tone that can be heard, at most `most`."""
    return harmonics(max(1, min(most, int(HIGHEST / frequency))))


@lru_cache(maxsize=256)
def _single_cycle(levels: tuple[float, ...], frequency: float) -> Wave:
    heard = min(len(levels), int(HIGHEST / frequency))
    spectrum = np.zeros(_TABLE // 2 + 1, dtype=np.complex128)
    spectrum[1 : heard + 1] = -0.5j * _TABLE * np.array(levels[:heard])
    return np.fft.irfft(spectrum).astype(np.float32)


@cache
def _phases() -> ComplexVector:
    """Return random phases; the same serve every pitch, whose harmonics lie elsewhere."""
    turns = np.random.default_rng(17).random(_LOOP // 2 + 1)
    phases: ComplexVector = np.exp(2j * np.pi * turns).astype(np.complex64)
    return phases


def _exponential(exponent: ComplexMatrix) -> ComplexMatrix:
    # Nothing below e⁻³⁰ is heard.
    value: ComplexMatrix = np.exp(np.maximum(exponent.real, -30.0)) * np.exp(1j * exponent.imag)
    return value


def _single(matrix: Matrix) -> SingleMatrix:
    """Return the matrix in single precision, without numbers whose products would underflow."""
    return np.where(np.abs(matrix) < _TINY, 0.0, matrix).astype(np.float32)
