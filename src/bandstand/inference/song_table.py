"""A catalogue's features as the exact engine streams through them: the same for all listeners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from bandstand.arrays import Matrix

SingleMatrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SongTable:
    """One row of features per song, and once more in single precision, songs side by side.

    code            maths    shape
    `features`      x        (S, p)
    `single`        x        (p, S)  half the bytes to stream; bounds allow for its rounding
    `largest_norm`  max |x|
    """

    features: Matrix
    single: SingleMatrix
    largest_norm: float

    @classmethod
    def of(cls, features: Matrix) -> SongTable:
        """Return the table of `features`, which is kept as it is."""
        with np.errstate(under="ignore"):
            single = np.ascontiguousarray(features.T, dtype=np.float32)
            norm = np.sqrt(np.einsum("sp,sp->s", features, features).max(initial=0.0))
        single.flags.writeable = False
        return cls(features=features, single=single, largest_norm=float(norm))

    def without_last_column(self) -> SongTable:
        """Return the table without the last feature; nothing is copied."""
        features = self.features[:, :-1]
        with np.errstate(under="ignore"):
            norm = np.sqrt(np.einsum("sp,sp->s", features, features).max(initial=0.0))
        return SongTable(features=features, single=self.single[:-1], largest_norm=float(norm))

    def __len__(self) -> int:
        return len(self.features)
