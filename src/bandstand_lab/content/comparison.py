"""The errors of all raters: means and paired differences."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.types import Vector
from bandstand_lab.content.validation import RaterErrors
from bandstand_lab.statistics.paired import PairedDifference, tested_together
from bandstand_lab.statistics.summaries import MeanEstimate, mean_estimate

# The predictors that the content model is compared with.
RIVALS: Final = ("random", "mean", "ridge", "content-paper")


class Compared(NamedTuple):
    """The content model against one rival; below 0 the content model is better."""

    rival: str
    difference: PairedDifference
    corrected_p_value: float  # for how many rivals there are, by Holm


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
        return tuple(Compared(rival, *test) for rival, test in zip(rivals, tests, strict=True))
