"""From measured times to a verdict: estimates with their intervals, and the rule.

A ratio is given by its geometric mean over the rounds, a growth by the mean of the rounds'
exponents, both with Student's 95 % interval. Linear growth is judged by the exponent k of a
fixed cost plus a power, a + b·N^k, with the interval of those k that fit as well as the best
one does: on two logarithmic axes alone, a fixed cost looks like slower growth.

A claim that something is above (or below) a limit is answered case by case, a case being a size
or a pair of methods:

    yes   the whole interval is on that side of the limit
    no    the whole interval is on the other side
    open  the interval has the limit in it, or there is none because there was one round

The claim holds if every case is a yes, does not hold if none is and some are a no, and cannot
be told if all are open; anything else holds partly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand_lab.report.study import Verdict
from bandstand_lab.speed.numbers import number
from bandstand_lab.statistics.summaries import mean_estimate, student_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bandstand.types import Vector
    from bandstand_lab.speed.timing import Spread
    from bandstand_lab.speed.training import TrainingStudy

# The exponents that are tried; 1 is one of them.
_EXPONENTS: Final = np.arange(5, 301) / 100


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

    >>> from bandstand_lab.speed.timing import Spread
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


def power_of(times: Mapping[int, Spread]) -> Estimate | None:
    """Return the k of a + b·N^k, a ≥ 0, from the times of several rounds at each N.

    Least squares of what a time is off, as a share of the mean time at that N. The interval holds
    every k whose squares are not larger than the least ones by an F test at 5 %, so that it
    contains 1 where a straight line with a fixed cost fits as well as k left free. None from
    fewer than three sizes or two rounds.

    >>> from bandstand_lab.speed.timing import Spread
    >>> rounds = {n: Spread(runs=(5.0 + 0.99 * n, 5.0 + 1.01 * n)) for n in (10, 20, 40, 80)}
    >>> found = power_of(rounds)
    >>> found.low < 1 < found.high, found.below(1.5), found.above(0.5)
    (True, True, True)
    """
    if len(times) < 3 or min(len(spread.runs) for spread in times.values()) < 2:
        return None
    places = np.concatenate([np.full(len(each.runs), float(n)) for n, each in times.items()])
    seconds = np.concatenate([each.runs for each in times.values()])
    means = np.concatenate([np.full(len(each.runs), np.mean(each.runs)) for each in times.values()])
    places = places / places.max()  # so that powers stay near 1
    off = np.array([_squares_left(places**k, seconds / means, 1 / means) for k in _EXPONENTS])
    freedom = len(seconds) - 3
    fits = _EXPONENTS[off <= off.min() * (1 + student_quantile(0.95, freedom) ** 2 / freedom)]
    return Estimate(value=float(_EXPONENTS[off.argmin()]), low=float(fits[0]), high=float(fits[-1]))


def _squares_left(power: Vector, shares: Vector, weights: Vector) -> float:
    """Return the least squares of shares − weights · (a + b · power), where a, b ≥ 0."""
    columns = weights[:, None] * np.column_stack([np.ones_like(power), power])
    solved = np.linalg.lstsq(columns, shares, rcond=None)[0]
    if solved.min() >= 0:
        return float(np.sum((shares - columns @ solved) ** 2))
    alone = [
        np.sum((shares - column * (column @ shares) / (column @ column)) ** 2)
        for column in columns.T
    ]
    return float(min(alone))


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


# ── Training times ───────────────────────────────────────────────────────────────────────


def ratios(study: TrainingStudy, above: str, below: str) -> dict[int, Estimate]:
    """Return how many times as long one method takes as another, at each size."""
    return {size: geometric_mean(study.ratio(above, below, size)) for size in study.sizes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a method stands among the others at one size."""

    method: str
    median: float  # seconds
    over_faster: Estimate | None  # times as long as the next faster one; None for the fastest
    over_variational: Estimate


def in_order_of_time(study: TrainingStudy, size: int) -> list[Place]:
    """Return the methods at one size, the fastest first."""
    order = sorted(study.methods, key=lambda method: study.seconds(method, size).median)
    return [
        Place(
            method=method,
            median=study.seconds(method, size).median,
            over_faster=geometric_mean(study.ratio(method, faster, size)) if faster else None,
            over_variational=geometric_mean(study.ratio(method, "variational-2", size)),
        )
        for faster, method in zip([None, *order], order, strict=False)
    ]


def growth(study: TrainingStudy, method: str, fewest: int = 0) -> Estimate | None:
    """Return the exponent of N with its interval; None from fewer than two sizes."""
    rounds = study.growth_by_round(method, fewest)
    return None if rounds is None else mean_of_rounds(rounds)


def power(study: TrainingStudy, method: str, fewest: int = 0) -> Estimate | None:
    """Return the k of a + b·N^k with its interval; None from fewer than three sizes."""
    return power_of({size: study.seconds(method, size) for size in study.sizes if size >= fewest})
