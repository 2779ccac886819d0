"""The tempo of a clip, in beats per minute; 0 where nothing recurs.

1.  Onset strength: how much louder each mel band became within 16 ms, on a logarithmic scale,
    averaged over the bands.
2.  Two views of it at every tempo. *Recurrence* is its autocorrelation at the beat's period; it
    is high at the tempo and its whole fractions. *Pulse* is its Fourier magnitude at the beat's
    frequency; it is high at the tempo and its whole multiples. Only the tempo itself has both,
    so their product leaves little but the octave open.
3.  The octave by what a beat needs: some recurrence, some pulse, and a rate near 120, where
    people tap.

code           shape      meaning
`energies`     (T, 40)    mel bands of frames that overlap by half, 62.5 per second
`onsets`       (T,)       onset strength, mean 0
`recurrence`   (453,)     autocorrelation at the period of each of `TEMPI`, none below 0
`pulse`        (453,)     Fourier magnitude at each of `TEMPI`, 1 at most

The constants lie on a plateau: halving or doubling one of them changes the share of right
answers by a few in a hundred, on synthetic drums as on music.
"""

from typing import Final

import numpy as np
import scipy.fft

from bandstand.music.audio.descriptors.definition import FRAME, SAMPLE_RATE
from bandstand.music.audio.descriptors.spectral import (
    FILTERS,
    frame_blocks,
    mel_energies,
    power_spectrum,
)
from bandstand.types import Matrix, Vector, frozen

HOP: Final = FRAME // 2
# Tempi are in equal ratios of 0.4 %, so that an octave is a whole number of steps.
_STEPS_PER_OCTAVE: Final = 175
_MIN_TEMPO: Final = 40.0  # beats per minute
_MAX_TEMPO: Final = 240.0
TEMPI: Final = frozen(
    _MIN_TEMPO
    * 2 ** (np.arange(np.log2(_MAX_TEMPO / _MIN_TEMPO) * _STEPS_PER_OCTAVE) / _STEPS_PER_OCTAVE)
)
_PERIODS: Final = frozen(60 * SAMPLE_RATE / HOP / TEMPI)  # in hops

# In single precision the smallest numbers are near 1e-38. A clip whose loudest energy is above
# this loses nothing there that could matter beside its floor.
_MIN_SINGLE_ENERGY: Final = 1e-20
# Two of the fastest beats; in less than that nothing can recur.
_MIN_FRAMES: Final = int(2 * 60 / _MAX_TEMPO * SAMPLE_RATE / HOP)
# Changes 20 dB below the clip's level are no beat.
_FLOOR: Final = 0.01
# A mean rise of 0.01 dB per band is rounding or leakage; then nothing has begun.
_MIN_ONSET: Final = 0.001
_BEATS: Final = 4  # how many periods ahead a beat must recur
_PULSE_WEIGHT: Final = 0.5
_MIN_EVIDENCE: Final = 1e-3
# What counts as half present, of 1, when only the octave is open.
_HALF_RECURRENCE: Final = 0.03
_HALF_PULSE: Final = 0.6
_PREFERRED: Final = 120.0  # beats per minute
_WIDE_PRIOR: Final = 1.0  # standard deviation in octaves, to find the beat …
_NARROW_PRIOR: Final = 0.7  # … and its octave
_FOURIER_PADDING: Final = 8
_NEIGHBOURS: Final = 3  # steps that an octave may be off


def tempo(energies: Matrix) -> float:
    """Return beats per minute between 40 and 240, or 0 where nothing recurs.

    >>> energies = np.full((1000, 40), 0.01)
    >>> energies[::25] = 1.0  # every 0.4 seconds
    >>> round(tempo(energies)), tempo(0 * energies)
    (150, 0.0)
    """
    if len(energies) < _MIN_FRAMES:
        return 0.0
    onsets = onset_strength(energies)
    if onsets.max() < _MIN_ONSET:
        return 0.0
    return dominant_tempo(onsets - onsets.mean())


