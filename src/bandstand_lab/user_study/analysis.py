"""Which algorithm did people like better, and from which n on: paired tests, corrected.

At each n the averages of two algorithms are compared person by person (`statistics.paired`), over
those who have both arms up to n. An n is tested if these are at least half of the people who have
begun both, and at least two: an unfinished study is not judged by its two fastest people. Tests
begin after a tenth of an arm (n = 20 of 200) unless another first n is set: averages of a few
ratings are noise, and each test that is not made leaves more power to the others.

value           corrected for
`p_values`      nothing: Student's t at this n alone
`p_last_holm`   all tested pairs, by Holm's method: the test at the last n, for whoever asks one
                question of each pair, which is better in the end
`p_over_steps`  all tested n of this pair: sign-flip max-T (`statistics.max_t`)
`p_corrected`   also all tested pairs: `p_over_steps` times their number
`p_any`         the smallest of `p_over_steps`: that the pair does not differ at any n
`p_any_holm`    the same, corrected for all tested pairs by Holm's method

Holm's method needs one question of each pair: whether they differ at the last n, or at any. It
is not for each n: a pair that passes because it differs at a late n would make the early n of
other pairs pass too easily. So each n of each pair has the plain factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.types import frozen
from bandstand_lab.statistics.max_t import max_t
from bandstand_lab.statistics.paired import holm
from bandstand_lab.statistics.paired_columns import FEWEST, paired_columns
from bandstand_lab.user_study.averages import curve, totals
from bandstand_lab.user_study.comparison import LEVEL, Comparison, Untested

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from bandstand.study.design import Design
    from bandstand.study.records import StudyData
    from bandstand.types import Indices, Matrix
    from bandstand_lab.statistics.max_t import MaxT
    from bandstand_lab.statistics.paired_columns import PairedColumns
    from bandstand_lab.user_study.averages import Curve, Totals

__all__ = [
    "LEVEL",
    "Analysis",
    "Comparison",
    "Untested",
    "against",
    "all_pairs",
    "analyse",
    "usual_first_step",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What the ratings of a study say."""

    curves: tuple[Curve, ...]  # of each algorithm of the design, in its order
    comparisons: tuple[Comparison, ...]
    untested: tuple[Untested, ...]
    level: float
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
    level: float = LEVEL,
    first_step: int | None = None,
) -> Analysis:
    """Return curves and comparisons; all pairs are compared unless others were planned.

    `rng` draws flips where more than 15 people took part; otherwise all flips are looked at.
    """
    if first_step is None:
        first_step = usual_first_step(data.design)
    _check(level, first_step)
    arms = totals(data)
    chosen = all_pairs(data.design.algorithms) if pairs is None else _checked_pairs(pairs, arms)
    found = [_tests(arms[first], arms[second], first_step, rng) for first, second in chosen]
    tested = [each for each in found if isinstance(each, _Tests)]
    return Analysis(
        curves=tuple(curve(arm) for arm in arms.values()),
        comparisons=_corrected(tested),
        untested=tuple(each for each in found if isinstance(each, Untested)),
        level=level,
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


def against(baseline: str, algorithms: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return each other algorithm with the one that it is to be compared with.

    >>> against("greedy-cn", ["random", "greedy-cn", "bayes-ucb-cn-v"])
    (('random', 'greedy-cn'), ('bayes-ucb-cn-v', 'greedy-cn'))
    """
    return tuple((name, baseline) for name in algorithms if name != baseline)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tests:
    """The tests of one pair before it is corrected for the other pairs."""

    first: str
    second: str
    people: int
    steps: Indices
    columns: PairedColumns  # of sums of stars: n times the averages
    family: MaxT

    @classmethod
    def of(
        cls, first: Totals, second: Totals, both: _Both, steps: Indices, rng: np.random.Generator
    ) -> Self:
        present = both.reached[:, np.newaxis] >= steps
        sums = both.differences[:, steps - 1]
        return cls(
            first=first.algorithm,
            second=second.algorithm,
            people=len(both.reached),
            steps=steps,
            columns=paired_columns(sums, present),
            family=max_t(sums, present=present, rng=rng),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Both:
    """Those who have begun both arms: up to which n, and how their sums of stars differ."""

    reached: Indices
    differences: Matrix


def _tests(
    first: Totals, second: Totals, first_step: int, rng: np.random.Generator
) -> _Tests | Untested:
    both = _both(first, second)
    people = len(both.reached)
    fewest = max(FEWEST, math.ceil(people / 2))
    counts = (both.reached[:, np.newaxis] >= np.arange(1, both.differences.shape[1] + 1)).sum(0)
    last = int((counts >= fewest).sum())  # counts never rise with n
    if last < first_step:
        begun = f"{people} have begun both" if people != 1 else "one has begun both"
        reason = f"a test needs two people with both up to n = {first_step}; {begun}"
        return Untested(
            first=first.algorithm, second=second.algorithm, people=people, reason=reason
        )
    return _Tests.of(first, second, both, np.arange(first_step, last + 1), rng)


def _both(first: Totals, second: Totals) -> _Both:
    people = sorted(set(first.people) & set(second.people))
    ones, others = ([arm.people.index(person) for person in people] for arm in (first, second))
    length = min(first.longest, second.longest)
    return _Both(
        reached=np.minimum(first.reached[ones], second.reached[others]),
        differences=first.stars[ones, :length] - second.stars[others, :length],
    )


def _corrected(tests: Sequence[_Tests]) -> tuple[Comparison, ...]:
    """Return the comparisons, corrected for how many there are."""
    last = holm([float(each.columns.p_values[-1]) for each in tests])
    anywhere = holm([each.family.smallest for each in tests])
    return tuple(
        Comparison(
            first=each.first,
            second=each.second,
            people=each.people,
            steps=each.steps,
            counts=each.columns.counts,
            mean=frozen(each.columns.mean / each.steps),
            standard_error=frozen(each.columns.standard_error / each.steps),
            t=each.columns.t,
            p_values=each.columns.p_values,
            p_over_steps=each.family.corrected,
            p_corrected=frozen(np.minimum(1.0, len(tests) * each.family.corrected)),
            p_last_holm=p_last_holm,
            p_any_holm=p_any_holm,
            pairs=len(tests),
            flips=each.family.flips,
            is_exact=each.family.is_exact,
        )
        for each, p_last_holm, p_any_holm in zip(tests, last, anywhere, strict=True)
    )


def _checked_pairs(
    pairs: Sequence[tuple[str, str]], arms: Mapping[str, Totals]
) -> Sequence[tuple[str, str]]:
    seen: set[frozenset[str]] = set()
    for first, second in pairs:
        unknown = [name for name in (first, second) if name not in arms]
        if unknown or first == second:
            msg = f"a pair must be two of {', '.join(arms)}, got {first} and {second}"
            raise InvalidInputError(msg)
        if frozenset((first, second)) in seen:
            msg = f"pairs must differ, got {first} and {second} twice"
            raise InvalidInputError(msg)
        seen.add(frozenset((first, second)))
    return pairs


def _check(level: float, first_step: int) -> None:
    if not 0 < level < 1:
        msg = f"a level must be between 0 and 1, both excluded, got {level}"
        raise InvalidInputError(msg)
    if first_step < 1:
        msg = f"the first n must be at least 1, got {first_step}"
        raise InvalidInputError(msg)
