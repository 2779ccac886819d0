"""The engines as an estimator of scikit-learn, for its pipelines, searches and cross-validation.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = [[120.0, 0.1], [80.0, 0.9], [128.0, 0.2], [90.0, 0.7]], [5, 2, 4, 1]
    >>> radio = make_pipeline(StandardScaler(), ListenerRegressor()).fit(X, y)
    >>> radio.predict([[125.0, 0.1]]).round(1)
    array([4.4])

It needs scikit-learn, which Bandstand alone does not install; `bandstand[report]` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from bandstand.core.estimators import ExactModel, RatingModel
from bandstand.core.model.priors import radio_prior
from bandstand.types import MONTH

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bandstand.types import Matrix, Vector


class ListenerRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """One listener's ratings of songs, by one of the models of `bandstand`.

    `model` is for its settings: an ExactModel with the prior for real listeners unless another one
    is given; `model_` is the one that was fitted. Features should be standardised, as that prior
    expects; with `fit_intercept` a column of ones is added to them.

    `elapsed_column` is the column of X with the minutes since the song of a row had been heard
    before, at most 43,200, for never; without one all are new. It must reach the regressor as it
    is, past any scaling. `weights` of ratings are no numbers of rows, hence not `sample_weight`.
    """

    model_: RatingModel

    def __init__(
        self,
        model: RatingModel | None = None,
        *,
        elapsed_column: int | None = None,
        fit_intercept: bool = True,
    ) -> None:
        self.model = model
        self.elapsed_column = elapsed_column
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike, weights: ArrayLike = 1.0) -> Self:
        """Learn from these ratings alone."""
        return self._learned(X, y, weights, reset=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, weights: ArrayLike = 1.0) -> Self:
        """Learn from further ratings: what `fit` of all of them together learns."""
        return self._learned(X, y, weights, reset=not hasattr(self, "model_"))

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Return the expected rating of each row; with `return_std` its standard deviation too."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        table, elapsed = self._split(rows)
        return self.model_.predict(table, elapsed=elapsed, return_std=return_std)

    def _learned(self, X: ArrayLike, y: ArrayLike, weights: ArrayLike, *, reset: bool) -> Self:
        rows, ratings = validate_data(self, X, y, reset=reset, dtype=np.float64, y_numeric=True)
        table, elapsed = self._split(rows)
        if reset:
            usual = ExactModel(prior=radio_prior(table.shape[1]))
            self.model_ = usual if self.model is None else clone(self.model)
        self.model_.partial_fit(table, elapsed=elapsed, ratings=ratings, weights=weights)
        return self

    def _split(self, rows: Matrix) -> tuple[Matrix, Vector]:
        """Return the features of songs, and their elapsed times."""
        column = self.elapsed_column
        elapsed = np.full(len(rows), MONTH) if column is None else rows[:, column]
        features = rows if column is None else np.delete(rows, column, axis=1)
        ones = np.ones((len(rows), int(self.fit_intercept)))
        return np.concatenate([features, ones], axis=1), elapsed
