"""Orders of radios that the paper claims: tests in several places at once, regrets as a table.

A place is a world and a number of songs. In each the two sides met the same listeners, so their
difference is taken listener by listener (Student's t). The p-values of one claim are corrected
for the number of places (Holm). A place is a yes where the claimed order is significant, a no
where the opposite is; the verdict follows by `verdict_on`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand._util.power_laws import second_half_slopes
from bandstand_lab.report.figures import draw_curve, in_order, label_ends, look_of, plain
from bandstand_lab.report.study import verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.statistics.paired import holm, paired_difference
from bandstand_lab.statistics.summaries import mean_curve, mean_estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from bandstand.types import Matrix, Vector
    from bandstand_lab.report.study import Cell, Json, Verdict
    from bandstand_lab.statistics.paired import PairedDifference

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

    def as_json(self) -> dict[str, Json]:
        """Return the numbers."""
        return {
            "place": self.place,
            "lower": self.lower_mean,
            "upper": self.upper_mean,
            "difference": self.difference.mean,
            "difference_interval_95": list(self.difference.interval()),
            "p_value": self.difference.p_value,
            "p_value_holm": self.corrected,
        }


def orders(pairs: Iterable[tuple[str, Vector, Vector]]) -> tuple[Order, ...]:
    """Test each (place, lower side, upper side), corrected for the number of places."""
    given = tuple(pairs)
    differences = [paired_difference(lower, upper) for _, lower, upper in given]
    corrected = holm([difference.p_value for difference in differences])
    return tuple(
        Order(
            place=place,
            lower_mean=float(lower.mean()),
            upper_mean=float(upper.mean()),
            difference=difference,
            corrected=p_value,
        )
        for (place, lower, upper), difference, p_value in zip(
            given, differences, corrected, strict=True
        )
    )


def verdict(found: Iterable[Order]) -> Verdict:
    """Return whether the claimed order holds in all places."""
    return verdict_on(order.answer for order in found)


def in_words(found: Sequence[Order]) -> str:
    """Return the size of the difference, and the number of places where it is significant.

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


def p_words(value: float) -> str:
    """Return a p-value as people read it.

    >>> p_words(0.03456), p_words(2e-9)
    ('p = 0.035', 'p < 0.0001')
    """
    return f"p = {value:.2g}" if value >= 1e-4 else "p < 0.0001"


def regret_cells(regrets: Matrix, looks: Sequence[int]) -> tuple[Cell, ...]:
    """Return mean and standard error after each of `looks` songs, over the listeners."""
    estimates = [mean_estimate(regrets[:, look - 1]) for look in looks]
    return tuple(number for each in estimates for number in (each.mean, each.standard_error))


def mean_slope(regrets: Matrix) -> float:
    """Return the slope of the second half on two logarithmic axes, which regrets of 0 have not."""
    return float(second_half_slopes(regrets).mean())


def draw_regret(axes: Axes, curves: Mapping[str, Matrix], title: str) -> None:
    """Draw the mean regret of each algorithm over the songs, with one standard error."""
    ends = {}
    for name in in_order(curves):
        curve = mean_curve(curves[name])
        places = np.arange(1.0, len(curve.mean) + 1)
        draw_curve(axes, places, curve.mean, look_of(name), spread=curve.standard_error)
        ends[name] = float(curve.mean[-1])
    axes.set(title=title, xlabel="songs played, n", ylabel="regret")
    axes.set_xlim(0, next(iter(curves.values())).shape[1])
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(plain)
    axes.grid(axis="y")
    label_ends(axes, ends)
