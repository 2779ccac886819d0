"""The shape of a frame's spectrum, and how peaky and how flat its bands are.

All take several frames at once and return one row per frame. Bins are counted k = 0..256;
shares of the spectrum are divided by their number, N2 = 257.

Crest (SCF) and flatness (SFM) are those of quarter octaves. Edges are 1000·2^((i−8)/4) Hz,
i = 0..24, from 250 Hz on. Band i covers the bins

    ⌊0.95·edge_i / 31.25 + ½⌋ … ⌊1.05·edge_{i+1} / 31.25 + ½⌋, both inclusive,

so neighbours overlap. From the first band on whose upper bin is beyond the spectrum all are the
constant 1: at 16 kHz and 512 samples the last five of the 24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.music.audio.descriptors.frames import BIN_WIDTH, BINS
from bandstand.types import frozen

if TYPE_CHECKING:
    import numpy.typing as npt

    from bandstand.types import Indices, Matrix, Vector


_ROLL_OFF: Final = 0.9
# Roll-off looks at k > 1 only: the two lowest bins are the mean and its leakage.
_FIRST_ROLL_OFF_BIN: Final = 2
# All bins but the last, which no roll-off reaches, are 16 groups of 16.
_GROUP: Final = 16
# A spectrum times this is its sums over what lies below each group, then over all: (257, 17).
_BELOW_GROUP: Final = frozen(
    np.arange(BINS)[:, np.newaxis] < np.append(np.arange(0, BINS - 1, _GROUP), BINS)
)
# Columns of 1 and of k: a spectrum times these is its sum and its first moment.
_MOMENTS: Final = frozen(np.vander(np.arange(BINS, dtype=np.float64), 2, increasing=True))


def zero_crossings(frames: Matrix) -> Vector:
    """Return (1 + number of strict sign changes between neighbours) / N: (F,).

    A step to or from zero is no change of sign.

    >>> zero_crossings(np.array([[1.0, -1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])).tolist()
    [0.5, 0.25]
    """
    above, below = frames > 0, frames < 0
    changes = (above[:, 1:] & below[:, :-1]) | (below[:, 1:] & above[:, :-1])
    return (1 + _count(changes)) / frames.shape[1]


@np.errstate(under="ignore")
def centroid(power: Matrix) -> Vector:
    """Return Σ k·p_k / Σ p_k / N2, the centre of the spectrum; 0.5 for silence: (F,).

    >>> power = np.zeros((2, 257))
    >>> power[0, 50:53] = 1
    >>> (centroid(power) * 257).tolist()
    [51.0, 128.5]
    """
    total, weighted = (power @ _MOMENTS).T
    centre = np.full(len(power), 0.5)
    np.divide(weighted, total * BINS, out=centre, where=total > 0)
    return centre


@np.errstate(under="ignore")
def roll_off(power: Matrix) -> Vector:
    """Return the largest k > 1 with Σ_{j≤k} p_j < 0.9 Σ p_j, divided by N2; 1 if none: (F,).

    >>> power = np.zeros((2, 257))
    >>> power[0, 100] = 1
    >>> (roll_off(power) * 257).tolist()
    [99.0, 257.0]
    """
    # Sums of powers never fall, so counting those below 0.9 finds the last of them: first among
    # groups of bins, then within the last group that begins below. All 257 sums take longer.
    below_group = power @ _BELOW_GROUP
    threshold = _ROLL_OFF * below_group[:, -1:]
    group = _count(below_group < threshold) - 1  # -1 for silence, and then `last` is negative
    frame = np.arange(len(power))
    within = power[:, :-1].reshape(-1, _GROUP, _GROUP)[frame, group]
    within[:, 0] += below_group[frame, group]
    last = group * _GROUP + _count(np.cumsum(within, axis=1) < threshold) - 1
    return np.where(last >= _FIRST_ROLL_OFF_BIN, last / BINS, 1.0)


def flux(logarithm: Matrix, before: Vector) -> Vector:
    """Return Σ d_k / (max d · N2) over k ≥ 1, how evenly a frame differs from the one before: (F,).

        d_k = (ln(p_k + tiny) − ln(p'_k + tiny))²

    p' is the frame before. `logarithm` is ln(p + tiny) of each frame, (F, 257), and `before` that
    of the frame before the first, (257,). A frame equal to the one before has flux 0.

    >>> logarithm = np.zeros((3, 257))
    >>> logarithm[1] = 5.0
    >>> (flux(logarithm, np.zeros(257)) * 257).tolist()
    [0.0, 256.0, 256.0]
    """
    change = np.empty_like(logarithm)
    np.subtract(logarithm[0], before, out=change[0])
    np.subtract(logarithm[1:], logarithm[:-1], out=change[1:])
    change[:, 0] = 0  # whole rows are faster than rows without bin 0
    np.square(change, out=change)
    largest = change.max(axis=1)
    spread = change @ _MOMENTS[:, 0]
    evenness = np.zeros(len(logarithm))
    np.divide(spread, largest * BINS, out=evenness, where=largest > 0)
    return evenness


def _count(marks: npt.NDArray[np.bool_]) -> Indices:
    """Return how many of each row are marked: (F,)."""
    # Four times as fast as `count_nonzero`, which makes a long integer of every mark first.
    counts: Indices = marks.view(np.uint8).sum(axis=1, dtype=np.uint16).astype(np.intp)
    return counts


# ── Crest and flatness in bands of a quarter octave ─────────────────────────────────────

BANDS: Final = 24
_LOWER_MARGIN: Final = 0.95
_UPPER_MARGIN: Final = 1.05


def band_limits() -> Indices:
    """Return the first bin of each band in the spectrum and the one after its last, in turns.

    >>> limits = band_limits()
    >>> len(limits) // 2, limits[:4].tolist(), limits[-2:].tolist()
    (19, [8, 11, 9, 13], [172, 227])
    """
    edges = 1000 * 2 ** ((np.arange(BANDS + 1) - 8) / 4)
    first = np.floor(_LOWER_MARGIN * edges[:-1] / BIN_WIDTH + 0.5)
    last = np.floor(_UPPER_MARGIN * edges[1:] / BIN_WIDTH + 0.5)
    inside = np.logical_and.accumulate(last < BINS)
    return np.column_stack([first, last + 1])[inside].reshape(-1).astype(np.intp)


_BAND_LIMITS: Final = band_limits()
_INNER_BANDS: Final = len(_BAND_LIMITS) // 2
_BAND_SIZES: Final = frozen((_BAND_LIMITS[1::2] - _BAND_LIMITS[::2]).astype(np.float64))
# The bins that belong to a band, and 1 where one belongs to which: (219, 19).
_BAND_BINS: Final = slice(int(_BAND_LIMITS[0]), int(_BAND_LIMITS[-1]))
_BAND_MEMBERS: Final = frozen(
    np.column_stack(
        [
            np.isin(np.arange(BINS)[_BAND_BINS], range(*limits))
            for limits in _BAND_LIMITS.reshape(-1, 2)
        ]
    )
)
# Below this, ln(p + tiny) is not ln(p) to the last digit.
_MIN_EXACT_POWER: Final = 1e-290
# Stands for ln(0): finite, and so low that one such bin makes a geometric mean of exactly 0.
_LOG_OF_NOTHING: Final = -1e6


@np.errstate(under="ignore")
def band_totals(power: Matrix) -> Matrix:
    """Return the sum of p over each band within the spectrum: (F, 19)."""
    totals: Matrix = power[:, _BAND_BINS] @ _BAND_MEMBERS
    return totals


def band_peaks(power: Matrix) -> Matrix:
    """Return the largest p of each band within the spectrum: (F, 19)."""
    return np.maximum.reduceat(power, _BAND_LIMITS, axis=1)[:, ::2]


def band_log_totals(power: Matrix, logarithm: Matrix) -> Matrix:
    """Return the sum of ln(p) over each band within the spectrum: (F, 19).

    `logarithm` is ln(p + tiny), (F, 257). A bin of nothing counts as -1e6.
    """
    totals: Matrix = _exact_logarithm(logarithm, power)[:, _BAND_BINS] @ _BAND_MEMBERS
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
    np.divide(peaks * _BAND_SIZES, totals, out=values[:, :_INNER_BANDS], where=totals > 0)
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
    log_mean = np.log(np.where(heard, totals, 1.0)) - np.log(_BAND_SIZES)
    values = np.ones((len(totals), BANDS))
    np.exp(log_totals / _BAND_SIZES - log_mean, out=values[:, :_INNER_BANDS], where=heard)
    return values


def _exact_logarithm(logarithm: Matrix, power: Matrix) -> Matrix:
    """Return ln(p) rather than ln(p + tiny); they differ only next to silence."""
    if power.min() >= _MIN_EXACT_POWER:
        return logarithm
    nothing = power == 0
    replaced = np.log(np.where(nothing, 1.0, power))
    replaced[nothing] = _LOG_OF_NOTHING
    return np.where(power < _MIN_EXACT_POWER, replaced, logarithm)
