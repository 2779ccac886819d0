"""The paper's claims about uncertainty beside what was measured, by stated rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_lab.report.figures import spoken
from bandstand_lab.report.study import Finding, Verdict
from bandstand_lab.statistics.paired import holm, paired_difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from bandstand.types import Matrix
    from bandstand_lab.statistics.paired import PairedDifference

# The paper calls the first 100 recommendations the cold start; small n is its first half.
SMALL: Final = 50
# Comparable: closer to each other than this share.
COMPARABLE: Final = 0.1
_LEVEL: Final = 0.05
_PLACE: Final = "Section 5.3.1, Figure 11"


def falling_finding(curves: Mapping[str, Matrix], moments: Sequence[int]) -> Finding:
    """Return the verdict on: uncertainty falls as ratings come in."""
    first, last = middle(moments), len(moments) - 1
    tests = {name: log_difference(each[:, last], each[:, first]) for name, each in curves.items()}
    signs = clear_signs(list(tests.values()))
    falls, rises = signs.count(-1), signs.count(1)
    told = ", ".join(f"{spoken(name)} {_percent(test)}" for name, test in tests.items())
    return Finding(
        paper="With more ratings the uncertainty falls.",
        place=_PLACE,
        measured=f"From n = {moments[first]} to n = {moments[last]} it changes by: {told}.",
        verdict=falling_verdict(falls, rises, len(tests)),
        why=(
            "Rule: falling under every algorithm is ‘holds’, under some ‘holds partly’, under none "
            "and rising under any ‘does not hold’, else it cannot be told; paired over listeners, "
            f"two-sided p < {_LEVEL} after Holm over the algorithms. It falls under {falls} of "
            f"{len(tests)} and rises under {rises}."
        ),
    )


def faster_finding(
    curves: Mapping[str, Matrix], moments: Sequence[int], *, ours: str, theirs: str
) -> Finding:
    """Return the verdict on: it falls faster under Bayes-UCB than under greedy at small n."""
    small = [place for place, moment in enumerate(moments) if moment <= SMALL]
    tests = [log_difference(curves[ours][:, place], curves[theirs][:, place]) for place in small]
    signs = clear_signs(tests)
    lower, higher = (
        [moments[place] for place, found in zip(small, signs, strict=True) if found == sign]
        for sign in (-1, 1)
    )
    told = ", ".join(
        f"{_percent(test)} at n = {moments[place]}"
        for place, test in zip(small, tests, strict=True)
    )
    return Finding(
        paper=(
            f"While n is small, uncertainty falls faster under {spoken(ours)} than under "
            f"{spoken(theirs)}, because Bayes-UCB explores."
        ),
        place=_PLACE,
        measured=(
            f"{spoken(ours)} against {spoken(theirs)}: {told} "
            f"({tests[0].degrees_of_freedom + 1} listeners)."
        ),
        verdict=faster_verdict(len(lower), len(higher), len(small)),
        why=(
            f"Rule: over n up to {SMALL}, lower at every n looked at is ‘holds’, at some and "
            "higher at none ‘holds partly’, higher at any ‘does not hold’, else it cannot be told; "
            f"paired over listeners, two-sided p < {_LEVEL} after Holm over the n. Lower at "
            f"{_listed(lower)}, higher at {_listed(higher)}."
        ),
    )


def later_finding(
    curves: Mapping[str, Matrix], moments: Sequence[int], *, ours: str, theirs: str
) -> Finding:
    """Return the verdict on: later both are comparable."""
    test = log_difference(curves[ours][:, -1], curves[theirs][:, -1])
    low, high = (float(np.expm1(end)) for end in test.interval())
    return Finding(
        paper=f"Later {spoken(ours)} and {spoken(theirs)} remain comparable, for "
        "both have enough ratings.",
        place=_PLACE,
        measured=(
            f"At n = {moments[-1]} {spoken(ours)} is {_percent(test)} against "
            f"{spoken(theirs)} (95 % interval {_share(low)} to {_share(high)})."
        ),
        verdict=later_verdict(low, high),
        why=(
            f"Rule: comparable is within {100 * COMPARABLE:.0f} %. The whole interval within is "
            "‘holds’, all of it outside ‘does not hold’, else it cannot be told."
        ),
    )


def faster_verdict(lower: int, higher: int, of: int) -> Verdict:
    """Return what follows from the numbers of moments with clearly lower and higher values."""
    if higher:
        return Verdict.FAILS
    if lower == of:
        return Verdict.HOLDS
    return Verdict.PARTLY if lower else Verdict.OPEN


def falling_verdict(falls: int, rises: int, of: int) -> Verdict:
    """Return what follows from the numbers of algorithms under which it clearly falls and rises."""
    if falls:
        return Verdict.HOLDS if falls == of else Verdict.PARTLY
    return Verdict.FAILS if rises else Verdict.OPEN


def later_verdict(low: float, high: float) -> Verdict:
    """Return what follows from the interval of the relative difference."""
    if low >= -COMPARABLE and high <= COMPARABLE:
        return Verdict.HOLDS
    return Verdict.FAILS if low > COMPARABLE or high < -COMPARABLE else Verdict.OPEN


def clear_signs(tests: Sequence[PairedDifference]) -> list[int]:
    """Return −1 or 1 for each clear difference and 0 for others, in one two-sided Holm family.

    Both directions are looked for, so that both share the 5 % of errors that are allowed.
    """
    corrected = holm([test.p_value for test in tests])
    return [
        int(np.sign(test.mean)) if chance < _LEVEL else 0
        for test, chance in zip(tests, corrected, strict=True)
    ]


def log_difference(first: ArrayLike, second: ArrayLike) -> PairedDifference:
    """Return the paired difference of logarithms: ratios are what listeners have in common."""
    ones, others = np.log(np.asarray(first)), np.log(np.asarray(second))
    both = min(len(ones), len(others))  # listeners that both have met
    return paired_difference(ones[:both], others[:both])


def middle(moments: Sequence[int]) -> int:
    """Return the place of the first moment from 10 on: before, the noise is hardly known."""
    return next((place for place, moment in enumerate(moments) if moment >= 10), 0)


def _percent(test: PairedDifference) -> str:
    return _share(float(np.expm1(test.mean)))


def _share(change: float) -> str:
    """Return a relative change in per cent; what rounds to nothing has no sign."""
    rounded = f"{100 * change:+.0f}"
    return "0 %" if rounded in {"+0", "-0"} else f"{rounded} %".replace("-", "−")


def _listed(moments: Sequence[int]) -> str:
    return "n = " + ", ".join(str(moment) for moment in moments) if moments else "none"
