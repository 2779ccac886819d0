"""Samples cut into frames, and the power spectrum of each frame.

code       maths  shape     meaning
`samples`  s      (n,)      16 kHz, mono, 1 is full scale
`frames`          (F, 512)  neighbours without overlap, F = ⌈n / 512⌉
`power`    p      (F, 257)  power of each frequency bin

Bin k lies at 31.25·k Hz. Everything is defined as in MARSYAS, whose numbers these reproduce.

A clip is described in blocks of frames, so that all that is as wide as a spectrum stays in the
processor's cache and its memory serves block after block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft

from bandstand._util.blocks import blocks
from bandstand.errors import InvalidInputError
from bandstand.music.audio.descriptors.definition import FRAME, SAMPLE_RATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from bandstand.types import Matrix, Vector

BINS: Final = FRAME // 2 + 1
BIN_WIDTH: Final = SAMPLE_RATE / FRAME  # hertz
# Full scale is 1. Descriptors hold fourth powers of samples; beyond this something is wrong.
SAMPLE_LIMIT: Final = 1e6

# Hamming's window in its symmetric form, whose ends are 0.08. The division by 2N, a power of
# two, loses no digit and saves one by (2N)² afterwards.
_SCALED_WINDOW: Final = (0.54 - 0.46 * np.cos(2 * np.pi * np.arange(FRAME) / (FRAME - 1))) / (
    2 * FRAME
)
_TINY: Final = np.finfo(np.float64).tiny  # the smallest normal double
# Frames in a block: few enough for the cache, enough to make the calls of functions cheap.
_BLOCK_FRAMES: Final = 192


@np.errstate(over="ignore", under="ignore")  # in squares that serve only for a comparison
def checked(samples: npt.ArrayLike) -> Vector:
    """Return `samples` as a vector of finite numbers that is not empty."""
    try:
        vector = np.asarray(samples, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        msg = f"samples must be numbers, got {type(samples).__name__}"
        raise InvalidInputError(msg) from problem
    if vector.ndim != 1 or not vector.size:
        msg = f"samples must be one channel with at least one sample, got shape {vector.shape}"
        raise InvalidInputError(msg)
    # No sample is larger than the root of the sum of squares, which is quicker than extrema and
    # nearly always enough. The comparisons are false for NaN.
    if not (
        np.dot(vector, vector) <= SAMPLE_LIMIT**2
        or (vector.min() >= -SAMPLE_LIMIT and vector.max() <= SAMPLE_LIMIT)
    ):
        where = int(np.argmax(~(np.abs(vector) <= SAMPLE_LIMIT)))
        msg = (
            f"samples must be finite and at most {SAMPLE_LIMIT:g} in size, "
            f"got {vector[where]} at sample {where}"
        )
        raise InvalidInputError(msg)
    return vector


def framed(samples: Vector) -> Matrix:
    """Return the frames, (F, 512); the last one is filled up with zeros and counts.

    >>> framed(np.ones(513)).sum(axis=1).tolist()
    [512.0, 1.0]
    """
    missing = -len(samples) % FRAME
    whole = np.concatenate([samples, np.zeros(missing)]) if missing else samples
    return whole.reshape(-1, FRAME)


def frame_blocks(samples: Vector) -> Iterator[Matrix]:
    """Yield all frames in their order, some at a time: (B, 512) each.

    >>> [len(block) for block in frame_blocks(np.zeros(400 * 512 + 1))]
    [192, 192, 17]
    """
    for part in blocks(len(samples), _BLOCK_FRAMES * FRAME):
        yield framed(samples[part])


@np.errstate(under="ignore")  # the power of next to nothing is nothing
def power_spectrum(frames: Matrix, precision: npt.DTypeLike = np.float64) -> Matrix:
    """Return p_k = |FFT(s·w)_k|² / (2N)² with Hamming's window w, N = 512: (F, 257).

    Descriptors need double `precision`; single takes two thirds of the time.

    A full-scale sine in the middle of bin 64 has (0.54/4)² there:

    >>> sine = np.sin(2 * np.pi * 64 / 512 * np.arange(512))
    >>> power = power_spectrum(framed(sine))
    >>> int(power.argmax()), round(float(power.max() / (0.54 / 4) ** 2), 2)
    (64, 1.0)
    """
    # The windowed frames have no name, so that their memory is free again for the squares.
    spectrum = scipy.fft.rfft(
        np.multiply(frames, _SCALED_WINDOW, dtype=precision, casting="same_kind"), axis=1
    )
    power: Matrix = np.square(spectrum.real)
    power += np.square(spectrum.imag)
    return power


def log_power(power: Matrix) -> Matrix:
    """Return ln(p + tiny), finite for silence as well: (F, 257)."""
    logarithm = power + _TINY
    np.log(logarithm, out=logarithm)
    return logarithm
