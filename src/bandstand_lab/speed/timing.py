"""Honest timing: what is compared runs side by side, and every number comes with its spread.

A machine is never quite idle, so a time alone says little. Here the things to be compared
take turns, each turn gives one ratio, and what is reported is the median of these ratios with
their quartiles. A load that comes and goes falls on both sides of a ratio.

Times are processor time of the whole process. On an idle machine that is the time on the wall
clock; on a busy one it leaves out the waiting while others had the processor.

The linear algebra runs on one thread. NumPy reads the number of threads once, when it is
loaded, so measurements run in a process of their own (`run_pinned`).

A ratio is given by its geometric mean over the rounds, a growth by the mean of the rounds'
exponents, both with Student's 95 % interval. Linear growth is judged by the exponent k of a
fixed cost plus a power, a + b·N^k, with the interval of those k that fit as well as the best
one does: on two logarithmic axes alone, a fixed cost looks like slower growth. A claim that
something is above (or below) a limit is answered by the whole interval; it is open where the
interval has the limit in it, or where there is none because there was one round.
"""

import gc
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bandstand._util.words import figure, figures
from bandstand.errors import InvalidInputError
from bandstand.types import Vector
from bandstand_lab.report.machine import one_thread
from bandstand_lab.statistics.summaries import mean_estimate, student_quantile

# What takes less than this, in seconds, is repeated within its turn, …
_SHORT: Final = 0.1
# … this often.
_REPEATS_OF_SHORT: Final = 5
# The exponents that are tried; 1 is one of them.
_EXPONENTS: Final = np.arange(5, 301) / 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Measurements of the same thing, each of them kept.

    >>> spread = Spread(runs=(3.0, 1.0, 2.0))
    >>> spread.median, spread.quartiles
    (2.0, (1.5, 2.5))
    """

    runs: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse to speak about nothing."""
        if not self.runs:
            msg = "a spread must have at least one measurement, got none"
            raise InvalidInputError(msg)

    @property
    def median(self) -> float:
        """Half of the measurements are below it."""
        return float(np.median(self.runs))

    @property
    def quartiles(self) -> tuple[float, float]:
        """A quarter of the measurements is below the first, and a quarter above the second."""
        low, high = np.quantile(self.runs, (0.25, 0.75)).tolist()
        return low, high


def paired_ratio(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Return the ratios of times that were measured in the same turns.

    >>> paired_ratio([1.0, 4.0, 9.0], [1.0, 2.0, 3.0]).median
    2.0
    """
    return Spread(runs=tuple(a / b for a, b in zip(above, below, strict=True)))


class Timed(NamedTuple):
    """What a task returned, and how long it took."""

    seconds: float
    result: Any


def timed(task: Callable[[], Any]) -> Timed:
    """Return the result of `task` and the processor time that it took, of all threads."""
    start = time.process_time()
    result = task()
    return Timed(time.process_time() - start, result)


def timed_again(task: Callable[[], Any]) -> Timed:
    """Return the same for a task that can be repeated: a short one has the median of five runs."""
    first = timed(task)
    if first.seconds >= _SHORT:
        return first
    more = [timed(task).seconds for _ in range(_REPEATS_OF_SHORT - 1)]
    return Timed(float(np.median([first.seconds, *more])), first.result)


def in_turn(names: Sequence[str], turn: int) -> list[str]:
    """Return the order of this turn: each turn begins one further on, so that none is always first.

    >>> in_turn(["a", "b", "c"], 1)
    ['b', 'c', 'a']
    """
    start = turn % len(names)
    return [*names[start:], *names[:start]]


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep the garbage collector out of what is measured, as `timeit` does."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def run_pinned(module: str, argument: str, *, folder: Path | None = None) -> int:
    """Run `python -m module argument` with one thread for linear algebra; return its exit code.

    `folder` is where the module is found, if it is not installed.
    """
    with one_thread():
        environment = dict(os.environ)
    if folder is not None:
        environment["PYTHONPATH"] = str(folder)
    return subprocess.run(
        [sys.executable, "-m", module, argument], env=environment, check=False
    ).returncode


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number and its 95 % interval; a single round has none."""

    value: float
    low: float | None
    high: float | None

    def above(self, limit: float) -> bool | None:
        """Return whether it is above `limit`; None where that is open.

        >>> [Estimate(value=3.0, low=2.0, high=4.0).above(limit) for limit in (1, 3, 5)]
        [True, None, False]
        """
        if self.low is None or self.high is None or self.low <= limit <= self.high:
            return None
        return self.low > limit

    def below(self, limit: float) -> bool | None:
        """Return whether it is below `limit`; None where that is open."""
        answer = self.above(limit)
        return None if answer is None else not answer

    def shown(self) -> str:
        """Return the number with its interval, as people read it.

        >>> Estimate(value=91.25, low=85.0, high=98.1).shown()
        '91.2 (85.0–98.1)'
        """
        if self.low is None or self.high is None:
            return figure(self.value)
        value, low, high = figures(self.value, self.low, self.high)
        return f"{value} ({low}–{high})"


def geometric_mean(spread: Spread) -> Estimate:
    """Return the geometric mean of ratios or of times, with its interval.

    >>> round(geometric_mean(Spread(runs=(50.0, 100.0, 200.0))).value, 9)
    100.0
    """
    logs = _mean(np.log(spread.runs))
    low, high = (None if end is None else math.exp(end) for end in (logs.low, logs.high))
    return Estimate(value=math.exp(logs.value), low=low, high=high)


def growth(times: Mapping[int, Spread]) -> Estimate:
    """Return the k of time ~ size^k: the mean of the rounds' slopes, with its interval.

    >>> growth({10: Spread(runs=(1.0, 2.0)), 100: Spread(runs=(10.0, 20.0))}).shown()
    '1.00 (1.00–1.00)'
    """
    rounds = zip(*(spread.runs for spread in times.values()), strict=True)
    sizes = np.log(list(times))
    return _mean([float(np.polyfit(sizes, np.log(each), 1)[0]) for each in rounds])


def _mean(values: ArrayLike) -> Estimate:
    estimate = mean_estimate(values)
    low, high = estimate.interval() or (None, None)
    return Estimate(value=estimate.mean, low=low, high=high)


def power_of(times: Mapping[int, Spread]) -> Estimate | None:
    """Return the k of a + b·N^k, a ≥ 0, from the times of several rounds at each N.

    Least squares of what a time is off, as a share of the mean time at that N. The interval holds
    every k whose squares are not larger than the least ones by an F test at 5 %, so that it
    contains 1 where a straight line with a fixed cost fits as well as k left free. None from
    fewer than three sizes or two rounds.

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
