"""The errors of all raters: means with standard errors, and differences rater by rater."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand_lab.statistics.paired import PairedDifference, holm, paired_difference
from bandstand_lab.statistics.summaries import MeanEstimate, mean_estimate

if TYPE_CHECKING:
    from bandstand.types import Vector
    from bandstand_lab.content.validation import RaterErrors

# What the content model is compared with.
RIVALS: Final = ("random", "mean", "ridge", "content-paper")


class Compared(NamedTuple):
    """The content model against one rival; below 0 the content model is better."""

    rival: str
    difference: PairedDifference
    corrected_p_value: float  # for how many rivals there are, by Holm
    raters_better: int  # for how many raters the content model had the smaller error


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The cross-validated errors of some raters."""

    raters: tuple[RaterErrors, ...]

    def __post_init__(self) -> None:
        """Refuse a comparison without raters."""
        if not self.raters:
            msg = "there must be at least one rater to compare, got none"
            raise InvalidInputError(msg)

    @property
    def predictors(self) -> tuple[str, ...]:
        """The names of what was compared."""
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

        1 − MSE / MSE of the mean; below 0 the mean would have been better. None if nobody's
        ratings vary.
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
        differences = [paired_difference(own, self.errors(rival)) for rival in rivals]
        corrected = holm([difference.p_value for difference in differences])
        return tuple(
            Compared(rival, difference, p_value, int((own < self.errors(rival)).sum()))
            for rival, difference, p_value in zip(rivals, differences, corrected, strict=True)
        )

    def as_json(self) -> dict[str, Any]:
        """Return everything, ready to be written."""
        return {
            "raters": [rater.as_json() for rater in self.raters],
            "rmse": {name: _estimate(self.estimate(name)) for name in self.predictors},
            "expected_random_rmse": _estimate(self.expected_random()),
            "explained_variance": {
                name: None if share is None else _estimate(share)
                for name in self.predictors
                for share in [self.explained(name)]
            },
            "content_minus": {each.rival: _difference(each) for each in self.against_rivals()},
        }


def _estimate(estimate: MeanEstimate) -> dict[str, Any]:
    interval = estimate.interval()
    return {
        "mean": estimate.mean,
        "standard_error": estimate.standard_error,
        "interval_95": None if interval is None else list(interval),
        "raters": estimate.count,
    }


def _difference(compared: Compared) -> dict[str, Any]:
    difference = compared.difference
    return {
        "mean": difference.mean,
        "standard_error": difference.standard_error,
        "interval_95": list(difference.interval()),
        "degrees_of_freedom": difference.degrees_of_freedom,
        "p_value": difference.p_value,
        "p_value_corrected": compared.corrected_p_value,
        "raters_better": compared.raters_better,
    }
