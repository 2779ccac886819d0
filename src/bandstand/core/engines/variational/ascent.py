"""Coordinate ascent on the lower bound, for any number of factors: (18) to (21).

One sweep improves q(β_f) for each factor in turn, then takes the shortcuts of
`factor_shortcuts`, the last of which improves q(τ). Each step maximises the bound over
something, so the bound never falls.

code                    maths                  shape      meaning
`Block.mean`            m_f = E[β_f]           (d_f,)
`Block.precision_root`  L, LL' = Λ_f           (d_f,d_f)  lower triangle
`Block.rows`                                   (N,)       moments of β_f'v_f in each row
`Block.pull`            (m−μ_f)'D_f⁻¹(m−μ_f)              what the mean adds to the penalty
`Block.spread`          tr(D_f⁻¹Λ_f⁻¹)                    what the variance adds to it
`shape`, `rate`         a_N, b_N                          q(τ) = Gamma(a_N, rate b_N)
`noise_precision`       E[τ] = a_N/b_N
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.linalg.lapack import dpotrs

from bandstand.core.engines.variational import shortcuts as factor_shortcuts
from bandstand.core.engines.variational.equations import (
    Observations,
    RowMoments,
    log_determinant,
    misfit,
    normal_equations,
    pull,
    triangular_inverse,
    triangular_root,
)
from bandstand.core.engines.variational.lower_bound import FactorTerms, RatingTerms, lower_bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.core.model.factors import Factor, FactorModel
    from bandstand.core.model.history import History
    from bandstand.types import Matrix, Vector

# A search sets out with ratings explained this well: the noise variance is that part of
# their mean square. From a noisy start it ends on a lower peak in one case out of ten.
_UNEXPLAINED: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """q(β_f), with what follows from it."""

    mean: Vector
    precision_root: Matrix
    rows: RowMoments
    pull: float
    spread: float

    @property
    def penalty(self) -> float:
        """E[(β_f−μ_f)'D_f⁻¹(β_f−μ_f)]."""
        return self.pull + self.spread


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """q(β, τ) between two sweeps."""

    blocks: tuple[Block, ...]
    shape: float
    rate: float

    @property
    def noise_precision(self) -> float:
        """E[τ]."""
        return self.shape / self.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Ascent:
    """The problem to solve: a model and what was observed."""

    model: FactorModel
    observations: Observations
    prior_roots: tuple[Matrix, ...]  # lower triangles of the prior precisions D_f⁻¹

    @classmethod
    def of(cls, model: FactorModel, history: History) -> Ascent:
        """Return the problem of finding what `history` says about the factors of `model`."""
        return cls(
            model=model,
            observations=Observations.of(model, history),
            prior_roots=tuple(triangular_root(each.prior_precision) for each in model.factors),
        )

    @property
    def shape(self) -> float:
        """a_N (20): every coefficient counts, and every rating whatever its weight."""
        return self.model.noise.shape + (self.model.dimension + len(self.observations)) / 2

    def cold_start(self) -> State:
        """Return the state from which a search sets out that knows nothing.

        With prior means of zero, all coefficients at zero would be a fixed point. So every
        factor but the first, which is updated first, begins as a known curve.
        """
        noise, ratings = self.model.noise, self.observations.ratings
        squares = _UNEXPLAINED * float(np.sum(ratings**2))
        noise_precision = (noise.shape + len(ratings) / 2) / (noise.rate + squares / 2)
        blocks = tuple(
            Block(
                mean=factor.start,
                precision_root=root * math.sqrt(noise_precision),
                rows=RowMoments(mean=design @ factor.start, variance=np.zeros(len(ratings))),
                pull=pull(factor, factor.start),
                spread=factor.dimension / noise_precision,
            )
            for factor, root, design in self._parts()
        )
        return State(blocks=blocks, shape=self.shape, rate=self.shape / noise_precision)

    def warm_start(
        self, means: Sequence[Vector], roots: Sequence[Matrix], noise_precision: float
    ) -> State:
        """Return the state of an earlier posterior, seen from the rows of this problem."""
        pairs = zip(means, roots, strict=True)
        blocks = tuple(self._block(index, mean, root) for index, (mean, root) in enumerate(pairs))
        return State(blocks=blocks, shape=self.shape, rate=self.shape / noise_precision)

    def sweep(self, state: State) -> State:
        """Return a state with a bound at least as high: (18) to (21), and the shortcuts."""
        blocks, curvatures = list(state.blocks), []
        for index in range(len(blocks)):
            curvature, block = self._update(index, blocks, state.noise_precision)
            curvatures.append(curvature)
            blocks[index] = block
        improved = tuple(blocks)
        for shortcut in factor_shortcuts.ALL:
            improved = shortcut(self, improved, curvatures, state.noise_precision)
        return self.with_noise(improved)

    def with_noise(self, blocks: tuple[Block, ...]) -> State:
        """Return the state with the best q(τ) for `blocks` (21)."""
        penalty = sum(block.penalty for block in blocks)
        squares = penalty + misfit(self.observations.ratings, [block.rows for block in blocks])
        return State(blocks=blocks, shape=self.shape, rate=self.model.noise.rate + squares / 2)

    def bound(self, state: State) -> float:
        """Return the lower bound (22) at `state`."""
        terms = [
            FactorTerms(
                dimension=len(block.mean),
                penalty=block.penalty,
                log_determinant_prior=log_determinant(prior_root),
                log_determinant=log_determinant(block.precision_root),
            )
            for block, prior_root in zip(state.blocks, self.prior_roots, strict=True)
        ]
        ratings = RatingTerms(
            count=len(self.observations),
            misfit=misfit(self.observations.ratings, [block.rows for block in state.blocks]),
            log_weight=self.observations.log_weight,
        )
        return lower_bound(self.model.noise, terms, ratings, shape=state.shape, rate=state.rate)

    def _update(
        self, index: int, blocks: Sequence[Block], noise_precision: float
    ) -> tuple[Matrix, Block]:
        """Return Λ_f/E[τ] and the best q(β_f), given all other factors: (18) and (19)."""
        factor, design = self.model.factors[index], self.observations.designs[index]
        others = [block.rows for at, block in enumerate(blocks) if at != index]
        curvature, evidence = normal_equations(factor, design, self.observations.ratings, others)
        root = triangular_root(curvature)
        mean, _ = dpotrs(root, evidence, lower=1)
        return curvature, self._block(index, mean, root * math.sqrt(noise_precision))

    def _block(self, index: int, mean: Vector, precision_root: Matrix) -> Block:
        factor, prior_root, design = self._parts()[index]
        inverse = triangular_inverse(precision_root)
        return Block(
            mean=mean,
            precision_root=precision_root,
            rows=row_moments(design, mean, inverse),
            pull=pull(factor, mean),
            spread=float(np.sum((inverse @ prior_root) ** 2)),
        )

    def _parts(self) -> list[tuple[Factor, Matrix, Matrix]]:
        designs = self.observations.designs
        return list(zip(self.model.factors, self.prior_roots, designs, strict=True))


def row_moments(design: Matrix, mean: Vector, inverse_root: Matrix) -> RowMoments:
    """Return the moments of β_f'v_f in each row of `design`: v'm and |L⁻¹v|²."""
    # One product with the inverse is twice as fast as a triangular solve for all rows.
    half = design @ inverse_root.T
    return RowMoments(mean=design @ mean, variance=np.einsum("ij,ij->i", half, half))
