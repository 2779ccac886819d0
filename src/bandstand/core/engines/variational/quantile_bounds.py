"""What no song's quantile exceeds, from the normals of its factors alone.

Songs never heard share all factors but content, and in a model with diversity all but two. So
for two factors one envelope (`model.quantile_envelope`) is above all of them. For three, songs
are sorted by how sure the third factor D ~ N(d, e²) is of itself, r = d/e, into cells; by the
same two facts that the envelope rests on, with D in the place of X,

    Q_z ≤ e · Q_{z + ε} of XN(r̄ + Z)             for r within ε of r̄
    Q_α ≤ |d| · Q_α' of XN(±1 + Z/r₁)            for |r| between r₁ and r₂ (here for α ≥ ½)

and each cell has an envelope of its own. Songs heard lately have bounds of their own, one by one.

code                    maths      shape   meaning
`means`, `deviations`   μ_f, σ_f   (F, n)  of the factors of each song, content first
`farthest`              |L'm|              no song's content has a larger |μ|/σ
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import ndtr, ndtri

from bandstand.core.model import product_normal
from bandstand.core.model.quantile_envelope import Envelope, envelope, share_of_tail

if TYPE_CHECKING:
    from bandstand.core.engines.variational.prediction import FactorPrediction
    from bandstand.types import AnyArray, Matrix, Vector

# Cells of the third factor: of one length up to here, of one ratio beyond, up to the last.
_EVEN: Final = 2.0
_STEP: Final = 0.5
_RATIO: Final = 1.8
_LAST_CELL: Final = 12
# Envelopes of cells need not be as close, since there may be many.
_COARSENESS: Final = 3
# Numbers below are as good as 0; what they are divided by would overflow.
_TINY: Final = 1e-200


@dataclass(frozen=True, kw_only=True)
class FactorBounds:
    """Upper bounds of the `level` quantiles of a prediction's songs."""

    prediction: FactorPrediction
    level: float

    @cached_property
    def shared(self) -> Envelope | None:
        """The lines above all songs never heard, for at most two factors; None if there are none.

        Two factors: the second, at the longest time, is the same for all of them.
        """
        if len(self.prediction.factors) > 2:
            return None
        means, deviations = self._never_heard
        return envelope(self.level, means, deviations, farthest=self.farthest)

    @cached_property
    def farthest(self) -> float:
        """|L'm|: x'm = (L⁻¹x)'(L'm) ≤ |L⁻¹x| |L'm|, so no song has a larger |μ|/σ."""
        root, mean = self.prediction.precision_roots[0], self.prediction.means[0]
        return float(np.linalg.norm(root.T @ mean)) * (1 + 1e-9)

    def above(self, means: Matrix, deviations: Matrix, heard: AnyArray) -> Vector:
        """Return what no quantile exceeds: (n,); ∞ where no bound is known.

        `heard` says which of the songs were heard lately.
        """
        bounds = np.full(means.shape[1], np.inf)
        new, old = np.flatnonzero(~heard), np.flatnonzero(heard)
        with np.errstate(under="ignore"):
            if self.shared is not None:
                bounds[new] = self.shared.above(means[0, new], deviations[0, new])
            elif len(means) == 3:
                bounds[new] = self._by_cells(means[:, new], deviations[:, new])
            if len(means) == 2 and len(old):
                bounds[old] = product_normal.quantile_bounds(
                    self.level, means[0, old], deviations[0, old], means[1, old], deviations[1, old]
                )
        return bounds

    @cached_property
    def _never_heard(self) -> tuple[Vector, Vector]:
        """Mean and deviation of the second factor of a song never heard, if there is one."""
        means, deviations = self.prediction.normals_never_heard()
        return means[1:2], deviations[1:2]

    @cached_property
    def _envelopes(self) -> dict[int, Envelope | None]:
        return {}

    def _by_cells(self, means: Matrix, deviations: Matrix) -> Vector:
        """Return the bounds for three factors, the second one shared."""
        mean, deviation = means[2], deviations[2]
        sureness = np.divide(
            mean, deviation, out=np.full_like(mean, np.inf), where=deviation > _TINY
        )
        cells = _cells(sureness) * np.where(mean < 0, -1, 1)
        scales = np.where(np.abs(sureness) <= _EVEN, deviation, np.abs(mean))
        bounds = np.full(len(mean), np.inf)
        for cell in np.unique(cells).tolist():
            (rows,) = np.nonzero(cells == cell)
            if cell not in self._envelopes:
                self._envelopes[cell] = self._envelope_of(cell)
            lines = self._envelopes[cell]
            if lines is not None:
                above = lines.above(means[0, rows], deviations[0, rows])
                bounds[rows] = above * scales[rows]
        return bounds

    def _envelope_of(self, cell: int) -> Envelope | None:
        """Return the lines above the songs of one cell, D in units of e or of |d|."""
        side, number = np.sign(cell), abs(cell)
        evens = int(_EVEN / _STEP)
        if number <= evens:
            third = np.array([side * (number - 0.5) * _STEP, 1.0])
            level = float(ndtr(ndtri(self.level) + _STEP / 2))
        else:
            third, level = self._far_cell(side, _EVEN * _RATIO ** (number - evens - 1))
        means, deviations = self._never_heard
        return envelope(
            level,
            np.append(means, third[0]),
            np.append(deviations, third[1]),
            farthest=self.farthest,
            coarseness=_COARSENESS,
        )

    def _far_cell(self, side: float, nearer: float) -> tuple[Vector, float]:
        """Return D in units of |d|, and the level, for |r| from `nearer` to `_RATIO` times it."""
        last = nearer >= _EVEN * _RATIO ** (_LAST_CELL - 1)
        share = 1.0 if last else share_of_tail(_RATIO)
        if self.level >= 0.5:
            return np.array([side, 1 / nearer]), 1 - (1 - self.level) / (1 + share)
        narrowest = 0.0 if last else 1 / (nearer * _RATIO)
        return np.array([side, narrowest]), min(self.level / max(1 - share, 0.5), 1 - 1e-12)


def _cells(sureness: Vector) -> AnyArray:
    """Return the number of each song's cell, from 1 on, by |r|."""
    size = np.abs(sureness)
    evens = int(_EVEN / _STEP)
    even = np.ceil(size / _STEP)
    with np.errstate(divide="ignore"):
        far = evens + 1 + np.floor(np.log(np.maximum(size, _EVEN) / _EVEN) / np.log(_RATIO))
    cells = np.where(size <= _EVEN, np.clip(even, 1, evens), np.minimum(far, evens + _LAST_CELL))
    return np.asarray(cells, dtype=np.intp)
