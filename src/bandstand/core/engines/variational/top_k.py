"""The best songs of the variational engine, without computing all of them.

For songs never heard the factors other than content are the same, so (`factor_bounds`)

    Q(x) ≤ max_k (slope_k μ + width_k σ),    μ = x'm,  σ = √(x'Λ⁻¹x),  |μ| ≤ R σ

With b the largest width, slope_k μ + width_k σ ≤ (slope_k ∓ (b − width_k)/R) μ + b σ for either
sign of μ: a `Screen` with two knots along m, which bounds all songs in one pass. It says nothing of
songs heard lately: those are bounded one by one, however good the rest is.

A model of three factors has no such screen, since each song has its own diversity; there every
song is bounded by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.engines.exact.search.screen import Screen
from bandstand.core.engines.variational.best_first import Best, Look

if TYPE_CHECKING:
    from bandstand.core.engines.exact.search.candidate_list import SearchCache
    from bandstand.core.engines.variational.prediction import FactorPrediction
    from bandstand.core.model.candidates import CandidateSet
    from bandstand.core.model.quantile_envelope import Envelope
    from bandstand.types import Indices

# Fewer songs are computed one by one; with three factors bounds take long to prepare.
_FEW: Final = 32
_FEW_OF_THREE: Final = 1_024
# Fewer songs are bounded one by one.
_SCREENED_FROM: Final = 16_384
_CAUTION: Final = 1e-9


@np.errstate(under="ignore")
def search(
    prediction: FactorPrediction,
    cache: SearchCache,
    level: float,
    count: int,
    allowed: CandidateSet,
) -> Indices | None:
    """Return the rows of the `count` largest quantiles among `allowed`, or None if not worth it."""
    few = _FEW if len(prediction.factors) <= 2 else _FEW_OF_THREE
    if count <= 0 or allowed.most <= max(few, 4 * count):
        return None
    look = Look(prediction, level)
    best = _best(look, cache, allowed, count)
    cache.evaluated += look.looked_at
    return best.rows


def _best(look: Look, cache: SearchCache, allowed: CandidateSet, count: int) -> Best:
    if allowed.most <= _SCREENED_FROM:
        rows = allowed.rows()
        return look.best(Best.none(), rows, look.above(rows), count)
    cache.passes += 1
    lines = look.bounds.shared
    screen = None if lines is None else _screen(look.prediction, lines, look.bounds.farthest)
    if screen is None:
        return look.best_of_all(Best.none(), look.pass_over(), allowed, count)
    heard = look.prediction.songs.heard
    found = look.best_new(Best.none(), heard[:0], heard, allowed, count)
    above = screen.bounds(cache.table).upper.astype(np.float64)
    above *= screen.unit
    above[heard] = -np.inf
    return look.best_of_all(found, above, allowed, count)


def _screen(prediction: FactorPrediction, lines: Envelope, farthest: float) -> Screen | None:
    mean, inverse_root = prediction.means[0], prediction.inverse_roots[0]
    width = max(float(lines.widths.max()), 0.0)
    spare = (width - lines.widths) / max(farthest, _CAUTION)
    slopes = np.array([(lines.slopes - spare).max(), (lines.slopes + spare).min()])
    # What the slopes may be off by is added to the width: |μ| ≤ R σ.
    width += _CAUTION * (width + float(np.abs(slopes).max()) * farthest)
    return Screen.of(slopes[:, np.newaxis] * mean, np.array([width]), inverse_root.T @ inverse_root)