def overlapping(energies: Matrix, samples: Vector) -> Matrix:
    """Return the mel bands of all frames and of those halfway between them, in order: (T, 40).

    `energies` are those of the frames, (F, 40). The end that is filled up with zeros is left out,
    that is what is not wholly within `samples`: that the clip stops there is no event.
    """
    # Rounding to seven digits is no event either.
    precision = np.float32 if energies.max() > _MIN_SINGLE_ENERGY else np.float64
    both = np.empty((2 * len(energies), FILTERS))
    both[::2] = energies
    halfway, done = both[1::2], 0
    for frames in frame_blocks(samples[HOP:]):
        halfway[done : done + len(frames)] = mel_energies(power_spectrum(frames, precision))
        done += len(frames)
    return both[: max((len(samples) - FRAME) // HOP + 1, 0)]


@np.errstate(under="ignore")
def onset_strength(energies: Matrix) -> Vector:
    """Return the mean over bands of how far log10(energy + floor) rose since the last hop: (T,).

    The floor is relative to the clip's level, so the result does not depend on the volume. The
    level is the square of the mean amplitude: one bang cannot lift the floor above the music.

    >>> step = np.repeat([[1.0], [3.0]], [4, 4], axis=0)
    >>> np.round(onset_strength(step), 2).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.47, 0.0, 0.0, 0.0]
    """
    # A product, since means of short rows are slow.
    averaging = np.full(energies.shape[1], 1 / energies.shape[1])
    level = np.square(np.sqrt(energies @ averaging).mean())
    if not level > 0:
        return np.zeros(len(energies))
    logarithm = energies / level
    logarithm += _FLOOR
    np.log10(logarithm, out=logarithm)
    rise = logarithm[1:] - logarithm[:-1]
    np.maximum(rise, 0, out=rise)
    return np.concatenate([[0.0], rise @ averaging])


def dominant_tempo(onsets: Vector) -> float:
    """Return the tempo with the best evidence, refined between the steps; 0 if none recurs."""
    recurrence = _recurrence(onsets)
    repeated = _mean_over_beats(recurrence)
    if not repeated.any():
        return 0.0
    pulse = _pulse(onsets)
    score = (
        np.log(repeated + _MIN_EVIDENCE)
        + _PULSE_WEIGHT * np.log(pulse + _MIN_EVIDENCE)
        + _log_prior(_WIDE_PRIOR)
    )
    best = int(np.argmax(score))
    octave = _octave(best, np.interp(_PERIODS, np.arange(len(recurrence)), recurrence), pulse)
    between_steps = (best + _vertex(score, best)) / _STEPS_PER_OCTAVE
    return min(float(_MIN_TEMPO * 2 ** (between_steps + octave)), _MAX_TEMPO)


def _recurrence(onsets: Vector) -> Vector:
    """Return the autocorrelation at lags up to half the clip, 1 at lag 0, none below 0."""
    count = len(onsets)
    padded = scipy.fft.next_fast_len(2 * count, real=True)
    spectrum = scipy.fft.rfft(onsets, padded)
    sums = scipy.fft.irfft(np.square(spectrum.real) + np.square(spectrum.imag), padded)
    lags = np.arange(count // 2 + 1)
    means = sums[: len(lags)] / (count - lags)
    correlation: Vector = np.maximum(means / means[0], 0)
    return correlation


def _mean_over_beats(recurrence: Vector) -> Vector:
    """Return the mean recurrence after one to four beats, as many as the clip has room for."""
    lags = np.arange(1, _BEATS + 1)[:, np.newaxis] * _PERIODS
    longest = len(recurrence) - 1
    found = np.interp(lags, np.arange(len(recurrence)), recurrence, right=0.0)
    mean: Vector = found.sum(axis=0) / np.maximum((lags <= longest).sum(axis=0), 1)
    return mean


def _pulse(onsets: Vector) -> Vector:
    """Return the Fourier magnitude at each tempo, divided by the largest of them."""
    padded = scipy.fft.next_fast_len(_FOURIER_PADDING * len(onsets), real=True)
    spectrum = scipy.fft.rfft(onsets * np.hanning(len(onsets)), padded)
    frequencies = padded / _PERIODS
    magnitude = np.abs(spectrum[: int(frequencies[-1]) + 2])
    pulse = np.interp(frequencies, np.arange(len(magnitude)), magnitude)
    relative: Vector = pulse / pulse.max()
    return relative


def _octave(best: int, recurrence: Vector, pulse: Vector) -> int:
    """Return -1, 0 or 1: the octave above `best` with the most of what a beat needs."""
    value = _log_prior(_NARROW_PRIOR)
    value = value + 0.5 * np.log(recurrence / (recurrence + _HALF_RECURRENCE) + _MIN_EVIDENCE)
    value = value + 0.5 * np.log(pulse / (pulse + _HALF_PULSE) + _MIN_EVIDENCE)
    found = {}
    for octave in (0, -1, 1):
        step = best + octave * _STEPS_PER_OCTAVE
        if 0 <= step < len(TEMPI):
            near = value[max(step - _NEIGHBOURS, 0) : step + _NEIGHBOURS + 1]
            found[octave] = near.max()
    return max(found, key=found.__getitem__)


def _log_prior(standard_deviation: float) -> Vector:
    octaves: Vector = np.log2(TEMPI / _PREFERRED)
    return -0.5 * np.square(octaves / standard_deviation)


def _vertex(score: Vector, best: int) -> float:
    """Return how far from `best` the parabola through it and its neighbours has its top."""
    if not 0 < best < len(score) - 1:
        return 0.0
    before, at, after = score[best - 1 : best + 2]
    bend = before - 2 * at + after
    return float(0.5 * (before - after) / bend) if bend < 0 else 0.0
