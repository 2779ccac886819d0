"""Means, and how far they can be trusted."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from bandstand.errors import InvalidInputError
from bandstand.types import Vector, frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanEstimate:
    """The mean of independent values; a single one has no standard error."""

    mean: float
    standard_error: float | None
    count: int

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return Student's confidence interval of the mean, or None for a single value."""
        if self.standard_error is None:
            return None
        margin = student_quantile(level, self.count - 1) * self.standard_error
        return self.mean - margin, self.mean + margin

    def shown(self, digits: int = 3) -> str:
        """Return the mean and its standard error, if it has one, as people read them.

        >>> mean_estimate([1.0, 2.0, 3.0]).shown(), mean_estimate([2.0]).shown()
        ('2.000 ± 0.577', '2.000')
        """
        error = "" if self.standard_error is None else f" ± {self.standard_error:.{digits}f}"
        return f"{self.mean:.{digits}f}{error}"

    def as_json(self) -> dict[str, Any]:
        """Return the mean with its standard error and its 95 % interval."""
        interval = self.interval()
        return {
            "mean": self.mean,
            "standard_error": self.standard_error,
            "interval": None if interval is None else list(interval),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanCurve:
    """The mean of several curves at each of their points."""

    mean: Vector
    standard_error: Vector | None
    count: int


def mean_estimate(values: ArrayLike) -> MeanEstimate:
    """Return the mean of `values` with its standard error.

    >>> mean_estimate([1.0, 2.0, 3.0])
    MeanEstimate(mean=2.0, standard_error=0.5773502691896258, count=3)
    """
    column = _checked(np.asarray(values, dtype=np.float64), dimensions=1)
    curve = mean_curve(column[:, None])
    error = None if curve.standard_error is None else float(curve.standard_error[0])
    return MeanEstimate(mean=float(curve.mean[0]), standard_error=error, count=curve.count)


def mean_curve(curves: ArrayLike) -> MeanCurve:
    """Return the mean of the rows of `curves`, one row for each run, point by point."""
    rows = _checked(np.asarray(curves, dtype=np.float64), dimensions=2)
    count = len(rows)
    error = None if count == 1 else frozen(rows.std(axis=0, ddof=1) / math.sqrt(count))
    return MeanCurve(mean=frozen(rows.mean(axis=0)), standard_error=error, count=count)


def student_quantile(level: float, degrees_of_freedom: float) -> float:
    """Return the half-width, in standard errors, of an interval that covers with `level`.

    >>> round(student_quantile(0.95, 9), 3)
    2.262
    """
    if not 0 < level < 1:
        msg = f"a level of confidence must be between 0 and 1, both excluded, got {level}"
        raise InvalidInputError(msg)
    return float(stdtrit(degrees_of_freedom, (1 + level) / 2))


def _checked(
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], *, dimensions: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    if values.ndim != dimensions or not len(values) or not np.isfinite(values).all():
        shape = "values" if dimensions == 1 else "rows of values"
        msg = f"a mean needs at least one of finite {shape}, got an array of shape {values.shape}"
        raise InvalidInputError(msg)
    return values
