"""The exact model once the recovery time is given: conjugate linear regression, (8) to (12).

code            maths  shape   meaning, all for one s
`factor`        L      (p, p)  lower triangle, LL' = Λ_s
`mean`          m_s    (p,)    expected preference
`rate`          B_s            rate of the noise precision; its shape is A = f0 + N/2
`log_evidence`                 log p(D | s) up to a constant that does not depend on s
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from bandstand.core.model.history import History
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import ListenerPrior
from bandstand.types import Matrix, Vector

# Cholesky works on the square of the condition number. Where that would cost
# more than this many digits, the factor comes from a QR of the rows instead.
WORST_CONDITION: Final = 1e10


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditional:
    """p(θ, τ | s, D) and p(D | s) for one recovery time."""

    factor: Matrix
    mean: Vector
    rate: float
    log_determinant: float

    def covariance(self) -> Matrix:
        """Return Λ_s⁻¹, the covariance of θ in units of the noise variance."""
        upper, _ = dpotri(self.factor, lower=1)
        inverse: Matrix = np.tril(upper) + np.tril(upper, -1).T
        return inverse


def shape(prior: ListenerPrior, weights: Vector) -> float:
    """Return A = f0 + N/2 (10) after answers of these weights."""
    return prior.noise.shape + prior.noise.count(weights) / 2


def log_evidence(conditional: Conditional, shape: float) -> float:
    """Return log p(D | s) (12), up to a constant that does not depend on s."""
    return float(-0.5 * conditional.log_determinant - shape * np.log(conditional.rate))


@np.errstate(under="ignore")  # what is smaller than any number is zero
def condition_on(prior: ListenerPrior, history: History, recovery_time: float) -> Conditional:
    """Return p(θ, τ | s, D), (8) to (11)."""
    root_weights = np.sqrt(history.weights)
    scale = root_weights * novelty(history.elapsed, recovery_time)
    rows = history.features * scale[:, np.newaxis]  # z, each times √w
    answers = history.ratings * root_weights
    start = prior.preference

    factor = _factor(start.precision, rows)
    evidence = start.precision @ start.mean + rows.T @ answers
    mean, _ = dpotrs(factor, evidence, lower=1)

    # A sum of squares rather than a difference of squares, which can turn
    # negative by rounding.
    residual = answers - rows @ mean
    shift = mean - start.mean
    squares = residual @ residual + shift @ start.precision @ shift
    return Conditional(
        factor=factor,
        mean=mean,
        rate=prior.noise.rate + 0.5 * float(squares),
        log_determinant=2.0 * float(np.log(np.diagonal(factor)).sum()),
    )


def _factor(prior_precision: Matrix, rows: Matrix) -> Matrix:
    """Return lower-triangular L with LL' = V0⁻¹ + Z'Z."""
    # The transpose of a row-major matrix is what Fortran wants: nothing is copied.
    precision = dsyrk(1.0, rows.T, beta=1.0, c=prior_precision, lower=1)
    factor, failed = dpotrf(precision, lower=1, clean=1)
    if failed or is_ill_conditioned(factor):
        return factor_by_rows(prior_precision, rows)
    lower: Matrix = factor
    return lower


def is_ill_conditioned(factor: Matrix) -> bool:
    """Return whether Cholesky has lost too many digits, as its diagonal shows."""
    diagonal = np.diagonal(factor)
    return bool(diagonal.max() > np.sqrt(WORST_CONDITION) * diagonal.min())


def factor_by_rows(prior_precision: Matrix, rows: Matrix) -> Matrix:
    """Return the same factor from a QR decomposition, which never squares the rows."""
    prior_root = np.linalg.cholesky(prior_precision).T
    upper: Matrix = np.linalg.qr(np.vstack([prior_root, rows]), mode="r")  # type: ignore[assignment]
    signs = np.where(np.diagonal(upper) < 0, -1.0, 1.0)
    lower: Matrix = (upper * signs[:, np.newaxis]).T
    return lower
