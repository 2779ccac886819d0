"""Paired tests of the average ratings of two algorithms, corrected for every look.

    average(n) = 1/n Σ_{i≤n} rating_i          of one person in one arm: the paper's measure

A person who has not finished an arm counts up to the n that was reached, and not beyond.

At each n the averages of two algorithms are compared person by person (`statistics.paired`), over
the people who have both arms up to n. An n is tested if these are at least half of the people who
have begun both, and at least two: an unfinished study is not judged by its two fastest people.
Tests begin after a tenth of an arm (n = 20 of 200) unless another first n is set: averages of a few
ratings are noise, and each test that is not made leaves more power to the others.

value           corrected for
`p_values`      nothing: Student's t at this n alone
`p_last_holm`   all tested pairs, by Holm's method: the test at the last n, which asks one question
                of each pair, which is better in the end
`p_over_steps`  all tested n of this pair: sign-flip max-T (`statistics.max_t`)
`p_corrected`   also all tested pairs: `p_over_steps` times their number
`p_any_holm`    the smallest of `p_over_steps`, that the pair does not differ at any n, corrected
                for all tested pairs by Holm's method

Holm's method needs one question of each pair: whether they differ at the last n, or at any. It
is not for each n: a pair that passes because it differs at a late n would make the early n of
other pairs pass too easily. So each n of each pair has the plain factor.

A difference is called clear if `p_last_holm` is at most the level, with at least six people: a few
people who happen to agree make a t-test sure of anything, and no exact test of five people can come
below 0.05.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np

from bandstand.study.design import Design
from bandstand.study.records import StudyData
from bandstand.types import Indices, Matrix, Vector, frozen
from bandstand_lab.statistics.max_t import max_t
from bandstand_lab.statistics.paired import MIN_PEOPLE, holm, paired_columns
from bandstand_lab.statistics.summaries import student_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The sum of each person's stars in one arm up to n: a row for each who began it.

    Sums of stars are whole numbers, so equal sums are equal exactly.
    """

    algorithm: str
    people: tuple[int, ...]
    reached: Indices  # ratings of each person
    stars: Matrix  # people × n; beyond what was reached the sum stays as it is

    @property
    def longest(self) -> int:
        """The largest n that a person has reached."""
        return self.stars.shape[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A mean over people after some numbers of ratings, and how far it can be trusted."""

    algorithm: str
    steps: Indices  # the numbers of ratings, n
    counts: Indices  # people who have reached n
    mean: Vector
    standard_error: Vector  # NaN where only one person has reached n

    def shown(self, n: int) -> str | None:
        """Return mean ± standard error (people) after n ratings; None if they are none."""
        for place in np.flatnonzero(self.steps == n).tolist():
            error = self.standard_error[place]
            spread = f" ± {error:.2g}" if np.isfinite(error) else ""
            return f"{self.mean[place]:.2f}{spread} ({self.counts[place]})"
        return None


def totals(data: StudyData) -> dict[str, Totals]:
    """Return the totals of each algorithm of the design, also of those without ratings."""
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
    """Return the mean average rating from n = 1 on."""
    steps = np.arange(1, arm.longest + 1)
    is_present = arm.reached[:, np.newaxis] >= steps
    return mean_curve(arm.algorithm, steps, np.where(is_present, arm.stars / steps, np.nan))


def mean_curve(algorithm: str, steps: Indices, values: Matrix) -> Curve:
    """Return the mean of the values of people (rows) at each of `steps`; NaN is no value."""
    is_present = ~np.isnan(values)
    counts = is_present.sum(axis=0)
    mean = np.where(is_present, values, 0.0).sum(axis=0) / counts
    squares = np.square(np.where(is_present, values, mean) - mean).sum(axis=0)
    error, several = np.full(len(steps), np.nan), counts > 1
    error[several] = np.sqrt(squares[several] / (counts[several] - 1) / counts[several])
    counts.flags.writeable = False
    return Curve(
        algorithm=algorithm,
        steps=steps,
        counts=counts,
        mean=frozen(mean),
        standard_error=frozen(error),
    )


LEVEL: Final = 0.05
MIN_PEOPLE_CLEAR: Final = 6  # for a difference to be called clear


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
    def last(self) -> int:
        """The last tested n."""
        return int(self.steps[-1])

    def interval(self, level: float = 1 - LEVEL, *, corrected: bool = False) -> tuple[float, float]:
        """Return Student's interval of the mean difference at the last n.

        `corrected`: wide enough for the intervals of all tested pairs to hold together.
        """
        each = 1 - (1 - level) / self.pairs if corrected else level
        margin = student_quantile(each, int(self.counts[-1]) - 1) * float(self.standard_error[-1])
        return float(self.mean[-1]) - margin, float(self.mean[-1]) + margin

    def significant_from(self) -> int | None:
        """Return the first n from which all corrected values are at most 0.05, to the last."""
        return lasting_from(self.steps, self.p_corrected, LEVEL)

    def clear_sign(self) -> int:
        """Return 1 or −1 if the first is clearly rated higher or lower in the end, else 0."""
        if self.p_last_holm > LEVEL or self.counts[-1] < MIN_PEOPLE_CLEAR:
            return 0
        return 1 if self.mean[-1] > 0 else -1

    def sign_at_some_step(self) -> int:
        """Return the same for any n, in the direction of the most extreme one.

        By sign-flips over all n and Holm over the pairs, which fewer than six people never pass.
        """
        if self.p_any_holm > LEVEL:
            return 0
        return 1 if self.mean[self.p_over_steps.argmin()] > 0 else -1

    def nominal_from(self) -> int | None:
        """Return the same for values that are not corrected, as in the paper."""
        return lasting_from(self.steps, self.p_values, LEVEL)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The curves of all algorithms and the comparisons of their pairs."""

    curves: tuple[Curve, ...]  # of each algorithm of the design, in its order
    comparisons: tuple[Comparison, ...]
    untested: tuple[Untested, ...]
    first_step: int  # the first n of all families of tests

    def between(self, first: str, second: str) -> Comparison | None:
        """Return the comparison of two algorithms in this direction; None if it was not tested."""
        for comparison in self.comparisons:
            if (comparison.first, comparison.second) == (first, second):
                return comparison
        return None


def analyse(
    data: StudyData,
    *,
    rng: np.random.Generator,
    pairs: Sequence[tuple[str, str]] | None = None,
    first_step: int | None = None,
) -> Analysis:
    """Return curves and comparisons; all pairs are compared unless others were planned.

    `rng` draws flips where more than 15 people took part; otherwise all flips are counted.
    """
    if first_step is None:
        first_step = usual_first_step(data.design)
    arms = totals(data)
    chosen = all_pairs(data.design.algorithms) if pairs is None else pairs
    found = [_tests(arms[first], arms[second], first_step, rng) for first, second in chosen]
    tested = [each for each in found if isinstance(each, Comparison)]
    return Analysis(
        curves=tuple(curve(arm) for arm in arms.values()),
        comparisons=_corrected(tested),
        untested=tuple(each for each in found if isinstance(each, Untested)),
        first_step=first_step,
    )


def usual_first_step(design: Design) -> int:
    """Return the first n that is tested unless another one is set: a tenth of an arm."""
    return max(1, design.ratings_per_arm // 10)


def all_pairs(algorithms: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return every pair, the later one of the list first: later ones are the newer ideas.

    >>> all_pairs(["random", "linucb-c", "greedy-cn"])
    (('linucb-c', 'random'), ('greedy-cn', 'random'), ('greedy-cn', 'linucb-c'))
    """
    return tuple((second, first) for first, second in combinations(algorithms, 2))


def _tests(
    first: Totals, second: Totals, first_step: int, rng: np.random.Generator
) -> Comparison | Untested:
    """Return the tests of one pair, before they are corrected for the other pairs."""
    both = sorted(set(first.people) & set(second.people))
    ones, others = ([arm.people.index(person) for person in both] for arm in (first, second))
    reached = np.minimum(first.reached[ones], second.reached[others])[:, np.newaxis]
    longest = np.arange(1, min(first.longest, second.longest) + 1)
    counts = (reached >= longest).sum(axis=0)
    # Counts never rise with n.
    last = int((counts >= max(MIN_PEOPLE, math.ceil(len(both) / 2))).sum())
    names: dict[str, Any] = {"first": first.algorithm, "second": second.algorithm}
    if last < first_step:
        begun = f"{len(both)} have begun both" if len(both) != 1 else "one has begun both"
        reason = f"a test needs two people with both up to n = {first_step}; {begun}"
        return Untested(**names, people=len(both), reason=reason)
    steps = np.arange(first_step, last + 1)
    # Differences of sums of stars: n times those of the averages.
    sums = first.stars[ones][:, steps - 1] - second.stars[others][:, steps - 1]
    columns = paired_columns(sums, reached >= steps)
    family = max_t(sums, present=reached >= steps, rng=rng)
    return Comparison(
        **names,
        people=len(both),
        steps=steps,
        counts=columns.counts,
        mean=frozen(columns.mean / steps),
        standard_error=frozen(columns.standard_error / steps),
        t=columns.t,
        p_values=columns.p_values,
        p_over_steps=family.corrected,
        p_corrected=family.corrected,
        p_last_holm=float(columns.p_values[-1]),
        p_any_holm=family.smallest,
        pairs=1,
        flips=family.flips,
        is_exact=family.is_exact,
    )


def _corrected(tests: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return the comparisons, corrected for how many there are."""
    last = holm([each.p_last_holm for each in tests])
    anywhere = holm([each.p_any_holm for each in tests])
    return tuple(
        replace(
            each,
            p_corrected=frozen(np.minimum(1.0, len(tests) * each.p_over_steps)),
            p_last_holm=p_last_holm,
            p_any_holm=p_any_holm,
            pairs=len(tests),
        )
        for each, p_last_holm, p_any_holm in zip(tests, last, anywhere, strict=True)
    )
