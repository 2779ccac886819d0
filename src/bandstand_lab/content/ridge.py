"""Ridge regression that chooses its strength from the ratings that it learns from.

    minimise  Σ (r − c − b'x)² + λ b'b          the constant c is not held back

code               maths   meaning
`regularisation`   λ       how strongly coefficients are held to 0; where it is large, the
                           prediction is the mean
`leverage`         h       how much a rating counts in its own prediction

With the singular values d and vectors U of the centred features, the prediction of rating i
without that rating is known in closed form, for every λ at once:

    r_i − ŷ₋i = (r_i − ŷ_i) / (1 − h_i)          h = 1/n + Σ_j U² d²/(d² + λ)

The λ whose squared errors of this kind are smallest is taken. Nothing but the training ratings
is looked at and nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.types import frozen

if TYPE_CHECKING:
    from bandstand.types import Matrix, Vector

# λ for each rating; at the upper end standardised features have no say any more.
REGULARISATIONS: Final = tuple(10.0 ** (power / 4) for power in range(-16, 17))
# A rating that settles its own prediction tells nothing about the others.
_LEAST_FREEDOM: Final = 1e-12
# With fewer ratings every one settles its own prediction.
_FEWEST: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRidge:
    """A ridge regression after its training."""

    regularisation: float
    centre: Vector  # of the features
    mean: float  # of the ratings
    coefficients: Vector

    def predict(self, features: Matrix) -> Vector:
        """Return the expected rating of each item."""
        with np.errstate(under="ignore"):
            return np.asarray(self.mean + (features - self.centre) @ self.coefficients)


def fit_ridge(features: Matrix, ratings: Vector) -> ChosenRidge:
    """Return the ridge regression with the smallest leave-one-out error.

    Between equals the stronger one is taken: it says less.
    """
    centre, mean, count = features.mean(axis=0), float(ratings.mean()), len(ratings)
    strengths = count * np.array(REGULARISATIONS)
    with np.errstate(under="ignore"):
        left, singular, right = np.linalg.svd(features - centre, full_matrices=False)
        along = left.T @ (ratings - mean)
        errors = leave_one_out_errors(left, singular, ratings - mean, strengths)
        place = len(errors) - 1 - int(np.argmin(errors[::-1]))
        chosen = float(strengths[place])
        coefficients = right.T @ (singular / (singular**2 + chosen) * along)
    return ChosenRidge(
        regularisation=chosen,
        centre=frozen(centre),
        mean=mean,
        coefficients=frozen(coefficients),
    )


def leave_one_out_errors(
    left: Matrix, singular: Vector, centred: Vector, strengths: Vector
) -> Vector:
    """Return the mean squared error of predicting each rating from all others, for each λ."""
    count = len(centred)
    if count < _FEWEST:
        return np.zeros(len(strengths))
    shrinkage = singular**2 / (singular**2 + strengths[:, np.newaxis])  # (λ, j)
    fitted = (shrinkage * (left.T @ centred)) @ left.T  # (λ, n)
    leverage = 1 / count + shrinkage @ (left**2).T
    residuals = (centred - fitted) / np.maximum(1 - leverage, _LEAST_FREEDOM)
    return np.asarray(np.square(residuals).mean(axis=1))
