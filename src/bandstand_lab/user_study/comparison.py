"""Two algorithms, compared at every n: what `analysis` finds, and what can be read from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_lab.statistics.summaries import student_quantile

if TYPE_CHECKING:
    from bandstand.types import Indices, Vector

LEVEL: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two algorithms, first − second, in stars; one value for each tested n."""

    first: str
    second: str
    people: int  # who have begun both
    steps: Indices  # the tested n, without gaps
    counts: Indices  # people who have both up to n
    mean: Vector
    standard_error: Vector
    t: Vector  # ± infinity where all people differ by the same
    p_values: Vector
    p_over_steps: Vector
    p_corrected: Vector
    p_last_holm: float
    p_any_holm: float
    pairs: int  # tested, and corrected for
    flips: int
    is_exact: bool  # whether these are all flips

    @property
    def p_any(self) -> float:
        """How often chance alone makes the most extreme n as extreme as it is."""
        return float(self.p_over_steps.min())

    @property
    def smallest_possible(self) -> float:
        """The least that a corrected value can be with these people and pairs."""
        return min(1.0, self.pairs / self.flips)

    @property
    def last(self) -> int:
        """The last tested n."""
        return int(self.steps[-1])

    @property
    def standardised(self) -> float | None:
        """The mean difference at the last n in standard deviations of people; None without any."""
        deviation = float(self.standard_error[-1]) * math.sqrt(self.counts[-1])
        return float(self.mean[-1]) / deviation if deviation else None

    def interval(self, level: float = 1 - LEVEL, *, corrected: bool = False) -> tuple[float, float]:
        """Return Student's interval of the mean difference at the last n.

        `corrected`: wide enough for the intervals of all tested pairs to hold together.
        """
        each = 1 - (1 - level) / self.pairs if corrected else level
        margin = student_quantile(each, int(self.counts[-1]) - 1) * float(self.standard_error[-1])
        return float(self.mean[-1]) - margin, float(self.mean[-1]) + margin

    def significant_from(self, level: float = LEVEL) -> int | None:
        """Return the first n from which all corrected values are at most `level`, to the last."""
        return lasting_from(self.steps, self.p_corrected, level)

    def nominal_from(self, level: float = LEVEL) -> int | None:
        """Return the same for values that are not corrected, as in the paper."""
        return lasting_from(self.steps, self.p_values, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Untested:
    """Two algorithms that cannot be compared yet."""

    first: str
    second: str
    people: int  # who have begun both
    reason: str


def lasting_from(steps: Indices, p_values: Vector, level: float) -> int | None:
    """Return the first n from which p is at most `level` without a break; None if not at the last.

    >>> lasting_from(np.array([5, 6, 7, 8]), np.array([0.01, 0.2, 0.04, 0.03]), 0.05)
    7
    """
    above = np.flatnonzero(p_values > level)
    place = 0 if not len(above) else int(above[-1]) + 1
    return int(steps[place]) if place < len(steps) else None
