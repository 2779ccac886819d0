"""The best of some songs by exact quantiles, the most promising looked at first.

`Look` bounds songs quickly from products of matrices, whose rounding is inside the bound, and
computes the quantiles of those that could be among the best. It stops as soon as the best bound
that is left is below the last of the best values found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand.core.engines.song_blocks import blocks, row_blocks
from bandstand.core.engines.variational.quantile_bounds import FactorBounds
from bandstand.core.model import product_normal_many

if TYPE_CHECKING:
    from bandstand.core.engines.variational.prediction import FactorPrediction
    from bandstand.core.model.candidates import CandidateSet
    from bandstand.types import AnyArray, Indices, Vector

# Songs looked at first, besides as many as are wanted; then twice as many each time.
_FIRST: Final = 8
_MOST_AT_ONCE: Final = 4_096
# Of the products that a bound is made of; far more than double precision is wrong by.
_CAUTION: Final = 1e-11
# How many songs of the largest bounds are asked about at first whether they are allowed.
_FIRST_ASKED: Final = 1_024


class Best(NamedTuple):
    """The best songs so far, best first, with their quantiles."""

    rows: Indices
    values: Vector

    @classmethod
    def none(cls) -> Best:
        """Return no songs."""
        return cls(np.empty(0, dtype=np.intp), np.empty(0))

    def with_more(self, rows: Indices, values: Vector, count: int) -> Best:
        """Return the best `count` of these and others; of equals, the smallest rows."""
        rows, values = np.concatenate([self.rows, rows]), np.concatenate([self.values, values])
        order = np.lexsort((rows, -values))[:count]
        return Best(rows[order], values[order])

    def threshold(self, count: int) -> float:
        """Return the least of `count` values, below which no song matters; −∞ if there are less."""
        return float(self.values[count - 1]) if len(self.values) >= count else -np.inf


class Look:
    """A look at a prediction's songs at one level."""

    def __init__(self, prediction: FactorPrediction, level: float) -> None:
        self.prediction, self.level = prediction, level
        self.bounds = FactorBounds(prediction=prediction, level=level)
        self.looked_at = 0
        self._length = float(np.linalg.norm(prediction.means[0]))

    def above(self, rows: Indices) -> Vector:
        """Return what no quantile of the songs in `rows` exceeds: (n,)."""
        found = [self._above(some) for some in row_blocks(rows)]
        return np.concatenate(found) if found else np.empty(0)

    def _above(self, rows: Indices) -> Vector:
        songs = self.prediction.songs.take(rows)
        is_heard = songs.elapsed < self.prediction.songs.longest
        means, deviations = self.prediction.rough_normals(songs)
        bounds = self.bounds.above(means, deviations, is_heard)
        with np.errstate(under="ignore"):
            norms = np.sqrt(np.einsum("sp,sp->s", songs.features, songs.features))
            others = np.prod(np.abs(means[1:]) + 10 * deviations[1:], axis=0)
            return np.asarray(bounds + _CAUTION * self._length * norms * others)

    def best(self, best: Best, rows: Indices, above: Vector, count: int) -> Best:
        """Return the best of `best` and of other songs, whose bounds are `above`."""
        order = np.argsort(-above, kind="stable")
        rows, above = rows[order], above[order]
        start, size = 0, count + _FIRST
        while start < len(rows) and above[start] >= best.threshold(count):
            some = slice(start, start + size)
            hopeful = rows[some][above[some] >= best.threshold(count)]
            self.looked_at += len(hopeful)
            best = best.with_more(*self._best_of(hopeful, count), count)
            start, size = start + size, min(2 * size, _MOST_AT_ONCE)
        return best

    def _best_of(self, rows: Indices, count: int) -> tuple[Indices, Vector]:
        """Return the `count` best of `rows` at least, and their quantiles."""
        if len(self.prediction.factors) <= 2:
            return rows, self.prediction.quantile_of(rows, self.level)
        # A quantile of more factors takes so long that one more test of each song pays.
        which, values = product_normal_many.largest_quantiles(
            self.level, count, *self.prediction.normals_of(rows)
        )
        return rows[which], values

    def best_of_all(self, best: Best, above: AnyArray, allowed: CandidateSet, count: int) -> Best:
        """Return the best of all songs that are allowed, from a bound of every one: (S,).

        `best` are songs that are known already; they are looked at no second time.
        """
        asked, known = _FIRST_ASKED, best.rows
        while len(best.rows) < count and asked < len(above):
            # Without `count` values nothing can be left out, so the most promising come first.
            rows = np.sort(np.argpartition(above, len(above) - asked)[len(above) - asked :])
            best = self.best_new(best, known, rows, allowed, count)
            known, asked = np.union1d(known, rows), 8 * asked
        rows = np.flatnonzero(above >= best.threshold(count))
        return self.best_new(best, known, rows, allowed, count)

    def best_new(
        self, best: Best, known: Indices, rows: Indices, allowed: CandidateSet, count: int
    ) -> Best:
        """Return the best of `best` and of those of `rows` that are allowed and not yet known."""
        new = np.setdiff1d(rows, known, assume_unique=True)
        new = new[allowed.holds(new)]
        return self.best(best, new, self.above(new), count)

    def pass_over(self) -> Vector:
        """Return a bound of every song: a pass over the catalogue."""
        found = np.empty(len(self.prediction))
        for some in blocks(len(self.prediction)):
            found[some] = self._above(np.arange(some.start, some.stop))
        return found
