"""Orders of radios that the paper claims: tests in several places at once, regrets as a table.

A place is a world and a number of songs. In each the two sides met the same listeners, so their
difference is taken listener by listener (Student's t). The p-values of one claim are corrected
for the number of places (Holm). A place is a yes where the claimed order is significant, a no
where the opposite is; the verdict follows by `verdict_on`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bandstand.types import Matrix, Vector
from bandstand_lab.report.study import Cell, Verdict, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.statistics.paired import PairedDifference, tested_together
from bandstand_lab.statistics.summaries import mean_estimate

SIGNIFICANT: Final = 0.05
TEXTS: Final = Texts(Path(__file__).with_name("templates") / "ordering_tests.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The test of a claimed order in one place."""

    place: str
    lower_mean: float  # of the side that should be lower
    upper_mean: float
    difference: PairedDifference  # lower − upper: negative where the claim is right
    corrected: float  # the two-sided p-value, after Holm

    @property
    def ratio(self) -> float:
        """The mean of the side that should be lower, as a share of the other."""
        return self.lower_mean / self.upper_mean

    @property
    def answer(self) -> bool | None:
        """Whether the claimed order is seen: False for the opposite, None if neither is clear."""
        is_clear = self.corrected < SIGNIFICANT and self.difference.mean != 0
        return self.difference.mean < 0 if is_clear else None


def orders(pairs: Iterable[tuple[str, Vector, Vector]]) -> tuple[Order, ...]:
    """Test each (place, lower side, upper side), corrected for the number of places."""
    given = tuple(pairs)
    tests = tested_together((lower, upper) for _, lower, upper in given)
    return tuple(
        Order(
            place=place,
            lower_mean=float(lower.mean()),
            upper_mean=float(upper.mean()),
            difference=difference,
            corrected=p_value,
        )
        for (place, lower, upper), (difference, p_value) in zip(given, tests, strict=True)
    )


def verdict(found: Iterable[Order]) -> Verdict:
    """Return whether the claimed order holds in all places."""
    return verdict_on(order.answer for order in found)


def in_words(found: Sequence[Order]) -> str:
    """Return the size of the difference, and the number of places where it is significant.

    >>> import numpy as np
    >>> in_words(orders([("here", np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.1, 4.0]))]))
    '66 % to 66 % of its regret (most: here); significantly less in 1 of 1 tests, more in 0'
    """
    answers = [order.answer for order in found]
    return TEXTS(
        "measured",
        low=min(order.ratio for order in found),
        high=max(order.ratio for order in found),
        less=answers.count(True),
        more=answers.count(False),
        count=len(found),
        most=max(found, key=lambda order: order.ratio).place,
    )


def regret_cells(regrets: Matrix, looks: Sequence[int]) -> tuple[Cell, ...]:
    """Return mean and standard error after each of `looks` songs, over the listeners."""
    estimates = [mean_estimate(regrets[:, look - 1]) for look in looks]
    return tuple(number for each in estimates for number in (each.mean, each.standard_error))
