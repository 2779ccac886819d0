"""From samples to the 159 descriptors: 79 numbers per frame, their means and spreads, the tempo.

The means and standard deviations are over all frames of the clip. The standard deviation is
the population's, divided by the number of frames, so a clip of one frame has zeros there.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bandstand.music.audio.descriptors.spectral import (
    BINS,
    band_log_totals,
    band_peaks,
    band_totals,
    centroid,
    checked,
    clarity,
    crest,
    flatness,
    flux,
    frame_blocks,
    log_power,
    mel_energies,
    mfcc,
    pitch_classes,
    power_spectrum,
    roll_off,
    zero_crossings,
)
from bandstand.music.audio.descriptors.tempo import overlapping, tempo
from bandstand.types import Matrix, Vector


class _Reduced(NamedTuple):
    """Reductions of the spectra of some frames, or of all of them."""

    crossings: Vector  # (F,), as are the next three
    centroid: Vector
    roll_off: Vector
    flux: Vector
    energies: Matrix  # (F, 40), mel bands
    classes: Matrix  # (F, 12), pitch classes
    totals: Matrix  # (F, 19), quarter-octave bands, as are the next two
    peaks: Matrix
    log_totals: Matrix


@np.errstate(under="ignore")  # the spread of next to nothing is nothing
def describe(samples: ArrayLike) -> Vector:
    """Return the 159 descriptors of a clip, as `NAMES` lists them; all of them are finite.

    `samples` are 16 kHz, one channel, in [-1, 1).

    >>> from bandstand.music.audio.descriptors.definition import NAMES
    >>> tone = 0.5 * np.sin(2 * np.pi * 1000 / 16_000 * np.arange(16_000))
    >>> values = dict(zip(NAMES, describe(tone).tolist(), strict=True))
    >>> round(values["mean_Centroid"] * 257 * 31.25 / 100)  # 10 times 100 Hz
    10
    >>> values["mean_SCF24"], values["std_SCF24"]
    (1.0, 0.0)
    """
    vector = checked(samples)
    reduced = _reduced(vector)
    beats_per_minute = tempo(overlapping(reduced.energies, vector))
    values = _values(reduced)
    mean = values.mean(axis=0)
    values -= mean
    variance = np.square(values, out=values).mean(axis=0)
    return np.concatenate([mean, np.sqrt(variance), [beats_per_minute]])


def frame_descriptors(samples: ArrayLike) -> Matrix:
    """Return the 79 descriptors of each frame, as `FRAME_NAMES` lists them: (F, 79).

    Silence has its own values, among them a centroid in the middle:

    >>> frame_descriptors(np.zeros(1))[0, :4].round(3).tolist()
    [0.002, 0.5, 1.0, 0.996]
    """
    return _values(_reduced(checked(samples)))


def _reduced(samples: Vector) -> _Reduced:
    """Return what is kept of all frames; their spectra are held only some at a time."""
    before = np.zeros(BINS)
    parts = []
    for frames in frame_blocks(samples):
        part, before = _reduced_block(frames, before)
        parts.append(part)
    return _Reduced(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _reduced_block(frames: Matrix, before: Vector) -> tuple[_Reduced, Vector]:
    """Return what is kept of some frames, and ln(p + tiny) of the last one.

    `before` is ln(p + tiny) of the frame before the first.
    """
    crossings = zero_crossings(frames)  # first, while the frames are at hand
    power = power_spectrum(frames)
    logarithm = log_power(power)
    reduced = _Reduced(
        crossings=crossings,
        centroid=centroid(power),
        roll_off=roll_off(power),
        flux=flux(logarithm, before),
        energies=mel_energies(power),
        classes=pitch_classes(power),
        totals=band_totals(power),
        peaks=band_peaks(power),
        log_totals=band_log_totals(power, logarithm),
    )
    return reduced, logarithm[-1].copy()


def _values(reduced: _Reduced) -> Matrix:
    """Return the 79 descriptors of each frame, as `FRAME_NAMES` lists them: (F, 79)."""
    return np.column_stack(
        [
            reduced.crossings,
            reduced.centroid,
            reduced.roll_off,
            reduced.flux,
            mfcc(reduced.energies),
            reduced.classes,
            clarity(reduced.classes),
            crest(reduced.totals, reduced.peaks),
            flatness(reduced.totals, reduced.log_totals),
        ]
    )
