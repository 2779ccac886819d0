"""Twelve pitch classes, A first, and two ratios that say how clear the strongest one is.

code          maths  shape      meaning
`pitch`       b_k    (257,)     semitones of bin k above the lowest A, 27.5 Hz
`width`              (257,)     semitones to the next bin, at least one
`map`                (257, 12)  how much bin k counts for each pitch class
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.music.audio.descriptors.definition import SAMPLE_RATE
from bandstand.music.audio.descriptors.frames import BINS
from bandstand.types import frozen

if TYPE_CHECKING:
    from bandstand.types import Matrix, Vector

CLASSES: Final = 12
_LOWEST_A: Final = 27.5  # hertz
# Bin 0 has no pitch; it counts as a tone one and a half octaves below bin 1.
_BELOW_FIRST: Final = 18.0


def bin_pitch() -> Vector:
    """Return b_k = 12·log2(k/N2 · sr / 27.5), b_0 = b_1 − 18: (257,), in semitones.

    Dividing by N2 = 257 where N = 512 would give the bin's true frequency lifts every pitch by
    an octave less 0.07 semitones. The octave does not matter here, and MARSYAS has it so.
    """
    pitch = CLASSES * np.log2(np.arange(1, BINS) / BINS * SAMPLE_RATE / _LOWEST_A)
    return np.concatenate([[pitch[0] - _BELOW_FIRST], pitch])


def chroma_map() -> Matrix:
    """Return exp(−½(2D/width)²), each bin scaled to unit 2-norm over the classes: (257, 12).

    D = ((b_k − o + 6 + 120) mod 12) − 6 is the distance to pitch class o, the nearer way round.

    >>> np.round(np.square(chroma_map()).sum(axis=1)[[0, 100, 256]], 9).tolist()
    [1.0, 1.0, 1.0]
    """
    pitch = bin_pitch()
    width = np.append(np.maximum(np.diff(pitch), 1.0), 1.0)
    half = CLASSES / 2
    shifted = pitch[:, np.newaxis] - np.arange(CLASSES) + half + 10 * CLASSES
    distance = shifted % CLASSES - half
    weights = np.exp(-0.5 * (2 * distance / width[:, np.newaxis]) ** 2)
    scaled: Matrix = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return scaled


_MAP: Final = frozen(chroma_map())


@np.errstate(under="ignore")
def pitch_classes(power: Matrix) -> Matrix:
    """Return the 12 pitch classes, not normalised: (F, 12).

    440 Hz is an A:

    >>> from bandstand.music.audio.descriptors.frames import framed, power_spectrum
    >>> tone = np.sin(2 * np.pi * 440 / 16_000 * np.arange(512))
    >>> int(pitch_classes(power_spectrum(framed(tone)))[0].argmax())
    0
    """
    classes: Matrix = power @ _MAP
    return classes


@np.errstate(under="ignore")
def clarity(classes: Matrix) -> Matrix:
    """Return max / mean and max / min of the pitch classes: (F, 2).

    Both are 0 where the minimum is 0.

    >>> clarity(np.array([11 * [1.0] + [13.0], 11 * [1.0] + [0.0]])).tolist()
    [[6.5, 13.0], [0.0, 0.0]]
    """
    by_class = np.ascontiguousarray(classes.T)  # extrema of short rows are slow
    largest, smallest = by_class.max(axis=0), by_class.min(axis=0)
    heard = smallest > 0
    ratios = np.zeros((len(classes), 2))
    # max · 12 / sum rather than max / mean: the mean of the smallest numbers can round to 0.
    np.divide(largest * CLASSES, by_class.sum(axis=0), out=ratios[:, 0], where=heard)
    np.divide(largest, smallest, out=ratios[:, 1], where=heard)
    return ratios
