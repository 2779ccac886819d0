"""Songs that could be played, as the model sees them at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bandstand.core.model.checks import checked_features, not_negative
from bandstand.types import Indices, frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.types import Features, Matrix, Vector

# Some songs of a catalogue, by their places in it.
Rows: TypeAlias = Indices | Sequence[int] | slice


@dataclass(frozen=True, kw_only=True, eq=False)
class Songs:
    """Songs that could be played now, as the model sees them.

    A whole catalogue may be large: engines ask for the rows that they need, in double
    precision, and what is dense is computed only if somebody wants all of it.

    >>> songs = Songs.of(features=[[1.0, 0.5], [0.0, 2.0]], elapsed=[43_200, 10])
    >>> len(songs), songs.heard.tolist()
    (2, [1])
    """

    features: Features
    elapsed: Vector
    diversity: Vector

    @classmethod
    def of(
        cls, *, features: ArrayLike, elapsed: ArrayLike, diversity: ArrayLike | None = None
    ) -> Songs:
        """Return checked songs; an elapsed time may be one number for all of them."""
        matrix = checked_features(features)
        count = len(matrix)
        return cls(
            features=frozen(matrix),
            elapsed=frozen(not_negative("elapsed minutes", elapsed, count)),
            diversity=frozen(
                np.ones(count) if diversity is None else not_negative("diversity", diversity, count)
            ),
        )

    def __len__(self) -> int:
        return len(self.features)

    @cached_property
    def longest(self) -> float:
        """The elapsed time that songs never heard share: none is longer."""
        return float(self.elapsed.max(initial=0.0))

    @cached_property
    def heard(self) -> Indices:
        """The rows whose elapsed time is shorter than that, rising."""
        return np.flatnonzero(self.elapsed < self.longest)

    def features_of(self, rows: Rows) -> Matrix:
        """Return the features of the songs in `rows`, in double precision: (n, p)."""
        return np.asarray(self.features[rows], dtype=np.float64)

    def elapsed_of(self, rows: Rows) -> Vector:
        """Return the minutes since each of the songs in `rows` was heard: (n,)."""
        return self.elapsed[rows]

    def diversity_of(self, rows: Rows) -> Vector:
        """Return how far each of the songs in `rows` is from the last ones: (n,)."""
        return self.diversity[rows]

    def take(self, rows: Rows) -> Songs:
        """Return only the songs in `rows`."""
        return Songs(
            features=self.features_of(rows),
            elapsed=self.elapsed_of(rows),
            diversity=self.diversity_of(rows),
        )
