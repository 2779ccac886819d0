"""How often the analysis finds what is there, and what is not: 200 simulated studies of each.

Fifteen people rate 200 songs of each of two algorithms. The paper's p-values, below 0.039 at
every n from 45 on, are those of a difference of about 0.6 standard deviations of people.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from bandstand.study.design import Design
from bandstand_lab.user_study.analysis import Comparison, analyse
from bandstand_lab.user_study.simulated import simulated_study

# Each of the checks below fails by chance at most this often.
FAILURE_RATE = 1e-3
STUDIES = 200
LEVEL = 0.05
DESIGN = Design(algorithms=("greedy-cn", "bayes-ucb-cn-x"))
# An effect of one star, in standard deviations of the people's differences of averages: it grows
# over 40 songs; arms of a person differ by 0.3 and ratings by 1.
UNIT = float(np.minimum(1, np.arange(1, 201) / 40).mean() / np.sqrt(2 * (0.3**2 + 1 / 200)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """In how many studies the two algorithms were said to differ."""

    corrected: int  # at any n, corrected
    lasting: int  # from some n to the end, corrected
    last: int  # at the last n, which needs no correction
    uncorrected: int  # at any n, not corrected: wrong


@cache
def found(standardised: float, people: int = 15, first_step: int = 20) -> Found:
    """Return what is found in studies with a planted difference of this size.

    Tests begin at n = 20 as usual, or at n = 1, where there are more chances to err.
    """
    comparisons: list[Comparison] = []
    for number in range(STUDIES):
        data = simulated_study(
            DESIGN,
            people=people,
            effects={"bayes-ucb-cn-x": standardised / UNIT},
            rng=np.random.default_rng([number, round(10 * standardised), people]),
        )
        rng = np.random.default_rng(number)
        comparisons += analyse(data, rng=rng, first_step=first_step).comparisons
    return Found(
        corrected=sum(bool(each.p_over_steps.min() <= LEVEL) for each in comparisons),
        lasting=sum(each.significant_from() is not None for each in comparisons),
        last=sum(bool(each.p_values[-1] <= LEVEL) for each in comparisons),
        uncorrected=sum(bool(each.p_values.min() <= LEVEL) for each in comparisons),
    )


def is_at_the_level(alarms: int) -> bool:
    """Tell whether so many false alarms are neither too many nor too few for the level."""
    law = binom(STUDIES, LEVEL)
    return bool(law.ppf(FAILURE_RATE / 2) <= alarms <= law.ppf(1 - FAILURE_RATE / 2))


@pytest.mark.statistical
def test_without_a_difference_false_alarms_come_at_the_level() -> None:
    nothing = found(0.0, people=11, first_step=1)
    assert is_at_the_level(nothing.corrected)
    assert is_at_the_level(nothing.last)
    assert nothing.lasting <= nothing.corrected


@pytest.mark.statistical
def test_looking_for_the_smallest_uncorrected_value_is_noticed() -> None:
    """The twin: the same check refuses values that are not corrected for all the n."""
    assert not is_at_the_level(found(0.0, people=11, first_step=1).uncorrected)


@pytest.mark.long
@pytest.mark.statistical
def test_fifteen_people_give_false_alarms_at_the_level() -> None:
    nothing, from_the_first = found(0.0), found(0.0, first_step=1)
    assert is_at_the_level(nothing.corrected)
    assert is_at_the_level(nothing.last)
    assert is_at_the_level(from_the_first.corrected)
    assert not is_at_the_level(from_the_first.uncorrected)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize(("size", "corrected", "last"), [(0.6, 0.40, 0.58), (1.0, 0.85, 0.95)])
def test_a_difference_of_the_papers_size_is_found_as_often_as_it_can_be(
    size: float, corrected: float, last: float
) -> None:
    """The power of a paired t-test of 15 people is 0.58 and 0.95; corrected for all n, less."""
    some = found(size)
    assert some.corrected >= binom.ppf(FAILURE_RATE, STUDIES, corrected)
    assert some.last >= binom.ppf(FAILURE_RATE, STUDIES, last)
    assert not is_at_the_level(some.lasting)


@pytest.mark.long
@pytest.mark.statistical
def test_among_six_algorithms_a_false_alarm_anywhere_is_no_more_frequent() -> None:
    design = Design(ratings_per_arm=100)
    anywhere, at_some_n, last = 0, 0, 0
    for number in range(STUDIES):
        rng = np.random.default_rng([number, 6])
        data = simulated_study(design, people=11, effects={}, rng=rng)
        comparisons = analyse(data, rng=rng).comparisons
        anywhere += any(each.p_any_holm <= LEVEL for each in comparisons)
        at_some_n += any(bool((each.p_corrected <= LEVEL).any()) for each in comparisons)
        last += any(each.p_last_holm <= LEVEL for each in comparisons)
    assert at_some_n <= anywhere
    most = binom(STUDIES, LEVEL).ppf(1 - FAILURE_RATE / 2)
    assert max(anywhere, last) <= most
