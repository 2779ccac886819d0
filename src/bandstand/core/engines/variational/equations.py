"""The equations of one factor, for the variational engine and for Gibbs sampling.

Given the moments of the other factor g, one factor's coefficients are a linear regression:

    Λ_f/τ = D_f⁻¹ + Σ w v_f v_f' E[(β_g'v_g)²]         (18)
    η_f/τ = D_f⁻¹μ_f + Σ w r v_f E[β_g'v_g]            (19)

For the sampler the other one is given by numbers: their variance is zero (23).

code                  maths               shape     meaning
`designs`             v_f                 (N, d_f)  what each factor sees of the rated songs
`RowMoments.mean`     E[β_f'v_f]          (N,)      one factor of each expected rating
`RowMoments.variance` Var[β_f'v_f]        (N,)
`misfit`              Σ w E[(r − Π…)²]              how far expected ratings are from the ratings

A weight w scales r and the first factor's row by √w, once; nothing below knows of weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from bandstand.core.model.factors import Factor, FactorModel
from bandstand.core.model.history import History
from bandstand.errors import ConvergenceError, InvalidInputError
from bandstand.types import Matrix, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """A history as the factors see it, weights worked in."""

    designs: tuple[Matrix, Matrix]
    ratings: Vector
    log_weight: float  # Σ log w

    @classmethod
    def of(cls, model: FactorModel, history: History) -> Observations:
        """Return what `model` sees of `history`."""
        if history.columns != model.columns:
            msg = f"songs must have {model.columns} features, got {history.columns}"
            raise InvalidInputError(msg)
        songs, root_weights = history.songs, np.sqrt(history.weights)
        content, novelty = (factor.design(songs) for factor in model.factors)
        return cls(
            designs=(content * root_weights[:, np.newaxis], novelty),
            ratings=history.ratings * root_weights,
            log_weight=float(np.log(history.weights).sum()),
        )

    def __len__(self) -> int:
        return len(self.ratings)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMoments:
    """Mean and variance of one factor's β_f'v_f in each row."""

    mean: Vector
    variance: Vector

    @property
    def square(self) -> Vector:
        """E[(β_f'v_f)²] of each row: (N,)."""
        return self.mean**2 + self.variance


def normal_equations(
    factor: Factor, design: Matrix, ratings: Vector, other: RowMoments
) -> tuple[Matrix, Vector]:
    """Return Λ_f/τ (18) and η_f/τ (19) of one factor, given the moments of the other."""
    rows = design * np.sqrt(other.square)[:, np.newaxis]
    precision = factor.prior_precision + rows.T @ rows
    evidence = factor.prior_precision @ factor.prior_mean
    evidence += design.T @ (ratings * other.mean)
    return precision, evidence


def misfit(ratings: Vector, moments: Sequence[RowMoments]) -> float:
    """Return Σ w E[(r − Π_f β_f'v_f)²], a sum of squares and variances, never a difference."""
    content, novelty = moments
    variance = content.variance * novelty.square + content.mean**2 * novelty.variance
    return float(np.sum((ratings - content.mean * novelty.mean) ** 2) + np.sum(variance))


def pull(factor: Factor, coefficients: Vector) -> float:
    """Return (β−μ)'D⁻¹(β−μ), how far `coefficients` are from the prior mean."""
    shift = coefficients - factor.prior_mean
    return float(shift @ factor.prior_precision @ shift)


def triangular_root(precision: Matrix) -> Matrix:
    """Return the lower-triangular L with LL' = `precision`.

    The error of a Cholesky factor does not depend on the scale of the columns, so Jacobi
    scaling would change nothing. Where rounding has taken the last of a nearly singular
    matrix, it is given back as a multiple of the diagonal.
    """
    root, failed = dpotrf(precision, lower=1, clean=1)
    for power in range(1, 14):
        if not failed:
            break
        lift = 16**power * np.finfo(np.float64).eps
        root, failed = dpotrf(precision + lift * np.diag(np.diagonal(precision)), lower=1, clean=1)
    if failed:
        msg = "a precision must be positive definite, got one that is not"
        raise ConvergenceError(msg)
    lower: Matrix = root
    return lower


def triangular_inverse(root: Matrix) -> Matrix:
    """Return L⁻¹ of a lower-triangular L."""
    inverse, _ = dtrtri(root, lower=1)
    lower: Matrix = inverse
    return lower


def log_determinant(root: Matrix) -> float:
    """Return log|LL'| of a lower-triangular L."""
    return 2.0 * float(np.log(np.diagonal(root)).sum())
