"""When a difference between two algorithms is called clear, by a rule that is the same everywhere.

The question that is asked of each pair is which is rated higher in the end: at the last n that can
be tested, by Student's paired test, corrected over all pairs by Holm's method. With fewer than six
people nothing is called clear: a few people who happen to agree make a t-test sure of
anything, and no exact test of five people can come below 0.05.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bandstand_lab.user_study.analysis import Comparison

FEWEST_PEOPLE: Final = 6


def favours(comparison: Comparison, level: float) -> int:
    """Return 1 or −1 if the first is clearly rated higher or lower in the end, else 0."""
    if comparison.p_last_holm > level or comparison.counts[-1] < FEWEST_PEOPLE:
        return 0
    return 1 if comparison.mean[-1] > 0 else -1


def favours_somewhere(comparison: Comparison, level: float) -> int:
    """Return the same for any n; the direction is that of the most extreme one.

    By sign-flips over all n and Holm over the pairs, of which fewer than six people have too few.
    """
    if comparison.p_any_holm > level:
        return 0
    return 1 if comparison.mean[comparison.p_over_steps.argmin()] > 0 else -1
