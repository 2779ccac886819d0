"""The lower bound of the log evidence that variational inference climbs (22).

    L = E[ln p(D, β, τ)] − E[ln q(β, τ)] ≤ ln p(D)

      = ln p(τ):  a0 ln b0 − lnΓ(a0) + (a0−1)E[ln τ] − b0 E[τ]
      + ln p(β):  Σ_f −½d_f ln 2π + ½ln|D_f⁻¹| + ½d_f E[ln τ] − ½E[τ] E[(β_f−μ_f)'D_f⁻¹(β_f−μ_f)]
      + ln p(r):  −½N ln 2π + ½Σ ln w + ½N E[ln τ] − ½E[τ] Σ w E[(r − Π_f β_f'v_f)²]
      − ln q(β):  Σ_f ½d_f(1 + ln 2π) − ½ln|Λ_f|
      − ln q(τ):  a_N − ln b_N + lnΓ(a_N) + (1−a_N)ψ(a_N)

    E[τ] = a_N/b_N,   E[ln τ] = ψ(a_N) − ln b_N

Two slips of the paper's appendix are put right: the prior enters by its precision, tr(D0⁻¹Λ⁻¹),
and the constants of a rating count N times; −lnΓ(a0) and +lnΓ(a_N) were missing.

code                        maths                            meaning
`penalty`                   E[(β_f−μ_f)'D_f⁻¹(β_f−μ_f)]      distance from the prior
`misfit`                    Σ w E[(r − Π_f β_f'v_f)²]        distance from the ratings
`shape`, `rate`             a_N, b_N                         of q(τ)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scipy.special import gammaln, psi

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bandstand.core.model.priors import NoisePrior

_LOG_TWO_PI: Final = math.log(2 * math.pi)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorTerms:
    """What the bound needs to know of one factor."""

    dimension: int
    penalty: float
    log_determinant_prior: float  # ln|D_f⁻¹|
    log_determinant: float  # ln|Λ_f|


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingTerms:
    """What the bound needs to know of the ratings."""

    count: int
    misfit: float
    log_weight: float  # Σ ln w


def lower_bound(
    prior: NoisePrior,
    factors: Iterable[FactorTerms],
    ratings: RatingTerms,
    *,
    shape: float,
    rate: float,
) -> float:
    """Return L (22) for any q(β) of normals and any q(τ) = Gamma(`shape`, `rate`)."""
    precision, log_precision = shape / rate, float(psi(shape)) - math.log(rate)
    return (
        _noise_prior(prior, precision, log_precision)
        + sum(_factor(terms, precision, log_precision) for terms in factors)
        + _ratings(ratings, precision, log_precision)
        + _noise_entropy(shape, rate)
    )


def _noise_prior(prior: NoisePrior, precision: float, log_precision: float) -> float:
    """Return E[ln p(τ)]."""
    constant = prior.shape * math.log(prior.rate) - float(gammaln(prior.shape))
    return constant + (prior.shape - 1) * log_precision - prior.rate * precision


def _factor(terms: FactorTerms, precision: float, log_precision: float) -> float:
    """Return E[ln p(β_f | τ)] − E[ln q(β_f)]; ±½d ln 2π cancel."""
    fit = terms.dimension * (1 + log_precision) - precision * terms.penalty
    return 0.5 * (fit + terms.log_determinant_prior - terms.log_determinant)


def _ratings(terms: RatingTerms, precision: float, log_precision: float) -> float:
    """Return the sum of E[ln p(r | …)]."""
    fit = terms.count * (log_precision - _LOG_TWO_PI) - precision * terms.misfit
    return 0.5 * (fit + terms.log_weight)


def _noise_entropy(shape: float, rate: float) -> float:
    """Return −E[ln q(τ)]."""
    return shape - math.log(rate) + float(gammaln(shape)) + (1 - shape) * float(psi(shape))
