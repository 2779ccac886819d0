"""The models in scikit-learn's own hands."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from bandstand import ExactModel, LeastSquaresModel, RidgeModel, VariationalModel, radio_prior
from bandstand.core.estimators import RatingModel
from bandstand.sklearn import ListenerRegressor
from bandstand.types import Matrix, Vector

MODELS = [None, LeastSquaresModel(), RidgeModel(), VariationalModel()]


def ratings() -> tuple[Matrix, Vector]:
    """Return rows of features and elapsed times, and ratings that fall after a recent play."""
    rng = np.random.default_rng(0)
    sound, elapsed = rng.normal(size=(60, 2)), rng.choice([5.0, 43_200.0], size=60)
    y = (3 + sound[:, 0]) * (1 - np.exp(-elapsed / 300)) + 0.1 * rng.normal(size=60)
    return np.column_stack([sound, elapsed]), y


def failed_checks(estimator: object) -> list[str]:
    found = check_estimator(estimator, on_fail=None, on_skip=None)
    return [one["check_name"] for one in found if one["status"] == "failed"]


@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_every_check_of_scikit_learn_passes(model: RatingModel | None) -> None:
    assert failed_checks(ListenerRegressor(model)) == []


def test_an_estimator_that_changes_its_settings_is_found_out() -> None:
    """The twin."""

    class Forgetful(ListenerRegressor):
        def fit(self, *data: Any) -> Self:
            self.fit_intercept = False
            return super().fit(*data)

    assert "check_estimators_overwrite_params" in failed_checks(Forgetful())


def test_it_predicts_what_the_model_itself_does() -> None:
    X, y = ratings()
    table, elapsed = np.column_stack([X[:, :2], np.ones(len(X))]), X[:, 2]
    model = ExactModel(prior=radio_prior(3)).fit(table, elapsed=elapsed, ratings=y, weights=0.5)
    mine = ListenerRegressor(elapsed_column=2).fit(X, y, weights=0.5)
    wanted: Any = model.predict(table, elapsed=elapsed, return_std=True)
    np.testing.assert_array_equal(mine.predict(X, return_std=True), wanted)
    halves = ListenerRegressor(elapsed_column=-1).partial_fit(X[:30], y[:30], weights=0.5)
    halves.partial_fit(X[30:], y[30:], weights=0.5)
    np.testing.assert_allclose(halves.predict(X), wanted[0], rtol=1e-6)


def test_cross_validation_and_a_search_see_what_elapsed_times_tell() -> None:
    X, y = ratings()
    told = cross_val_score(ListenerRegressor(elapsed_column=2), X, y)
    untold = cross_val_score(ListenerRegressor(), X[:, :2], y)
    assert told.min() > 0.9 > untold.max()
    scaled = ColumnTransformer([("sound", StandardScaler(), [0, 1])], remainder="passthrough")
    search = GridSearchCV(
        make_pipeline(scaled, ListenerRegressor()),
        {"listenerregressor__elapsed_column": [None, 2]},
    )
    assert search.fit(X, y).best_params_ == {"listenerregressor__elapsed_column": 2}
