"""Convergence diagnostics of Markov chains: R-hat and effective sample sizes.

code            shape               meaning
`draws`         (chains, length)    one quantity, one row per chain
`bulk_ess`                          independent draws that would place the centre as well
`tail_ess`                          … that would place the 5 % and 95 % quantiles as well
`split_r_hat`                       spread of all draws over that within half chains; best is 1

All of them are rank-normalised: they ask the same of a heavy-tailed quantity as of a
normal one, and exist where its variance does not. Draws that are all equal have nothing to
disagree about: their R-hat is 1, and each counts.

Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and
localization: an improved R-hat", Bayesian Analysis 16 (2021).
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from bandstand.errors import InvalidInputError
from bandstand.types import Matrix, Vector

# What may be called converged, by Vehtari et al.
MAX_R_HAT: Final = 1.01
MIN_ESS: Final = 400.0
# Half a chain needs two draws to have a spread.
MIN_DRAWS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence:
    """The diagnostics of the draws of one quantity."""

    r_hat: float
    bulk_ess: float
    tail_ess: float

    @property
    def reached(self) -> bool:
        """Whether the draws may be used as if they were the posterior."""
        return self.r_hat < MAX_R_HAT and min(self.bulk_ess, self.tail_ess) >= MIN_ESS


def assess(draws: ArrayLike) -> Convergence:
    """Return R-hat and both effective sample sizes of one quantity."""
    return Convergence(r_hat=split_r_hat(draws), bulk_ess=bulk_ess(draws), tail_ess=tail_ess(draws))


def split_r_hat(draws: ArrayLike) -> float:
    """Return the larger R-hat of the half chains' centres and of their spreads.

    >>> rng = np.random.default_rng(1)
    >>> bool(split_r_hat(rng.standard_normal((4, 1_000))) < 1.01)
    True
    """
    halves = _halves(_unit(_checked(draws)))
    folded = np.abs(halves - np.median(halves))
    return max(_r_hat(_rank_normalised(halves)), _r_hat(_rank_normalised(folded)))


def bulk_ess(draws: ArrayLike) -> float:
    """Return the effective sample size for the centre of the distribution."""
    return _effective_size(_rank_normalised(_halves(_checked(draws))))


def tail_ess(draws: ArrayLike) -> float:
    """Return the smaller effective sample size of the 5 % and the 95 % quantile."""
    return min(quantile_ess(draws, level) for level in (0.05, 0.95))


def quantile_ess(draws: ArrayLike, level: float) -> float:
    """Return the effective sample size for the quantile at `level`."""
    halves = _halves(_checked(draws))
    below = halves <= np.quantile(halves, level, method="inverted_cdf")
    return _effective_size(below.astype(np.float64))


def spread(draws: ArrayLike) -> float:
    """Return the standard deviation of all draws, of whatever size they are."""
    table = np.asarray(draws, dtype=np.float64)
    with np.errstate(under="ignore"):
        return float(np.std(_unit(table))) * float(np.abs(table).max())


def _checked(draws: ArrayLike) -> Matrix:
    table = np.asarray(draws, dtype=np.float64)
    if table.ndim != 2 or not table.shape[0] or table.shape[1] < MIN_DRAWS:
        msg = (
            f"draws must have one row per chain and at least {MIN_DRAWS} columns, "
            f"got shape {table.shape}"
        )
        raise InvalidInputError(msg)
    if not np.isfinite(table).all():
        msg = f"draws must be finite, got {table[~np.isfinite(table)][0]}"
        raise InvalidInputError(msg)
    return table


def _unit(draws: Matrix) -> Matrix:
    """Return the draws in units of the largest, whose squares neither overflow nor vanish."""
    largest = float(np.abs(draws).max())
    with np.errstate(under="ignore"):
        return draws / largest if largest else draws


def _halves(draws: Matrix) -> Matrix:
    """Return each chain as two; the middle draw of an odd number is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _rank_normalised(draws: Matrix) -> Matrix:
    """Return the normal scores of the ranks; equal draws share their mean rank."""
    _, place, count = np.unique(draws, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - (count - 1) / 2
    scores: Vector = ndtri((rank - 0.375) / (draws.size + 0.25))
    return scores[place].reshape(draws.shape)


def _r_hat(draws: Matrix) -> float:
    length = draws.shape[1]
    within = float(draws.var(axis=1, ddof=1).mean())
    between = float(draws.mean(axis=1).var(ddof=1))
    if not between:
        return 1.0
    return math.sqrt((length - 1) / length + between / within) if within else math.inf


def _effective_size(draws: Matrix) -> float:
    """Return the number of draws over their autocorrelation time (Geyer's monotone sequence)."""
    chains, length = draws.shape
    if draws.min() == draws.max():
        return float(draws.size)
    draws = _unit(draws)
    covariance = _autocovariance(draws).mean(axis=0)
    # What is common to a chain but not to all is correlation at every lag.
    total = covariance[0] + (float(draws.mean(axis=1).var(ddof=1)) if chains > 1 else 0.0)
    within = covariance[0] * length / (length - 1)
    correlation = 1 - (within - covariance) / total
    correlation[0] = 1.0

    pairs = correlation[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    end = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    time = -1 + 2 * float(np.minimum.accumulate(pairs[:end]).sum())
    if end < len(pairs):
        time += max(float(correlation[2 * end]), 0.0)
    # Draws that repel each other count for more than one each, within reason.
    return draws.size / max(time, 1 / math.log10(draws.size))


def _autocovariance(draws: Matrix) -> Matrix:
    """Return the autocovariance of each chain at every lag, by the fast Fourier transform."""
    length = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        spectrum = np.abs(rfft(centred, next_fast_len(2 * length), axis=1)) ** 2
        lags: Matrix = irfft(spectrum, next_fast_len(2 * length), axis=1)[:, :length] / length
    return lags
