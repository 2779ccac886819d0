"""Who is below whom: an order that the paper claims, tested in several places at once.

A place is a world and a number of songs. In each the two sides met the same listeners, so their
difference is taken listener by listener (Student's t). The p-values of one claim are corrected
for how many places there are (Holm), and the verdict follows from a rule, never from a wish:

holds          the claimed order is significant in every place
holds partly   it is significant in some places
does not hold  the opposite order is significant somewhere and the claimed one nowhere
cannot be told anything else: too few listeners for so small a difference
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand_lab.report.study import Verdict
from bandstand_lab.statistics.paired import holm, paired_difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bandstand.types import Vector
    from bandstand_lab.report.study import Json
    from bandstand_lab.statistics.paired import PairedDifference

SIGNIFICANT: Final = 0.05
_FEW: Final = 3  # places that a sentence names
RULE: Final = (
    "An order is tested by paired t-tests over listeners, in every world and after every number "
    "of songs that is looked at; the p-values of one claim are corrected for their number (Holm) "
    "and significant below 0.05. A claim holds where its order is significant everywhere, partly "
    "where it is in some places, and does not hold where only the opposite is; otherwise it "
    "cannot be told. Worlds of one run share their listener, so places are no independent "
    "witnesses: Holm's correction needs no independence, counting places does."
)
JUDGED: Final = "Judged by the rule for orders, which is under “How it was done”."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The regrets of both sides in one place, one number per listener."""

    place: str
    lower: Vector  # of the side that should be lower
    upper: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one place says about the claim."""

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
    def seen(self) -> bool:
        """Whether the means are in the claimed order."""
        return self.difference.mean < 0

    @property
    def confirmed(self) -> bool:
        """Whether the claimed order is more than chance."""
        return self.seen and self.corrected < SIGNIFICANT

    @property
    def contradicted(self) -> bool:
        """Whether the opposite order is more than chance."""
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
    """Return what each place says, with p-values corrected for how many places there are."""
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


def in_words(found: Sequence[Cell], *, lower: str, upper: str) -> str:
    """Return in how many places the order was seen, and how large the difference is.

    >>> import numpy as np
    >>> pair = Pair(place="here", lower=np.array([1.0, 2.0, 3.0]), upper=np.array([2.0, 3.1, 4.0]))
    >>> in_words(cells([pair]), lower="A", upper="B")
    'A has 66 % of the regret of B; significantly less in 1 of 1 place (p = 0.001).'
    """
    confirmed = [cell for cell in found if cell.confirmed]
    parts = [f"{lower} has {_range([cell.ratio for cell in found])} of the regret of {upper}"]
    against = [cell.place for cell in found if cell.contradicted]
    unclear = [cell.place for cell in found if not cell.confirmed and not cell.contradicted]
    if len(unclear) == len(found):
        return f"{parts[0]}; clear nowhere, in none of {_places(len(found))}."
    parts.append(f"significantly less in {len(confirmed)} of {_places(len(found))}")
    if confirmed:
        parts[-1] += f" ({p_words(*(cell.corrected for cell in confirmed))})"
    if against:
        parts.append(f"significantly more in {_named(against)}")
    if unclear:
        parts.append(f"not clear in {_named(unclear)}")
    return "; ".join(parts) + "."


def _places(count: int) -> str:
    return f"{count} place{'' if count == 1 else 's'}"


def _named(places: Sequence[str]) -> str:
    """Return a few places by their names, and of many how many they are."""
    return listed(places) if len(places) <= _FEW else f"{len(places)} of them (see the table)"


def _range(ratios: Sequence[float]) -> str:
    low, high = f"{100 * min(ratios):.0f}", f"{100 * max(ratios):.0f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def listed(words: Sequence[str]) -> str:
    """Return words as a sentence lists them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def p_words(*values: float) -> str:
    """Return a p-value as people read it, or the largest of several.

    >>> p_words(0.03456), p_words(2e-9), p_words(0.01, 0.002)
    ('p = 0.035', 'p < 0.0001', 'all p ≤ 0.01')
    """
    largest, several = max(values), len(values) > 1
    sign = "≤" if several else "="
    words = f"p {sign} {largest:.2g}" if largest >= 1e-4 else "p < 0.0001"
    return f"all {words}" if several else words
