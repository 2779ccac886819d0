"""Four numbers about a frame's shape: zero crossings, centroid, roll-off and flux.

All take several frames at once and return one number per frame. Bins are counted k = 0..256;
shares of the spectrum are divided by their number, N2 = 257.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.arrays import frozen
from bandstand.music.audio.descriptors.frames import BINS

if TYPE_CHECKING:
    import numpy.typing as npt

    from bandstand.arrays import Indices, Matrix, Vector

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
