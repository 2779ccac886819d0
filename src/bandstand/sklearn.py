"""The engines as an estimator of scikit-learn, for its pipelines, searches and cross-validation.

    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = [[120.0, 0.1], [80.0, 0.9], [128.0, 0.2], [90.0, 0.7]], [5, 2, 4, 1]
    >>> radio = make_pipeline(StandardScaler(), ListenerRegressor()).fit(X, y)
    >>> radio.predict([[125.0, 0.1]]).round(1)
    array([4.1])

It needs scikit-learn, which Bandstand does not install by itself: `bandstand[report]`.
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

    from bandstand.types import Matrix


class ListenerRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """One listener's ratings of songs, by one of the models of `bandstand`.

    `model` is an ExactModel with the prior for real listeners unless another one is given; it is
    used for its settings, and `model_` is the one that was fitted. Features should be
    standardised, as the prior expects; with `fit_intercept` a column of ones is added to them.

    `elapsed` are the minutes since the song of each row had been heard before, 43,200 for never;
    `weights` say how much a rating counts, which is not how often it was given: hence not
    `sample_weight`. Both are one number or one for each row. Pipelines and searches hand them on
    where `set_fit_request` and `set_predict_request` ask for them.
    """

    model_: RatingModel

    def __init__(self, model: RatingModel | None = None, *, fit_intercept: bool = True) -> None:
        self.model = model
        self.fit_intercept = fit_intercept

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        weights: ArrayLike = 1.0,
        elapsed: ArrayLike = MONTH,
    ) -> Self:
        """Learn from these ratings alone."""
        self.__dict__.pop("model_", None)
        return self._learned(X, y, weights, elapsed, reset=True)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        weights: ArrayLike = 1.0,
        elapsed: ArrayLike = MONTH,
    ) -> Self:
        """Learn from further ratings: what `fit` of all of them together learns."""
        return self._learned(X, y, weights, elapsed, reset=not hasattr(self, "model_"))

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,  # noqa: FBT001, FBT002  # as scikit-learn has it
        elapsed: ArrayLike = MONTH,
    ) -> Any:
        """Return the expected rating of each row; with `return_std` its standard deviation too."""
        check_is_fitted(self)
        table = self._table(validate_data(self, X, reset=False, dtype=np.float64))
        return self.model_.predict(table, elapsed=elapsed, return_std=return_std)

    def _learned(
        self, X: ArrayLike, y: ArrayLike, weights: ArrayLike, elapsed: ArrayLike, *, reset: bool
    ) -> Self:
        rows, ratings = validate_data(self, X, y, reset=reset, dtype=np.float64, y_numeric=True)
        table = self._table(rows)
        if reset:
            usual = ExactModel(prior=radio_prior(table.shape[1]))
            self.model_ = usual if self.model is None else clone(self.model)
        self.model_.partial_fit(table, elapsed=elapsed, ratings=ratings, weights=weights)
        return self

    def _table(self, rows: Matrix) -> Matrix:
        ones = np.ones((len(rows), int(self.fit_intercept)))
        return np.concatenate([rows, ones], axis=1)
