"""Tests of an ordering that the paper claims, in several places at once.

A place is a world and a number of songs. In each the two sides met the same listeners, so their
difference is taken listener by listener (Student's t). The p-values of one claim are corrected
for the number of places (Holm), and the verdict follows from a rule:

holds          the claimed order is significant in every place
holds partly   it is significant in some places
does not hold  the opposite order is significant somewhere and the claimed one nowhere
cannot be told anything else: too few listeners for a difference of this size
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bandstand_lab.report.study import Verdict
from bandstand_lab.report.texts import Texts
from bandstand_lab.statistics.paired import holm, paired_difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bandstand.types import Vector
    from bandstand_lab.report.study import Json
    from bandstand_lab.statistics.paired import PairedDifference

SIGNIFICANT: Final = 0.05
TEXTS: Final = Texts(Path(__file__).with_name("templates") / "ordering_tests.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The regrets of both sides in one place, one number per listener."""

    place: str
    lower: Vector  # of the side that should be lower
    upper: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The test of the claim in one place."""

    place: str
    lower_mean: float
    upper_mean: float
    difference: PairedDifference  # lower − upper: negative where the claim is right
    corrected: float  # the two-sided p-value, after Holm

    @property
    def ratio(self) -> float:
        """The mean of the side that should be lower, as a share of the other."""
        return self.lower_mean / self.upper_mean

    @property
    def confirmed(self) -> bool:
        """Whether the claimed order is significant."""
        return self.difference.mean < 0 and self.corrected < SIGNIFICANT

    @property
    def contradicted(self) -> bool:
        """Whether the opposite order is significant."""
        return self.difference.mean > 0 and self.corrected < SIGNIFICANT

    def as_json(self) -> dict[str, Json]:
        """Return the numbers."""
        low, high = self.difference.interval()
        return {
            "place": self.place,
            "lower": self.lower_mean,
            "upper": self.upper_mean,
            "difference": self.difference.mean,
            "difference_interval_95": [low, high],
            "p_value": self.difference.p_value,
            "p_value_holm": self.corrected,
        }


def cells(pairs: Iterable[Pair]) -> tuple[Cell, ...]:
    """Test each place, with p-values corrected for the number of places."""
    given = tuple(pairs)
    differences = [paired_difference(pair.lower, pair.upper) for pair in given]
    corrected = holm([difference.p_value for difference in differences])
    return tuple(
        Cell(
            place=pair.place,
            lower_mean=float(pair.lower.mean()),
            upper_mean=float(pair.upper.mean()),
            difference=difference,
            corrected=p_value,
        )
        for pair, difference, p_value in zip(given, differences, corrected, strict=True)
    )


def verdict(found: Sequence[Cell]) -> Verdict:
    """Return whether the claimed order holds, by the rule of this module."""
    if found and all(cell.confirmed for cell in found):
        return Verdict.HOLDS
    if any(cell.confirmed for cell in found):
        return Verdict.PARTLY
    if any(cell.contradicted for cell in found):
        return Verdict.FAILS
    return Verdict.OPEN


def in_words(found: Sequence[Cell]) -> str:
    """Return the size of the difference, and the number of places where it is significant.

    >>> import numpy as np
    >>> pair = Pair(place="here", lower=np.array([1.0, 2.0, 3.0]), upper=np.array([2.0, 3.1, 4.0]))
    >>> in_words(cells([pair]))
    '66 % to 66 % of its regret (most: here); significantly less in 1 of 1 tests, more in 0'
    """
    return TEXTS(
        "measured",
        low=min(cell.ratio for cell in found),
        high=max(cell.ratio for cell in found),
        less=sum(cell.confirmed for cell in found),
        more=sum(cell.contradicted for cell in found),
        count=len(found),
        most=max(found, key=lambda cell: cell.ratio).place,
    )


def p_words(value: float) -> str:
    """Return a p-value as people read it.

    >>> p_words(0.03456), p_words(2e-9)
    ('p = 0.035', 'p < 0.0001')
    """
    return f"p = {value:.2g}" if value >= 1e-4 else "p < 0.0001"
