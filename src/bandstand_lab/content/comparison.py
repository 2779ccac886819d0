"""The errors of all raters: means, paired differences, and both as text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand_lab.content.validation import LABELS
from bandstand_lab.statistics.paired import PairedDifference, tested_together
from bandstand_lab.statistics.summaries import MeanEstimate, mean_estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.types import Vector
    from bandstand_lab.content.validation import RaterErrors

# The predictors that the content model is compared with.
RIVALS: Final = ("random", "mean", "ridge", "content-paper")


class Compared(NamedTuple):
    """The content model against one rival; below 0 the content model is better."""

    rival: str
    difference: PairedDifference
    corrected_p_value: float  # for how many rivals there are, by Holm
    raters_better: int  # for how many raters the content model had the smaller error


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterComparison:
    """The cross-validated errors of some raters."""

    raters: tuple[RaterErrors, ...]

    def __post_init__(self) -> None:
        """Refuse a comparison without raters."""
        if not self.raters:
            msg = "there must be at least one rater to compare, got none"
            raise InvalidInputError(msg)

    @property
    def predictors(self) -> tuple[str, ...]:
        """The names of the predictors."""
        return tuple(self.raters[0].rmse)

    def errors(self, predictor: str) -> Vector:
        """Return the error of one predictor for each rater."""
        return np.array([rater.rmse[predictor] for rater in self.raters])

    def estimate(self, predictor: str) -> MeanEstimate:
        """Return the mean error of one predictor over raters."""
        return mean_estimate(self.errors(predictor))

    def expected_random(self) -> MeanEstimate:
        """Return what random draws are off by in the mean, by the closed form."""
        return mean_estimate([rater.expected_random_rmse for rater in self.raters])

    def explained(self, predictor: str) -> MeanEstimate | None:
        """Return the share of the variance around the mean that is explained, over raters.

        1 − MSE / MSE of the mean; below 0 the mean would have been better. None if no
        rater's ratings vary.
        """
        squares, around = self.errors(predictor) ** 2, self.errors("mean") ** 2
        varied = around > 0
        return mean_estimate(1 - squares[varied] / around[varied]) if varied.any() else None

    def against_rivals(self, model: str = "content") -> tuple[Compared, ...]:
        """Return the differences to every rival; none with a single rater."""
        if len(self.raters) < 2:
            return ()
        own = self.errors(model)
        rivals = [name for name in RIVALS if name in self.predictors and name != model]
        tests = tested_together((own, self.errors(rival)) for rival in rivals)
        return tuple(
            Compared(rival, *test, int((own < self.errors(rival)).sum()))
            for rival, test in zip(rivals, tests, strict=True)
        )

    def as_json(self) -> dict[str, Any]:
        """Return all results as JSON."""
        explained = {name: self.explained(name) for name in self.predictors}
        return {
            "raters": [asdict(rater) for rater in self.raters],
            "rmse": {name: self.estimate(name).as_json() for name in self.predictors},
            "expected_random_rmse": self.expected_random().as_json(),
            "explained_variance": {
                name: None if share is None else share.as_json()
                for name, share in explained.items()
            },
            "content_minus": {
                each.rival: {
                    **each.difference.as_json(),
                    "corrected_p_value": each.corrected_p_value,
                    "raters_better": each.raters_better,
                }
                for each in self.against_rivals()
            },
        }


_HEADER = ("prediction", "RMSE", "± s.e.", "explained")
_DIFFERENCES = ("content model minus", "mean", "95 % interval", "p (Holm)", "better for")


def described(comparison: RaterComparison, *, parts: int, seed: int) -> str:
    """Return the whole comparison as text for a screen."""
    count = len(comparison.raters)
    ratings = sum(rater.ratings for rater in comparison.raters)
    head = (
        f"{ratings:,} ratings of {count:,} {'rater' if count == 1 else 'raters'}, "
        f"{parts} folds, seed {seed}"
    )
    tables = [_errors(comparison)]
    if differences := comparison.against_rivals():
        tables.append(_columns([_DIFFERENCES, *(_cells(each, count) for each in differences)], 1))
    expected = comparison.expected_random().mean
    note = f"Random draws are expected to be off by √2 standard deviations: {expected:.3f}."
    return "\n\n".join([head, *tables, note])


def _errors(comparison: RaterComparison) -> str:
    rows = [_HEADER]
    for name in comparison.predictors:
        estimate, share = comparison.estimate(name), comparison.explained(name)
        error = "" if estimate.standard_error is None else f"{estimate.standard_error:.3f}"
        rows.append((LABELS[name], f"{estimate.mean:.3f}", error, _percent(share)))
    return _columns(rows, 1)


def _percent(share: MeanEstimate | None) -> str:
    return "" if share is None else f"{100 * share.mean:.1f} %"


def _cells(compared: Compared, count: int) -> tuple[str, ...]:
    low, high = compared.difference.interval()
    p_value = compared.corrected_p_value
    return (
        LABELS[compared.rival],
        f"{compared.difference.mean:+.3f}",
        f"{low:+.3f} to {high:+.3f}",
        "< 0.001" if p_value < 0.001 else f"{p_value:.3f}",
        f"{compared.raters_better} of {count}",
    )


def _columns(rows: Sequence[Sequence[str]], left: int) -> str:
    """Return rows with aligned columns, the first `left` to the left and the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
