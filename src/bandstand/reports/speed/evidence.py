"""From measured times to a verdict: estimates with their intervals, and the rules.

A ratio is told by its geometric mean over the rounds, a growth by the mean of the rounds'
exponents, both with Student's 95 % interval. A claim that something is above (or below) a
limit is answered case by case, a case being a size or a pair of methods:

    yes   the whole interval is on that side of the limit
    no    the whole interval is on the other side
    open  the interval has the limit in it, or there is none because there was one round

The claim holds if every case is a yes, does not hold if none is and some are a no, and cannot
be told if all are open; anything else holds partly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand.reports.reproduce.study import Verdict
from bandstand.reports.speed.asked import number
from bandstand.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bandstand.reports.timing import Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number and its 95 % interval; a single round has none."""

    value: float
    low: float | None
    high: float | None

    def above(self, limit: float) -> bool | None:
        """Return whether it is above `limit`; None where that cannot be told.

        >>> [Estimate(value=3.0, low=2.0, high=4.0).above(limit) for limit in (1, 3, 5)]
        [True, None, False]
        """
        if self.low is None or self.high is None:
            return None
        if self.low > limit:
            return True
        return False if self.high < limit else None

    def below(self, limit: float) -> bool | None:
        """Return whether it is below `limit`; None where that cannot be told."""
        answer = self.above(limit)
        return None if answer is None else not answer

    def shown(self) -> str:
        """Return the number with its interval, as people read it.

        >>> Estimate(value=91.25, low=85.0, high=98.1).shown()
        '91.2 (85.0–98.1)'
        """
        if self.low is None or self.high is None:
            return number(self.value)
        return f"{number(self.value)} ({number(self.low)}–{number(self.high)})"

    def as_json(self) -> dict[str, Any]:
        """Return the number and its interval."""
        return {"value": self.value, "low": self.low, "high": self.high}


def geometric_mean(spread: Spread) -> Estimate:
    """Return the geometric mean of ratios or of times, with its interval.

    >>> from bandstand.reports.timing import Spread
    >>> round(geometric_mean(Spread(runs=(50.0, 100.0, 200.0))).value, 9)
    100.0
    """
    logs = mean_estimate(np.log(spread.runs))
    low, high = logs.interval() or (None, None)
    return Estimate(
        value=math.exp(logs.mean),
        low=None if low is None else math.exp(low),
        high=None if high is None else math.exp(high),
    )


def mean_of_rounds(spread: Spread) -> Estimate:
    """Return the mean over the rounds, with its interval."""
    estimate = mean_estimate(spread.runs)
    low, high = estimate.interval() or (None, None)
    return Estimate(value=estimate.mean, low=low, high=high)


def verdict_on(answers: Iterable[bool | None]) -> Verdict:
    """Return the verdict on a claim from the answers to its cases.

    >>> [str(verdict_on(answers)) for answers in ([True, True], [True, None], [None, False])]
    ['holds', 'holds partly', 'does not hold']
    """
    cases = list(answers)
    known = [answer for answer in cases if answer is not None]
    if not known:
        return Verdict.OPEN
    if all(known):
        return Verdict.HOLDS if len(known) == len(cases) else Verdict.PARTLY
    return Verdict.PARTLY if any(known) else Verdict.FAILS


def span(estimates: Sequence[Estimate], unit: str = "") -> str:
    """Return the smallest and the largest of several estimates, in words.

    >>> low, high = (Estimate(value=x, low=x - 1, high=x + 1) for x in (11.0, 91.0))
    >>> span([high, low], " ×")
    'from 11.0 (10.0–12.0) to 91.0 (90.0–92.0) ×'
    """
    lowest, *_, highest = sorted([*estimates, *estimates], key=lambda each: each.value)
    if lowest == highest:
        return f"{lowest.shown()}{unit}"
    return f"from {lowest.shown()} to {highest.shown()}{unit}"
