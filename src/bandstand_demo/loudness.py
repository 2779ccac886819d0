"""How loud a sound is, and what ReplayGain would turn it by.

Loudness is that of ITU-R BS.1770: the mean square after the K weighting, in LUFS; here without
gating, which matters for speech with pauses and hardly for music without them. The weighting is
applied to the power spectrum (Parseval), an eighth of the blocks standing for all.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from bandstand.types import Vector
    from bandstand_demo.sound import Sound

_BLOCK: Final = 4_096
_STRIDE: Final = 8
_SILENCE: Final = -70.0  # LUFS; below this it counts as silence
# The two filters of BS.1770 at 48 kHz: numerator and denominator of a shelf and a high-pass.
_SHELF: Final = (
    (1.53512485958697, -2.69169618940638, 1.19839281085285),
    (1.0, -1.69065929318241, 0.73248077421585),
)
_HIGH_PASS: Final = ((1.0, -2.0, 1.0), (1.0, -1.99004745483398, 0.99007225036621))


def loudness(sound: Sound) -> float:
    """Return the loudness of a stereo sound (2, n) in LUFS.

    A sine of 1 kHz and amplitude 1 in one channel has −3.01 LUFS, by the standard.

    >>> sine = np.sin(np.arange(200_000) * (2 * np.pi * 997 / 48_000))
    >>> round(loudness(np.stack([sine, 0 * sine]).astype(np.float32)), 1)
    -3.0
    """
    blocks = sound.shape[1] // _BLOCK
    framed = sound[:, : blocks * _BLOCK].reshape(2, blocks, _BLOCK)[:, ::_STRIDE]
    window = np.hanning(_BLOCK).astype(np.float32)
    power = np.abs(np.fft.rfft(framed * window)) ** 2
    mean_square = power.mean(axis=1).sum(axis=0) @ _weights() / (_BLOCK * np.sum(window**2))
    if mean_square <= 10.0 ** (_SILENCE / 10.0):
        return _SILENCE
    return float(-0.691 + 10.0 * np.log10(mean_square))


@cache
def _weights() -> Vector:
    """Return the K weighting of each bin; both halves of the spectrum count."""
    delay = np.exp(-2j * np.pi * np.arange(_BLOCK // 2 + 1) / _BLOCK)
    gain = np.ones(_BLOCK // 2 + 1)
    for above, below in (_SHELF, _HIGH_PASS):
        gain *= np.abs(np.polyval(above[::-1], delay) / np.polyval(below[::-1], delay)) ** 2
    return 2.0 * gain
