"""Quantiles of a product of two normals, by the paper's Monte Carlo and by adaptive quadrature.

The first is what the paper does: draw both factors of every song, multiply, and take the
empirical quantile. The second shares nothing with `model.product_normal` but the definition,
so it can tell how accurate that is:

    P(XY ≤ u) = ∫_{x>0} φ(x) Φ((u/x − μ_y)/σ_y) dx + ∫_{x<0} φ(x) Φ((μ_y − u/x)/σ_y) dx
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import ndtr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.types import Matrix, Vector

# Numbers held at a time: 16 MB, whatever the catalogue.
_TABLE: Final = 2_000_000
# Beyond this many standard deviations nothing is left: 1e-22.
_REACH: Final = 9.5


def monte_carlo_quantile(
    level: float, means: Matrix, deviations: Matrix, draws: int, rng: np.random.Generator
) -> Vector:
    """Return the empirical quantile of each product from `draws` draws of its factors: (S,)."""
    songs = means.shape[1]
    found = np.empty(songs)
    length = max(1, _TABLE // draws)
    for start in range(0, songs, length):
        rows = slice(start, start + length)
        product = np.ones((min(length, songs - start), draws))
        for mean, deviation in zip(means[:, rows], deviations[:, rows], strict=True):
            normals = rng.standard_normal(product.shape)
            product *= mean[:, np.newaxis] + deviation[:, np.newaxis] * normals
        found[rows] = np.quantile(product, level, axis=1, overwrite_input=True)
    return found


def quadrature_quantile(
    level: float, mean: Sequence[float], deviation: Sequence[float], near: float
) -> float:
    """Return the quantile of one product by adaptive quadrature, searched for around `near`.

    >>> round(quadrature_quantile(0.975, (3.2, 0.9), (0.4, 0.05), 3.6), 9)
    3.674284614
    """
    # Slow to import, and only this needs it.
    from scipy.optimize import brentq  # noqa: PLC0415

    spread = math.hypot(mean[0] * deviation[1], mean[1] * deviation[0], math.prod(deviation))
    step = 1e-3 * spread
    while _cdf(near - step, mean, deviation) > level:
        step *= 2
    while _cdf(near + step, mean, deviation) < level:
        step *= 2
    return float(
        brentq(
            lambda value: _cdf(value, mean, deviation) - level,
            near - step,
            near + step,
            xtol=1e-13 * spread,
            rtol=1e-14,
        )
    )


def _cdf(value: float, mean: Sequence[float], deviation: Sequence[float]) -> float:
    from scipy.integrate import quad  # noqa: PLC0415

    # Over the factor that is narrower for its mean: then the other one makes no narrow step.
    if abs(mean[0]) * deviation[1] < abs(mean[1]) * deviation[0]:
        mean, deviation = mean[::-1], deviation[::-1]
    (mean_x, mean_y), (deviation_x, deviation_y) = mean, deviation

    def density_below(z: float) -> float:
        x = mean_x + deviation_x * z
        side = (value - x * mean_y) / (abs(x) * deviation_y) if x else math.copysign(40.0, value)
        return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) * float(ndtr(side))

    # The integrand may jump where x changes its sign, and is steepest where U is expected.
    places = [-_REACH, -mean_x / deviation_x, _REACH]
    if abs(mean_y) > deviation_y:
        step, width = value / mean_y, abs(value) * deviation_y / mean_y**2
        places += [(x - mean_x) / deviation_x for x in (step - 8 * width, step, step + 8 * width)]
    edges = sorted({min(max(place, -_REACH), _REACH) for place in places})
    return sum(
        quad(density_below, low, high, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
        for low, high in pairwise(edges)
    )
