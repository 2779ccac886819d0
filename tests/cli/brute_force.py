"""The paper's model integrated directly, written apart from the package.

Every formula of MODEL.md's section on quadrature is summed over a fine, wide grid of the
recovery time, with nothing clever: dense inverses, and bisection for the quantile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp, stdtr

MONTH = 43_200.0
NODES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    features: np.ndarray
    elapsed: float
    rating: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    mean: float
    sd: float
    quantile: float
    recovery_time_mean: float
    recovery_time_sd: float
    noise_sd: float


def integrate(ratings: list[Rating], features: np.ndarray, elapsed: float, level: float) -> Answer:
    """Return p(U | D) of one item under the paper's priors, from at least two ratings."""
    a0, b0, c0, f0, h0 = 10.0, 3.0, 1e-2, 1e-3, 1e-3
    told = [one for one in ratings if one.weight > 0]
    X = np.array([one.features for one in told])
    t = np.array([one.elapsed for one in told])
    r = np.array([one.rating for one in told])
    w = np.array([one.weight for one in told])
    shape = f0 + len(told) / 2

    s = np.exp(np.linspace(np.log(1e-4), np.log(1e4), NODES))
    log_weight, location, scale, rates = (np.empty(NODES) for _ in range(4))
    for g, recovery_time in enumerate(s):
        Z = X * (1 - np.exp(-t / recovery_time))[:, np.newaxis]
        precision = np.eye(X.shape[1]) / a0 + (Z.T * w) @ Z
        covariance = np.linalg.inv(precision)
        m = covariance @ (Z.T @ (w * r))
        rate = h0 + 0.5 * (np.sum(w * (r - Z @ m) ** 2) + m @ m / a0)
        # Gamma density of s, times s because the grid is even in log s.
        log_prior = b0 * np.log(recovery_time) - c0 * recovery_time
        log_weight[g] = log_prior - 0.5 * np.linalg.slogdet(precision)[1] - shape * np.log(rate)
        novelty = 1 - np.exp(-elapsed / recovery_time)
        location[g] = novelty * (features @ m)
        scale[g] = novelty * np.sqrt(rate / shape * (features @ covariance @ features))
        rates[g] = rate
    weight = np.exp(log_weight - logsumexp(log_weight))

    freedom = 2 * shape
    mean = weight @ location
    variance = weight @ (freedom / (freedom - 2) * scale**2 + (location - mean) ** 2)
    recovery = weight @ s
    return Answer(
        mean=float(mean),
        sd=float(np.sqrt(variance)),
        quantile=_quantile(level, weight, location, scale, freedom),
        recovery_time_mean=float(recovery),
        recovery_time_sd=float(np.sqrt(weight @ (s - recovery) ** 2)),
        noise_sd=float(weight @ np.sqrt(rates) * np.exp(gammaln(shape - 0.5) - gammaln(shape))),
    )


def _quantile(
    level: float, weight: np.ndarray, location: np.ndarray, scale: np.ndarray, freedom: float
) -> float:
    if not scale.any():
        return 0.0  # heard this very moment: the rating is certain to be 0
    low, high = -1e6, 1e6
    for _ in range(200):
        middle = 0.5 * (low + high)
        z = (middle - location) / np.maximum(scale, 1e-300)
        if weight @ stdtr(freedom, z) < level:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
