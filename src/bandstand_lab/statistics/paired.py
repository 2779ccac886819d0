"""Two treatments of the same people: their difference, person by person.

What people have in common cancels, so a paired difference needs far fewer people than two
independent means do. The test is Student's: t = mean / standard error, with one degree of
freedom less than there are people.

`paired_columns` tests many columns at once, also where some people are missing. A column is one
test: a difference for each person who is present in it. Where all differences of a column are
the same number nothing is divided by zero: t is 0 if that number is, else infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from scipy.special import stdtr

from bandstand.errors import InvalidInputError
from bandstand.types import frozen
from bandstand_lab.statistics.summaries import mean_estimate, student_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from bandstand.types import Indices, Matrix, Vector

    Mask: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.bool_]]


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

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return Student's confidence interval of the difference."""
        margin = student_quantile(level, self.degrees_of_freedom) * self.standard_error
        return self.mean - margin, self.mean + margin

    def as_json(self) -> dict[str, Any]:
        """Return the numbers, ready to be written."""
        return {
            "mean": self.mean,
            "standard_error": self.standard_error,
            "interval": list(self.interval()),
            "degrees_of_freedom": self.degrees_of_freedom,
            "p_value": self.p_value,
        }


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

    Calling results significant when their corrected value is below 0.05 is wrong about any
    of them in at most one of 20 such families.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    count, corrected, largest = len(p_values), [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(count), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (count - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def tested_together(
    pairs: Iterable[Iterable[ArrayLike]],
) -> list[tuple[PairedDifference, float]]:
    """Return the difference of each pair, and its p-value corrected for all of them.

    >>> [(test.mean, round(p, 3)) for test, p in tested_together([([1, 2, 4], [2, 4, 7])] * 2)]
    [(-2.0, 0.148), (-2.0, 0.148)]
    """
    tests = [paired_difference(first, second) for first, second in pairs]
    return list(zip(tests, holm([test.p_value for test in tests]), strict=True))


def p_shown(p_value: float) -> str:
    """Return a p-value as people write it.

    >>> p_shown(0.0421), p_shown(3e-9)
    ('0.042', '< 0.0001')
    """
    return f"{p_value:.2g}" if p_value >= 1e-4 else "< 0.0001"


def p_words(p_value: float) -> str:
    """Return a p-value as a sentence has it: "p = 0.042"."""
    return f"p {'' if p_value < 1e-4 else '= '}{p_shown(p_value)}"


MIN_PEOPLE: Final = 2  # for a variance
# Squares that differ by less than this share of their sum differ by rounding alone.
_ROUNDING: Final = 1e-26


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedColumns:
    """For each column the mean over its people, its standard error, and Student's test."""

    counts: Indices  # people
    mean: Vector
    standard_error: Vector
    t: Vector  # ± infinity where all differ by the same
    p_values: Vector  # in either direction


def paired_columns(differences: ArrayLike, present: ArrayLike | None = None) -> PairedColumns:
    """Return the tests of all columns; each needs at least two people who are present.

    `differences` has a row for each person; where `present` is false its value is not used.

    >>> tests = paired_columns([[-1.0, 0.5], [-2.0, 0.5], [-3.0, 9.0]], [[1, 1], [1, 1], [1, 0]])
    >>> tests.counts.tolist(), tests.mean.tolist(), tests.t.round(3).tolist()
    ([3, 2], [-2.0, 0.5], [-3.464, inf])
    >>> tests.p_values.round(3).tolist()
    [0.074, 0.0]
    """
    values, mask = checked_columns(differences, present)
    counts = mask.sum(axis=0)
    mean = values.sum(axis=0) / counts
    squares = np.square(np.where(mask, values - mean, 0.0)).sum(axis=0)
    squares[squares <= _ROUNDING * np.square(values).sum(axis=0)] = 0.0
    error = np.sqrt(squares / (counts - 1) / counts)
    t = _ratio(mean, error)
    return PairedColumns(
        counts=_read_only(counts),
        mean=frozen(mean),
        standard_error=frozen(error),
        t=frozen(t),
        p_values=frozen(np.minimum(1.0, 2 * stdtr(counts - 1, -np.abs(t)))),
    )


def checked_columns(differences: ArrayLike, present: ArrayLike | None) -> tuple[Matrix, Mask]:
    """Return the differences, zero for absent people, and the mask of those present."""
    values = np.array(differences, dtype=np.float64)
    if values.ndim != 2:
        msg = f"differences must be a row for each person, got an array of shape {values.shape}"
        raise InvalidInputError(msg)
    mask = np.ones(values.shape, bool) if present is None else np.asarray(present, dtype=bool)
    if mask.shape != values.shape:
        msg = f"who is present must have shape {values.shape}, got {mask.shape}"
        raise InvalidInputError(msg)
    fewest = mask.sum(axis=0).min(initial=len(values)) if values.size else 0
    if fewest < MIN_PEOPLE:
        msg = f"a test needs at least {MIN_PEOPLE} people, got {fewest}"
        raise InvalidInputError(msg)
    if not np.isfinite(values[mask]).all():
        msg = "differences must be finite where a person is present, got one that is not"
        raise InvalidInputError(msg)
    values[~mask] = 0.0
    return values, mask


def _ratio(mean: Vector, error: Vector) -> Vector:
    """Return mean / error; 0 for 0/0, and infinite where only the error is 0."""
    flat = error == 0
    ratio = mean / np.where(flat, 1.0, error)
    ratio[flat] = np.where(mean[flat] == 0, 0.0, np.copysign(np.inf, mean[flat]))
    return np.asarray(ratio)


def _read_only(counts: Any) -> Indices:
    array: Indices = np.asarray(counts, dtype=np.intp)
    array.flags.writeable = False
    return array


def log_difference(first: ArrayLike, second: ArrayLike) -> PairedDifference:
    """Return the paired difference of logarithms: the ratio is what people have in common.

    >>> round(float(np.expm1(log_difference([2.0, 4.4], [4.0, 8.0]).mean)), 2)
    -0.48
    """
    ones, others = np.log(np.asarray(first)), np.log(np.asarray(second))
    return paired_difference(ones, others)


def clear_signs(tests: Sequence[PairedDifference], level: float = 0.05) -> list[int]:
    """Return −1 or 1 for each clear difference and 0 for others, in one two-sided Holm family.

    >>> clear_signs([paired_difference([1.0, 1.1, 0.9], [2.0, 2.0, 2.1])])
    [-1]
    """
    corrected = holm([test.p_value for test in tests])
    return [
        int(np.sign(test.mean)) if chance < level else 0
        for test, chance in zip(tests, corrected, strict=True)
    ]
