"""A catalogue's features as engines stream through them: the same for all listeners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from bandstand.types import Features, read_only

SingleVector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float32]]
SingleMatrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float32]]

# Songs taken at a time, so that what is computed stays in the processor's cache.
BLOCK: Final = 4_096
# Added to every length, so that features too small for single precision are covered as well.
_SMALLEST: Final = 1e-30
_tiny_is_zero: Final = np.errstate(under="ignore")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SongTable:
    """One row of features per song in single precision, and how long each row is at most.

    code      maths       shape
    `single`  x           (S, p)  the catalogue's own matrix where that is in single precision
    `norms`   |x| or more (S,)    of the features in their own precision, rounded up
    """

    single: SingleMatrix
    norms: SingleVector

    @classmethod
    @_tiny_is_zero
    def of(cls, features: Features) -> SongTable:
        """Return the table of `features`; nothing is copied if they are in single precision."""
        single: SingleMatrix = np.asarray(features, dtype=np.float32)
        return cls(single=read_only(single), norms=read_only(_norms(features)))

    def __len__(self) -> int:
        return len(self.single)


def _norms(features: Features) -> SingleVector:
    """Return a number not below |x| for each row.

    Double precision is right to far better than 1e-12 here, and a number rounded to single
    precision is off by at most 6e-8 of itself; features that were rounded themselves are off by
    as much. Both are below the factor 1 + 1e-6.
    """
    norms = np.empty(len(features), dtype=np.float32)
    for start in range(0, len(features), BLOCK):
        block = np.asarray(features[start : start + BLOCK], dtype=np.float64)
        lengths = np.sqrt(np.einsum("sp,sp->s", block, block))
        norms[start : start + len(block)] = lengths * (1 + 1e-6) + _SMALLEST
    return norms
