"""Gibbs sampling of the approximate model from its conditional distributions (23).

    β_f | β_others, τ ~ N(Λ_f⁻¹η_f, Λ_f⁻¹)     (18) and (19) with the others as given numbers
    τ | β             ~ Gamma(a_N, rate b_N)     (20) and (21) without variances

The paper derives it and calls it slow. It draws from the posterior itself, so it is what
the variational engine is judged against.

code                 maths  shape                  meaning
`coefficients`       β_f    (d_f,) per factor      one draw; curves by their values at the nodes
`noise_precision`    τ                             one over the variance of a rating of weight 1
`Draws.coefficients`        (chains, draws, d_f)   the same, after the warm-up
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrs, dtrtrs

from bandstand.core.engines.variational.equations import (
    Observations,
    RowMoments,
    misfit,
    normal_equations,
    pull,
    triangular_root,
)
from bandstand.errors import InvalidInputError
from bandstand.types import frozen

if TYPE_CHECKING:
    from bandstand.core.model.factors import FactorModel
    from bandstand.core.model.history import History
    from bandstand.core.model.songs import Songs
    from bandstand.types import Matrix, Stack, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class GibbsState:
    """Where one chain is."""

    coefficients: tuple[Vector, ...]
    noise_precision: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GibbsDraws:
    """What all chains drew after their warm-up."""

    model: FactorModel
    coefficients: tuple[Stack, ...]
    noise_precisions: Matrix

    def expected_ratings(self, songs: Songs) -> Stack:
        """Return U (16) of each song under each draw: (chains, draws, S)."""
        with np.errstate(under="ignore"):
            values = [
                draws @ factor.design(songs).T
                for factor, draws in zip(self.model.factors, self.coefficients, strict=True)
            ]
        return math.prod(values[1:], start=values[0])


def init(model: FactorModel, observations: Observations, *, rng: np.random.Generator) -> GibbsState:
    """Return the start of a chain: curves scattered around where a search would set out."""
    scattered = tuple(
        factor.start * (1 + 0.5 * rng.standard_normal(factor.dimension)) for factor in model.factors
    )
    return GibbsState(
        coefficients=scattered,
        noise_precision=draw_noise_precision(model, observations, scattered, rng=rng),
    )


def step(
    state: GibbsState, model: FactorModel, observations: Observations, *, rng: np.random.Generator
) -> GibbsState:
    """Return the next state: every factor drawn in turn, then the noise (23)."""
    coefficients = list(state.coefficients)
    for index in range(len(coefficients)):
        mean, root = factor_conditional(model, observations, coefficients, index)
        normals = rng.standard_normal(len(mean))
        # LL' = Λ/τ, so L'⁻¹z/√τ has the covariance Λ⁻¹.
        deviation, _ = dtrtrs(root, normals, lower=1, trans=1)
        coefficients[index] = mean + deviation / math.sqrt(state.noise_precision)
    drawn = tuple(coefficients)
    return GibbsState(
        coefficients=drawn,
        noise_precision=draw_noise_precision(model, observations, drawn, rng=rng),
    )


def factor_conditional(
    model: FactorModel,
    observations: Observations,
    coefficients: tuple[Vector, ...] | list[Vector],
    index: int,
) -> tuple[Vector, Matrix]:
    """Return Λ_f⁻¹η_f and the lower-triangular root of Λ_f/τ, given all other factors (23)."""
    others = [rows for at, rows in enumerate(_rows(observations, coefficients)) if at != index]
    precision, evidence = normal_equations(
        model.factors[index], observations.designs[index], observations.ratings, others
    )
    root = triangular_root(precision)
    mean, _ = dpotrs(root, evidence, lower=1)
    return mean, root


def noise_conditional(
    model: FactorModel,
    observations: Observations,
    coefficients: tuple[Vector, ...] | list[Vector],
) -> tuple[float, float]:
    """Return the shape a_N and the rate b_N of τ given all coefficients (23)."""
    pairs = zip(model.factors, coefficients, strict=True)
    squares = sum(pull(factor, values) for factor, values in pairs)
    squares += misfit(observations.ratings, _rows(observations, coefficients))
    shape = model.noise.shape + (model.dimension + len(observations)) / 2
    return shape, model.noise.rate + squares / 2


def draw_noise_precision(
    model: FactorModel,
    observations: Observations,
    coefficients: tuple[Vector, ...],
    *,
    rng: np.random.Generator,
) -> float:
    """Return a draw of τ given all coefficients (23)."""
    shape, rate = noise_conditional(model, observations, coefficients)
    return float(rng.standard_gamma(shape)) / rate


def sample_posterior(
    model: FactorModel,
    history: History,
    *,
    draws: int,
    warm_up: int,
    chains: int,
    rng: np.random.Generator,
) -> GibbsDraws:
    """Return draws from the posterior of the approximate model given `history`.

    >>> from bandstand import History, Songs
    >>> from bandstand.core.model.factors import content_novelty
    >>> history = History.of(features=[[1.0], [2.0]], elapsed=43_200, ratings=[2.0, 4.0])
    >>> rng = np.random.default_rng(1)
    >>> found = sample_posterior(
    ...     content_novelty(1), history, draws=200, warm_up=100, chains=2, rng=rng
    ... )
    >>> found.expected_ratings(Songs.of(features=[[1.0]], elapsed=43_200)).shape
    (2, 200, 1)
    """
    if min(draws, chains) < 1 or warm_up < 0:
        msg = f"there must be at least one chain and one draw, got {chains} and {draws}"
        raise InvalidInputError(msg)
    with np.errstate(under="ignore"):
        observations = Observations.of(model, history)
        kept = [np.empty((chains, draws, factor.dimension)) for factor in model.factors]
        precisions = np.empty((chains, draws))
        for chain in range(chains):
            state = init(model, observations, rng=rng)
            for at in range(-warm_up, draws):
                state = step(state, model, observations, rng=rng)
                if at >= 0:
                    precisions[chain, at] = state.noise_precision
                    for table, values in zip(kept, state.coefficients, strict=True):
                        table[chain, at] = values
    return GibbsDraws(
        model=model,
        coefficients=tuple(frozen(table) for table in kept),
        noise_precisions=frozen(precisions),
    )


def _rows(
    observations: Observations, coefficients: tuple[Vector, ...] | list[Vector]
) -> list[RowMoments]:
    """Return each factor's part of every expected rating, known for certain."""
    nothing = np.zeros(len(observations))
    return [
        RowMoments(mean=design @ values, variance=nothing)
        for design, values in zip(observations.designs, coefficients, strict=True)
    ]
