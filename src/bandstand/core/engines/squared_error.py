"""What least squares minimises, with its gradient: (25) and its penalised form (26).

Both are functions of one vector (θ/unit, y) with y = log s, and both are scaled to be of
order one: (25) is divided by its value at θ = 0, (26) by f0 + (N + p)/2. Neither moves the
minimum.

code       maths      meaning
`unit`                what a rating is measured in, so that huge ratings are no huge numbers
`rows`     √w x       (N, p)
`answers`  √w r/unit  (N,)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.core.model.history import History
    from bandstand.core.model.priors import ListenerPrior, RecoveryPrior
    from bandstand.types import Matrix, Vector

    Objective: TypeAlias = Callable[[Vector], tuple[float, Vector]]

# A five-point difference is right to about 1e-12 for a prior that is smooth on the scale of
# log s, and asks no more of a prior than its density.
_STEP: Final = 1e-3
_OFFSETS: Final = _STEP * np.array([-2.0, -1.0, 1.0, 2.0])
_SLOPE: Final = np.array([1.0, -8.0, 8.0, -1.0]) / (12 * _STEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class SquaredError:
    """Σ w (r − θ'x u(t; s))² in units of unit², as a function of (θ/unit, y)."""

    rows: Matrix
    answers: Vector
    elapsed: Vector

    @classmethod
    def of(cls, history: History, unit: float, weights: Vector) -> SquaredError:
        """Return the error of `history` under the given weights."""
        root = np.sqrt(weights)
        return cls(
            rows=history.features * root[:, np.newaxis],
            answers=history.ratings * (root / unit),
            elapsed=history.elapsed,
        )

    def at_zero(self) -> float:
        """Return the error of θ = 0."""
        return float(self.answers @ self.answers)

    def __call__(self, place: Vector) -> tuple[float, Vector]:
        """Return the error and its gradient."""
        # Far beyond this ratio novelty is 1 and flat in double precision.
        ratio = np.minimum(self.elapsed * math.exp(-place[-1]), 800.0)
        curve, fall = -np.expm1(-ratio), ratio * np.exp(-ratio)  # u and −du/dy
        content = self.rows @ place[:-1]
        residual = self.answers - content * curve
        gradient = np.empty_like(place)
        gradient[:-1] = -2 * ((residual * curve) @ self.rows)
        gradient[-1] = 2 * (residual * content) @ fall
        return float(residual @ residual), gradient


def plain(history: History, unit: float) -> Objective:
    """Return (25) as a share of the sum of squares of the ratings."""
    # Only ratios of weights matter here, and ratios stay in range.
    error = SquaredError.of(history, unit, history.weights / history.weights.max())
    total = error.at_zero() or 1.0

    def objective(place: Vector) -> tuple[float, Vector]:
        with np.errstate(under="ignore"):
            value, gradient = error(place)
            return value / total, gradient / total

    return objective


def penalised(history: History, unit: float, prior: ListenerPrior) -> Objective:
    """Return (26) divided by f0 + (N + p)/2, up to a constant."""
    error = SquaredError.of(history, unit, history.weights)
    precision, centre = prior.preference.precision, prior.preference.mean / unit
    rate = prior.noise.rate / unit**2
    typical = rate + 0.5 * error.at_zero()
    power = prior.noise.shape + 0.5 * (len(history) + history.columns)

    def objective(place: Vector) -> tuple[float, Vector]:
        with np.errstate(under="ignore"):
            value, gradient = error(place)
            shift = place[:-1] - centre
            pull = precision @ shift
            total = rate + 0.5 * (value + float(shift @ pull))
            gradient[:-1] += 2 * pull
            gradient *= 0.5 / total
            density, slope = _log_density(prior.recovery, place[-1])
            gradient[-1] -= slope / power
            return math.log(total / typical) - density / power, gradient

    return objective


def _log_density(prior: RecoveryPrior, y: float) -> tuple[float, float]:
    """Return log p(s) and its derivative by y = log s; p is the density of s, not of y."""
    around = prior.log_density(np.append(y, y + _OFFSETS))
    return float(around[0]) - y, float(_SLOPE @ around[1:]) - 1.0
