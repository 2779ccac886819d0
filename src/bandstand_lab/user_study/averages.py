"""Average ratings up to the n-th recommendation: the paper's measure, for each person and arm.

    average(n) = 1/n Σ_{i≤n} rating_i

Whoever has not finished an arm counts up to the n that was reached, and not beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand.types import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.study.records import StudyData
    from bandstand.types import Indices, Matrix, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The stars that each person has given in one arm up to n: a row for each who began it.

    Sums of stars are whole numbers, so what is equal is equal exactly.
    """

    algorithm: str
    people: tuple[int, ...]
    reached: Indices  # ratings of each person
    stars: Matrix  # people × n; beyond what was reached the sum stays as it is

    @property
    def longest(self) -> int:
        """The largest n that anybody has reached."""
        return self.stars.shape[1]

    def averages(self) -> Matrix:
        """Return the average rating of each person up to n; NaN beyond what was reached."""
        steps = np.arange(1, self.longest + 1)
        means = self.stars / steps
        means[steps > self.reached[:, np.newaxis]] = np.nan
        return frozen(means)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The mean of the people's averages at n = 1, 2, …, and how far it can be trusted."""

    algorithm: str
    counts: Indices  # people who have reached n
    mean: Vector
    standard_error: Vector  # NaN where only one person has reached n

    @property
    def steps(self) -> Indices:
        """The n of each value."""
        return np.arange(1, len(self.mean) + 1)


def totals(data: StudyData) -> dict[str, Totals]:
    """Return the totals of each algorithm of the design, also of those that nobody began."""
    stars: dict[str, dict[int, list[int]]] = {name: {} for name in data.design.algorithms}
    for (person, algorithm), records in data.by_arm().items():
        stars[algorithm][person] = [record.stars for record in records]
    return {name: _totals(name, given) for name, given in stars.items()}


def _totals(algorithm: str, given: Mapping[int, list[int]]) -> Totals:
    people = tuple(sorted(given))
    reached = np.array([len(given[person]) for person in people], dtype=np.intp)
    table = np.zeros((len(people), int(reached.max(initial=0))))
    for row, person in zip(table, people, strict=True):
        row[: len(given[person])] = given[person]
    reached.flags.writeable = False
    return Totals(
        algorithm=algorithm, people=people, reached=reached, stars=frozen(table.cumsum(axis=1))
    )


def curve(arm: Totals) -> Curve:
    """Return the mean average rating against n, with its standard error over people."""
    steps = np.arange(1, arm.longest + 1)
    present = arm.reached[:, np.newaxis] >= steps
    counts = present.sum(axis=0)
    mean = np.where(present, arm.stars, 0.0).sum(axis=0) / counts
    squares = np.square(np.where(present, arm.stars - mean, 0.0)).sum(axis=0)
    error = np.full(len(steps), np.nan)
    several = counts > 1
    error[several] = np.sqrt((squares / counts)[several] / (counts[several] - 1)) / steps[several]
    counts.flags.writeable = False
    return Curve(
        algorithm=arm.algorithm,
        counts=counts,
        mean=frozen(mean / steps),
        standard_error=frozen(error),
    )
