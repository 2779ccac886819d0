"""Honest timing: what is compared runs side by side, and every number comes with its spread.

A machine is never quite idle, so a time alone says little. Here the things to be compared
take turns, each turn gives one ratio, and what is reported is the median of these ratios with
their quartiles. A load that comes and goes falls on both sides of a ratio.

Times are processor time of the whole process. On an idle machine that is the time on the wall
clock; on a busy one it leaves out the waiting while others had the processor.

The linear algebra runs on one thread. NumPy reads the number of threads once, when it is
loaded, so whoever measures does it in a process of its own (`run_pinned`).
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

THREAD_VARIABLES: Final = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# What takes less than this, in seconds, is repeated within its turn, …
_SHORT: Final = 0.1
# … this often.
_REPEATS_OF_SHORT: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Measurements of the same thing, each of them kept.

    >>> spread = Spread(runs=(3.0, 1.0, 2.0))
    >>> spread.median, spread.lower, spread.upper, spread.minimum
    (2.0, 1.5, 2.5, 1.0)
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
        return self._quantile(0.5)

    @property
    def lower(self) -> float:
        """A quarter of the measurements is below it."""
        return self._quantile(0.25)

    @property
    def upper(self) -> float:
        """A quarter of the measurements is above it."""
        return self._quantile(0.75)

    @property
    def minimum(self) -> float:
        """The smallest measurement: of times, the one that was disturbed least."""
        return min(self.runs)

    def as_json(self) -> dict[str, Any]:
        """Return the summary and every run."""
        return {
            "median": self.median,
            "lower_quartile": self.lower,
            "upper_quartile": self.upper,
            "minimum": self.minimum,
            "runs": list(self.runs),
        }

    def _quantile(self, level: float) -> float:
        return float(np.quantile(self.runs, level))


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
    """Return the order of this turn: each turn begins one further on, so nobody is always first.

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


def pinned_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with one thread for linear algebra."""
    return {**environment, **dict.fromkeys(THREAD_VARIABLES, "1")}


def run_pinned(module: str, argument: str, *, folder: Path | None = None) -> int:
    """Run `python -m module argument` with one thread for linear algebra; return its exit code.

    `folder` is where the module is found, if it is not installed.
    """
    environment = pinned_environment(os.environ)
    if folder is not None:
        environment["PYTHONPATH"] = str(folder)
    return subprocess.run(
        [sys.executable, "-m", module, argument], env=environment, check=False
    ).returncode
