"""Mel-frequency cepstral coefficients 0..12.

code        shape      meaning
`power`     (F, 257)   power spectra of the frames
`energies`  (F, 40)    what each triangular filter lets through
result      (F, 13)    the cosine transform of their logarithms

The filters are those of Slaney's auditory toolbox: 42 edges, 13 of them equally spaced and the
rest in equal ratios. Filter i rises from edge i to i + 1 and falls to edge i + 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.music.audio.descriptors.frames import BIN_WIDTH, BINS
from bandstand.types import frozen

if TYPE_CHECKING:
    from bandstand.types import Matrix, Vector

FILTERS: Final = 40
COEFFICIENTS: Final = 13
_LINEAR_EDGES: Final = 13
# MARSYAS holds these in single precision, and the golden values show it.
_LOWEST: Final = float(np.float32(133.3333))  # hertz
_SPACING: Final = float(np.float32(66.66666))  # hertz
_RATIO: Final = float(np.float32(1.0711703))


def filter_edges() -> Vector:
    """Return the 42 edges in hertz.

    >>> np.round(filter_edges()[[0, 1, 12, 13, 41]], 1).tolist()
    [133.3, 200.0, 933.3, 999.8, 6853.8]
    """
    linear = _LOWEST + _SPACING * np.arange(_LINEAR_EDGES)
    steps = np.arange(1, FILTERS + 2 - _LINEAR_EDGES + 1)
    return np.concatenate([linear, linear[-1] * _RATIO**steps])


def filter_bank() -> Matrix:
    """Return the triangles, (257, 40), of height 2 / (upper − lower) each."""
    edges = filter_edges()
    lower, centre, upper = edges[:-2], edges[1:-1], edges[2:]
    hertz = np.arange(BINS)[:, np.newaxis] * BIN_WIDTH
    rising = (hertz - lower) / (centre - lower)
    falling = (upper - hertz) / (upper - centre)
    bank: Matrix = np.maximum(np.minimum(rising, falling), 0) * (2 / (upper - lower))
    return bank


def cosine_transform() -> Matrix:
    """Return cos(j(2i + 1)π/80) / √20, (40, 13), with column j = 0 divided by √2.

    Its columns are orthonormal:

    >>> bool(np.allclose(cosine_transform().T @ cosine_transform(), np.eye(13)))
    True
    """
    odd = 2 * np.arange(FILTERS)[:, np.newaxis] + 1
    transform: Matrix = np.cos(odd * np.arange(COEFFICIENTS) * (np.pi / (2 * FILTERS)))
    transform /= np.sqrt(FILTERS / 2)
    transform[:, 0] *= np.sqrt(2) / 2
    return transform


# The filters leave out the lowest and the highest bins, 42 of the 257; so does the product.
_REACHED: Final = slice(
    int(filter_edges()[0] / BIN_WIDTH) + 1, int(filter_edges()[-1] / BIN_WIDTH) + 1
)
_FILTER_BANK: Final = frozen(filter_bank()[_REACHED])
_COSINE_TRANSFORM: Final = frozen(cosine_transform())


@np.errstate(under="ignore")
def mel_energies(power: Matrix) -> Matrix:
    """Return what each of the 40 filters lets through, in the precision of `power`: (F, 40)."""
    energies: Matrix = power[:, _REACHED] @ _FILTER_BANK.astype(power.dtype, copy=False)
    return energies


def mfcc(energies: Matrix) -> Matrix:
    """Return the 13 coefficients of each frame: (F, 13).

        c_j = Σ_i log10(energy_i) · cos(j(2i + 1)π/80) / √20, c_0 divided by √2

    A filter that lets nothing through counts as logarithm 0, so silence has all zeros. Equal
    energies have no shape, only a level, √40 times their logarithm:

    >>> np.round(np.abs(mfcc(np.full((1, 40), 0.1))[0, :3]), 3).tolist()
    [6.325, 0.0, 0.0]
    """
    logarithm = np.log10(np.where(energies > 0, energies, 1.0))
    coefficients: Matrix = logarithm @ _COSINE_TRANSFORM
    return coefficients
