"""When a song's mixture is a comb, and how much finer a grid it then needs.

Where the data fix the preferences but not the recovery time, the components of (13) are narrower
than their distance. Such songs are computed on a grid 2, 4, 8, … times as fine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from bandstand.types import Matrix

# Neighbouring components may be this many scales apart; the sum is then right to about 1e-10.
WIDEST_STEP: Final = 0.5
# Components this light do not call for a finer grid.
LIGHT: Final = 1e-10
# A finer grid has at most about this many nodes; beyond, components are widened a little:
# to so many of the steps between them.
_MOST_NODES: Final = 16_384
WIDENED: Final = 0.5
# No grid is made finer than by this factor; every factor is a power of two that divides it.
FINEST: Final = 1_024


def finest(nodes: int) -> int:
    """Return by what factor a grid may be made finer: a power of two.

    >>> finest(25), finest(3)
    (512, 1024)
    """
    return min(int(2 ** np.floor(np.log2(_MOST_NODES / nodes))), FINEST)


def steps(locations: Matrix) -> Matrix:
    """Return how far each component is from its farther neighbour: (n, G).

    >>> steps(np.array([[0.0, 1.0, 3.0]])).tolist()
    [[1.0, 2.0, 2.0]]
    """
    gaps = np.abs(np.diff(locations, axis=1))
    farther = np.empty_like(locations)
    farther[:, 0], farther[:, -1] = gaps[:, 0], gaps[:, -1]
    np.maximum(gaps[:, :-1], gaps[:, 1:], out=farther[:, 1:-1])
    return farther
