"""Two treatments of the same people: their difference, person by person.

What people have in common cancels, so a paired difference needs far fewer people than two
independent means do. The test is Student's: t = mean / standard error, with one degree of
freedom less than there are people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr

from bandstand.errors import InvalidInputError
from bandstand_lab.statistics.summaries import mean_estimate, student_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """The mean of first − second over people, and what chance would make of no difference."""

    mean: float
    standard_error: float
    degrees_of_freedom: int

    @property
    def t(self) -> float:
        """How many standard errors the mean is away from zero; 0 where nothing differs."""
        if self.standard_error == 0:
            return math.copysign(math.inf, self.mean) if self.mean else 0.0
        return self.mean / self.standard_error

    @property
    def p_value(self) -> float:
        """How often chance alone gives a difference as large, in either direction."""
        return min(1.0, 2 * float(stdtr(self.degrees_of_freedom, -abs(self.t))))

    @property
    def p_below(self) -> float:
        """How often chance alone puts the first this far below the second."""
        return float(stdtr(self.degrees_of_freedom, self.t))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return Student's confidence interval of the difference."""
        margin = student_quantile(level, self.degrees_of_freedom) * self.standard_error
        return self.mean - margin, self.mean + margin


def paired_difference(first: ArrayLike, second: ArrayLike) -> PairedDifference:
    """Return the difference between two values of each of at least two people.

    >>> difference = paired_difference([1.0, 2.0, 4.0], [2.0, 4.0, 7.0])
    >>> difference.mean, round(difference.t, 3), round(difference.p_value, 3)
    (-2.0, -3.464, 0.074)
    """
    ones, others = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if ones.shape != others.shape or ones.ndim != 1 or len(ones) < 2:
        msg = (
            "a paired difference needs two values of each of at least two people, "
            f"got {ones.shape} and {others.shape}"
        )
        raise InvalidInputError(msg)
    estimate = mean_estimate(ones - others)
    return PairedDifference(
        mean=estimate.mean,
        standard_error=estimate.standard_error or 0.0,
        degrees_of_freedom=estimate.count - 1,
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for how many there are, by Holm's method, in the same order.

    Whoever calls a result significant when its corrected value is below 0.05 is wrong
    about any of them in at most one of 20 such families.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    count, corrected, largest = len(p_values), [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(count), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (count - rank) * p_values[place]))
        corrected[place] = largest
    return corrected
