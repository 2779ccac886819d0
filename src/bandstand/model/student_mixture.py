"""Mixtures of Student t distributions that share their degrees of freedom (13).

code         maths   shape   meaning, one row per song and one column per component
`locations`  u x'm   (S, G)  where each component is centred
`scales`             (S, G)  how wide it is; 0 is a point mass
`weights`            (S, G)  or (G,), they sum to one
`freedom`    ν = 2A          degrees of freedom, the same for all

A mixture of densities, not a sum of variables. The quantile is a root in one
dimension: no Monte Carlo, no seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import gammaln, stdtr, stdtrit

from bandstand.errors import ConvergenceError

if TYPE_CHECKING:
    from bandstand.arrays import AnyArray, Matrix, Vector

# Far from its centre a density may be smaller than any number: then it is zero.
_tiny_is_zero: Final = np.errstate(under="ignore")
# A component's quantile this many scales away is no number worth naming.
_WIDEST: Final = 1e100
_ENORMOUS: Final = 1e300
_TOLERANCE: Final = 1e-12
_MOST_STEPS: Final = 200


@_tiny_is_zero
def mean(locations: Matrix, weights: AnyArray, freedom: float) -> Vector | None:
    """Return the mean of each mixture, which exists for more than one degree of freedom."""
    return None if freedom <= 1 else np.asarray((weights * locations).sum(axis=-1))


@_tiny_is_zero
def variance(locations: Matrix, scales: Matrix, weights: AnyArray, freedom: float) -> Vector | None:
    """Return the variance of each mixture, which exists for more than two degrees of freedom."""
    if freedom <= 2:
        return None
    centre = (weights * locations).sum(axis=-1, keepdims=True)
    # Squares of distances to the centre: E[U²] − E[U]² would lose digits.
    within = freedom / (freedom - 2) * scales**2
    return np.asarray((weights * (within + (locations - centre) ** 2)).sum(axis=-1))


@_tiny_is_zero
def quantile(
    level: float, locations: Matrix, scales: Matrix, weights: AnyArray, freedom: float
) -> Vector | None:
    """Return the value that each mixture stays below with probability `level`.

    It is absent where the distribution is so wide that its quantiles cannot be written down,
    as before the first rating under the paper's prior.

    >>> from scipy.special import stdtrit
    >>> one = quantile(0.95, np.array([[2.0]]), np.array([[3.0]]), np.ones(1), 7.0)
    >>> bool(np.isclose(one[0], 2 + 3 * stdtrit(7.0, 0.95), rtol=1e-12))
    True
    """
    if level < 0.5:
        # The tail is followed on the side where it is small, so that no digits are lost.
        mirrored = quantile(1 - level, -locations, scales, weights, freedom)
        return None if mirrored is None else -mirrored
    reach = float(stdtrit(freedom, level))
    if not reach < _WIDEST:
        return None
    if not locations.size:
        return np.zeros(len(locations))
    return _upper_root(1 - level, reach, locations, scales, weights, freedom)


def _upper_root(
    tail: float, reach: float, locations: Matrix, scales: Matrix, weights: AnyArray, freedom: float
) -> Vector:
    """Return where the survival function falls to `tail`: safeguarded Newton on its logarithm."""
    # A mixture's quantile lies between the smallest and largest of its components'.
    ends = locations + reach * scales
    # A little room, since `reach` is itself rounded.
    room = 1e-8 * reach * scales.max(axis=-1)
    low, high = ends.min(axis=-1) - room, ends.max(axis=-1) + room
    weights = np.broadcast_to(weights, locations.shape)
    value: Vector = np.clip((weights * ends).sum(axis=-1), low, high)
    floor = np.spacing(np.maximum(np.abs(low), np.abs(high)))
    active = np.flatnonzero(high - low > floor)
    for _ in range(_MOST_STEPS):
        if not active.size:
            return value
        here = value[active]
        above, slope = _survival_and_density(
            here, locations[active], scales[active], weights[active], freedom
        )
        too_low = above > tail
        low[active[too_low]] = here[too_low]
        high[active[~too_low]] = here[~too_low]
        step = _newton_step(above, slope, tail)
        there = here + step
        settled = np.abs(step) <= _TOLERANCE * np.maximum(np.abs(here), floor[active])
        inside = (there > low[active]) & (there < high[active])
        middle = 0.5 * (low[active] + high[active])
        value[active] = np.where(settled, here, np.where(inside, there, middle))
        active = active[~settled & (high[active] - low[active] > 2 * floor[active])]
    msg = f"a mixture quantile must settle within {_MOST_STEPS} steps, {active.size} did not"
    raise ConvergenceError(msg)


def _newton_step(above: Vector, slope: Vector, tail: float) -> Vector:
    """Return the step towards log survival = log tail; infinite where the slope says nothing."""
    known = (above > 0) & (slope > 0)
    ratio = np.divide(above, tail, out=np.ones_like(above), where=known)
    with np.errstate(over="ignore"):
        return np.divide(np.log(ratio) * above, slope, out=np.full_like(above, np.inf), where=known)


def _survival_and_density(
    values: Vector, locations: Matrix, scales: Matrix, weights: Matrix, freedom: float
) -> tuple[Vector, Vector]:
    """Return P(U > value) and the density at the value."""
    with np.errstate(under="ignore", over="ignore"):
        z = _standardised(values, locations, scales)
        above = (weights * stdtr(freedom, -z)).sum(axis=-1)
        bell = np.exp(-0.5 * (freedom + 1) * np.log1p(z * z / freedom))
        density = np.divide(weights * bell, scales, out=np.zeros_like(z), where=scales > 0)
        return above, density.sum(axis=-1) * _density_constant(freedom)


def _density_constant(freedom: float) -> float:
    """Return Γ((ν+1)/2) / (Γ(ν/2) √(νπ))."""
    log_ratio = gammaln((freedom + 1) / 2) - gammaln(freedom / 2)
    return float(np.exp(log_ratio) / np.sqrt(freedom * np.pi))


def _standardised(values: Vector, locations: Matrix, scales: Matrix) -> Matrix:
    """Return (value − location) / scale; a point mass counts as below or at its place."""
    distance = values[..., np.newaxis] - locations
    limit = np.where(distance >= 0, _ENORMOUS, -_ENORMOUS)
    with np.errstate(over="ignore"):
        z = np.divide(distance, scales, out=limit, where=scales > 0)
    return np.clip(z, -1e150, 1e150)  # a square that is still a number
