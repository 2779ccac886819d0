"""Curved likings of sound, as columns of features: random Fourier features.

    φ(x)'φ(x') ≈ exp(−|x − x'|²/2ℓ²)

so that a linear model of φ(x) is a smooth function of x: a listener may like two kinds of sound
and nothing between them. The frequencies are orthogonal in blocks, which takes fewer columns for
the same error, and always the same for the same number of features.

A. Rahimi and B. Recht, "Random features for large-scale kernel machines", NIPS 2007; F. X. Yu et
al., "Orthogonal random features", NIPS 2016.
"""

from typing import Final

import numpy as np

from bandstand.core.model.history import SONGS_PER_BLOCK
from bandstand.types import Features, Matrix, blocks

COLUMNS: Final = 64
# ℓ: songs whose sound has a mean square of 1 are this far apart.
LENGTH: Final = 2**0.5
_SEED: Final = 2_013


def curved_columns(sound: Features, count: int = COLUMNS) -> Features:
    """Return a row of length 1 for each song: (S, count), in single precision.

    `sound` has a mean square of 1 over its columns together, and `count` is even. Without sound
    there are no columns.

    >>> columns = curved_columns(np.array([[0.6, 0.8], [0.6, 0.8], [-5.0, 4.0]]), 32)
    >>> (columns @ columns.T).round(1).tolist()[0][:2]
    [1.0, 1.0]
    """
    if not sound.shape[1]:
        return np.empty((len(sound), 0), dtype=np.float32)
    waves = _frequencies(sound.shape[1], count // 2)
    columns: Features = np.empty((len(sound), count), dtype=np.float32)
    for rows in blocks(len(sound), SONGS_PER_BLOCK):
        phases = np.asarray(sound[rows], dtype=np.float64) @ waves.T
        columns[rows, : count // 2], columns[rows, count // 2 :] = np.cos(phases), np.sin(phases)
    columns *= (2 / count) ** 0.5
    return columns


def _frequencies(features: int, count: int) -> Matrix:
    """Return frequencies whose directions are orthogonal in blocks: (count, p)."""
    rng = np.random.default_rng([_SEED, features])
    parts = []
    for _ in range(-(-count // features)):
        directions, _ = np.linalg.qr(rng.standard_normal((features, features)))
        lengths = np.sqrt(rng.chisquare(features, features))
        parts.append(directions * lengths[:, np.newaxis])
    waves: Matrix = np.concatenate(parts)[:count] / LENGTH
    return waves
