"""How peaky and how flat the spectrum is in bands of a quarter octave: SCF and SFM.

Edges are 1000·2^((i−8)/4) Hz, i = 0..24, from 250 Hz on. Band i covers the bins

    ⌊0.95·edge_i / 31.25 + ½⌋ … ⌊1.05·edge_{i+1} / 31.25 + ½⌋, both inclusive,

so neighbours overlap. From the first band on whose upper bin is beyond the spectrum all are the
constant 1: at 16 kHz and 512 samples the last five of the 24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.arrays import frozen
from bandstand.music.audio.descriptors.frames import BIN_WIDTH, BINS

if TYPE_CHECKING:
    from bandstand.arrays import Indices, Matrix

BANDS: Final = 24
_LOWER_REACH: Final = 0.95
_UPPER_REACH: Final = 1.05


def band_limits() -> Indices:
    """Return the first bin of each band in the spectrum and the one after its last, in turns.

    >>> limits = band_limits()
    >>> len(limits) // 2, limits[:4].tolist(), limits[-2:].tolist()
    (19, [8, 11, 9, 13], [172, 227])
    """
    edges = 1000 * 2 ** ((np.arange(BANDS + 1) - 8) / 4)
    first = np.floor(_LOWER_REACH * edges[:-1] / BIN_WIDTH + 0.5)
    last = np.floor(_UPPER_REACH * edges[1:] / BIN_WIDTH + 0.5)
    inside = np.logical_and.accumulate(last < BINS)
    return np.column_stack([first, last + 1])[inside].reshape(-1).astype(np.intp)


_LIMITS: Final = band_limits()
_INSIDE: Final = len(_LIMITS) // 2
_SIZES: Final = frozen((_LIMITS[1::2] - _LIMITS[::2]).astype(np.float64))
# The bins that belong to a band, and 1 where one belongs to which: (219, 19).
_REACHED: Final = slice(int(_LIMITS[0]), int(_LIMITS[-1]))
_MEMBERS: Final = frozen(
    np.column_stack(
        [np.isin(np.arange(BINS)[_REACHED], range(*limits)) for limits in _LIMITS.reshape(-1, 2)]
    )
)
# Below this, ln(p + tiny) is not ln(p) to the last digit.
_EXACT: Final = 1e-290
# Stands for ln(0): finite, and so low that one such bin makes a geometric mean of exactly 0.
_LOG_OF_NOTHING: Final = -1e6


@np.errstate(under="ignore")
def band_totals(power: Matrix) -> Matrix:
    """Return the sum of p over each band within the spectrum: (F, 19)."""
    totals: Matrix = power[:, _REACHED] @ _MEMBERS
    return totals


def band_peaks(power: Matrix) -> Matrix:
    """Return the largest p of each band within the spectrum: (F, 19)."""
    return np.maximum.reduceat(power, _LIMITS, axis=1)[:, ::2]


def band_log_totals(power: Matrix, logarithm: Matrix) -> Matrix:
    """Return the sum of ln(p) over each band within the spectrum: (F, 19).

    `logarithm` is ln(p + tiny), (F, 257). A bin of nothing counts as -1e6.
    """
    totals: Matrix = _exact(logarithm, power)[:, _REACHED] @ _MEMBERS
    return totals


@np.errstate(under="ignore")
def crest(totals: Matrix, peaks: Matrix) -> Matrix:
    """Return max / mean of each band, 1 where it is silent: (F, 24).

    A band with a single bin in it is as peaky as its size, here 3 bins:

    >>> power = np.zeros((1, 257))
    >>> power[0, 8] = 1
    >>> crest(band_totals(power), band_peaks(power))[0, :2].tolist()
    [3.0, 1.0]
    """
    values = np.ones((len(totals), BANDS))
    # max · size / sum rather than max / mean: the mean of the smallest numbers can round to 0.
    np.divide(peaks * _SIZES, totals, out=values[:, :_INSIDE], where=totals > 0)
    return values


@np.errstate(under="ignore")
def flatness(totals: Matrix, log_totals: Matrix) -> Matrix:
    """Return geometric / arithmetic mean of each band, 1 where it is silent: (F, 24).

    >>> power = np.full((1, 257), 0.25)
    >>> power[0, 8] = 0
    >>> logarithm = np.where(power > 0, np.log(0.25), -700.0)
    >>> flatness(band_totals(power), band_log_totals(power, logarithm))[0, :2].round(9).tolist()
    [0.0, 1.0]
    """
    heard = totals > 0
    log_mean = np.log(np.where(heard, totals, 1.0)) - np.log(_SIZES)
    values = np.ones((len(totals), BANDS))
    np.exp(log_totals / _SIZES - log_mean, out=values[:, :_INSIDE], where=heard)
    return values


def _exact(logarithm: Matrix, power: Matrix) -> Matrix:
    """Return ln(p) rather than ln(p + tiny); they differ only next to silence."""
    if power.min() >= _EXACT:
        return logarithm
    nothing = power == 0
    replaced = np.log(np.where(nothing, 1.0, power))
    replaced[nothing] = _LOG_OF_NOTHING
    return np.where(power < _EXACT, replaced, logarithm)
