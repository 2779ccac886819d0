"""A bound of a mixture's quantile that is as easy to compute as that of one component.

A mixture has at most Σ_c share_c · S_c(v) above v, where S_c is the tail of the component c. So v
is not below its quantile of level α if the components' tails at v are at most β_c with

    Σ_c share_c β_c ≤ 1 − α        that is    v ≥ max_c (location_c + reach_c · scale_c)

where a component has β_c beyond its reach. Any such reaches give a bound of every song's quantile.
They are chosen so that it is tight for one song: its components' own tails at its own quantile. A
song much like it then has a bound close to its quantile, however far its lightest component lies.

A component that lies above v has more than half of its weight there: it counts as a whole, β = 1,
and has no reach (−∞).
"""

from typing import Final, NamedTuple

import numpy as np

from bandstand.core.model.student_mixture import StudentTail
from bandstand.types import AnyArray, Vector

# How closely the quantile is found, in widest scales, and how far it is looked for.
_TOLERANCE: Final = 3e-3
_MAX_SCALES_AWAY: Final = 1e6
_SEARCH_DISTANCES: Final = np.append(0.0, 4.0 ** np.arange(-1, 11))
_ROUNDS: Final = 12
# Of tails that are looked up.
_ROUNDING: Final = 1e-9


class Budget(NamedTuple):
    """A value that is not below the song's quantile, and the reach of each component: (C,)."""

    value: float
    reaches: Vector


def tail_budget(
    shares: Vector, locations: Vector, scales: Vector, tail: float, freedom: float
) -> Budget | None:
    """Return the budget of one song's mixture; None where that reaches too far.

    >>> one = np.ones(1)
    >>> budget = tail_budget(one, 2 * one, 3 * one, 0.05, 7.0)  # t(7) has 5 % beyond 1.89
    >>> round(budget.value, 2), budget.reaches.round(2).tolist()
    (7.69, [1.9])
    """
    student = StudentTail.of(freedom)
    unit = float(scales.max())
    if not (tail > 0 and 0 < unit < np.inf):
        return None

    def fits(values: Vector) -> AnyArray:
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            away = np.minimum((values[:, np.newaxis] - locations) / scales, _MAX_SCALES_AWAY)
        beyond = np.where(away >= 0, student.above(np.maximum(away, 0.0)), 1.0)
        return np.asarray(beyond @ shares * (1 + _ROUNDING) <= tail)

    # Ever farther places, then ever closer ones: many at a time take hardly longer than one.
    places = float(locations.min()) + unit * _SEARCH_DISTANCES
    fit = fits(places)
    if not fit[-1]:
        return None
    for _ in range(_ROUNDS):
        first = int(np.argmax(fit))
        if not first or places[first] - places[first - 1] <= _TOLERANCE * unit:
            break
        places = np.linspace(places[first - 1], places[first], len(_SEARCH_DISTANCES))
        fit = fits(places)
        fit[-1] = True  # it did among others
    high = float(places[int(np.argmax(fit))])
    with np.errstate(divide="ignore", under="ignore"):
        reaches = np.where(high >= locations, (high - locations) / scales, -np.inf)
    return Budget(high, reaches)
