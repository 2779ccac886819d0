"""The variational engine: the paper's Bayes-UCB-CN-V, for any number of factors.

The posterior of the approximate model, (16) and (17), is approximated by independent parts,

    q(β, τ) = q(τ) Π_f q(β_f),    q(β_f) = N(m_f, Λ_f⁻¹),    q(τ) = Gamma(a_N, rate b_N)

found by coordinate ascent on the lower bound (22). It is deterministic. Taken one by one
the factors know too little of each other, so it is somewhat too sure of itself while there
are few ratings; docs/model.md has the measured coverage.

code                    maths    shape      meaning
`means`                 m_f      (d_f,)     expected coefficients, one vector per factor
`precision_roots`       L_f      (d_f,d_f)  lower triangles, LL' = Λ_f; no covariance is stored
`shape`, `rate`         a_N, b_N            of the noise precision τ
`bounds`                L        (sweeps,)  the lower bound after each sweep
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from scipy.special import gammaln

from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.engines.variational.ascent import Ascent, State, row_moments, search
from bandstand.core.engines.variational.equations import (
    product_of_squares,
    triangular_inverse,
    triangular_root,
)
from bandstand.core.engines.variational.factor_prediction import FactorPrediction
from bandstand.types import frozen

if TYPE_CHECKING:
    from bandstand.core.model.factors import FactorModel
    from bandstand.core.model.history import History, Songs
    from bandstand.types import Matrix, Vector

# The bound is settled when it changes by less than this, relative to its size.
_BOUND_TOLERANCE: Final = 1e-9
# A posterior mean closer to zero than this many standard deviations is no start for a search.
_MIN_SCORE: Final = 1e-2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VariationalBelief:
    """q(β, τ), with the history behind it and the way it was found."""

    model: FactorModel
    history: History
    means: tuple[Vector, ...]
    precision_roots: tuple[Matrix, ...]
    shape: float
    rate: float
    bounds: Vector
    converged: bool

    @property
    def noise_precision(self) -> float:
        """E[τ]."""
        return self.shape / self.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Variational(Engine[VariationalBelief]):
    """The variational engine.

    >>> from bandstand import History, Songs
    >>> from bandstand.core.model.factors import content_novelty
    >>> history = History.of(features=[[1.0], [2.0], [1.5]], elapsed=43_200, ratings=[2, 4, 3.1])
    >>> engine = Variational(model=content_novelty(1))
    >>> belief = engine.fit(history)
    >>> engine.predict(belief, Songs.of(features=[[1.0]], elapsed=43_200)).mean().round(2)
    array([2.02])
    """

    online: ClassVar[bool] = False
    model: FactorModel
    most_sweeps: int = 1_000

    def fit(self, history: History, *, rng: np.random.Generator | None = None) -> VariationalBelief:
        """Return the belief after `history`; nothing is drawn, so `rng` is not used."""
        del rng
        with np.errstate(under="ignore"):
            ascent = Ascent.of(self.model, history)
            return self._climb(ascent, ascent.cold_start(), history)

    def update(
        self, belief: VariationalBelief, history: History, *, rng: np.random.Generator | None = None
    ) -> VariationalBelief:
        """Return the belief after `history`, by a search that starts from `belief`.

        With fewer ratings than coefficients the bound often has several peaks, and which one
        is found would depend on the order of the ratings: there it is a fit from scratch.
        """
        with np.errstate(under="ignore"):
            if len(belief.history) < self.model.dimension or not _is_away_from_zero(belief):
                return self.fit(history, rng=rng)
            ascent = Ascent.of(self.model, history)
            start = ascent.warm_start(belief.means, belief.precision_roots, belief.noise_precision)
            return self._climb(ascent, start, history)

    def predict(
        self, belief: VariationalBelief, songs: Songs, *, memory: None = None
    ) -> FactorPrediction:
        """Return the prediction of `songs`: products of independent normals."""
        songs.require_columns(self.model.columns)
        return FactorPrediction(
            factors=self.model.factors,
            means=belief.means,
            precision_roots=belief.precision_roots,
            songs=songs,
        )

    def plan(self, belief: VariationalBelief, song: Songs) -> VariationalBelief:
        """Return the belief as if `song` had been heard: content grows more certain.

        Its precision grows by E[τ] Π_{g≠f} E[(β_g'v_g)²] xx' (18); every mean stays.
        """
        with np.errstate(under="ignore"):
            content, *others = (factor.design(song) for factor in self.model.factors)
            moments = [
                row_moments(design, mean, triangular_inverse(root))
                for design, mean, root in zip(
                    others, belief.means[1:], belief.precision_roots[1:], strict=True
                )
            ]
            weights = belief.noise_precision * product_of_squares(moments, len(song))
            rows = content * np.sqrt(weights)[:, np.newaxis]
            root = belief.precision_roots[0]
            surer = triangular_root(root @ root.T + rows.T @ rows)
        return replace(belief, precision_roots=(frozen(surer), *belief.precision_roots[1:]))

    def history_columns(self) -> tuple[str, ...]:
        """Return the columns that the factors read; diversity is measured by the catalogue."""
        names = Engine.history_columns(self)
        is_read = any(factor.name == "diversity" for factor in self.model.factors)
        return (*names, "diversity") if is_read else names

    def summary(self, belief: VariationalBelief) -> Summary:
        """Return E[σ | D] = √b_N Γ(a_N − ½)/Γ(a_N); a piecewise curve has no recovery time."""
        ratio = math.exp(float(gammaln(belief.shape - 0.5) - gammaln(belief.shape)))
        return Summary(noise_sd=math.sqrt(belief.rate) * ratio)

    def _climb(self, ascent: Ascent, start: State, history: History) -> VariationalBelief:
        """Return the belief at the end of the search from `start`."""
        bounds: list[float] = []
        for progress in islice(search(ascent, start), self.most_sweeps):
            bounds.append(progress.bound)
            if progress.is_settled and _is_settled(bounds):
                break
        state = progress.state
        return VariationalBelief(
            model=self.model,
            history=history,
            means=tuple(frozen(block.mean) for block in state.blocks),
            precision_roots=tuple(frozen(block.precision_root) for block in state.blocks),
            shape=state.shape,
            rate=state.rate,
            bounds=frozen(bounds),
            converged=progress.is_settled and _is_settled(bounds),
        )


def _is_settled(bounds: list[float]) -> bool:
    if len(bounds) < 2:
        return False
    return abs(bounds[-1] - bounds[-2]) <= _BOUND_TOLERANCE * (1 + abs(bounds[-1]))


def _is_away_from_zero(belief: VariationalBelief) -> bool:
    """Return whether the factors that are not updated first are known well enough to start from.

    A belief from no ratings, or from ratings of 0, has its means at zero; a search that started
    there would never leave.
    """
    return all(
        float(np.sum((root.T @ mean) ** 2)) > _MIN_SCORE**2
        for mean, root in zip(belief.means[1:], belief.precision_roots[1:], strict=True)
    )
