"""The models in scikit-learn's own hands."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from bandstand import ExactModel, LeastSquaresModel, RidgeModel, VariationalModel, radio_prior
from bandstand.core.estimators import RatingModel
from bandstand.sklearn import ListenerRegressor

MODELS = [None, LeastSquaresModel(), RidgeModel(), VariationalModel()]


def songs(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, ratings that fall after a recent play, and elapsed times."""
    rng = np.random.default_rng(seed)
    X, elapsed = rng.normal(size=(60, 2)), rng.choice([5.0, 43_200.0], size=60)
    ratings = (3 + X[:, 0]) * (1 - np.exp(-elapsed / 300)) + 0.1 * rng.normal(size=60)
    return X, ratings, elapsed


def failed_checks(estimator: object) -> list[str]:
    found = check_estimator(estimator, on_fail=None, on_skip=None)
    return [one["check_name"] for one in found if one["status"] == "failed"]


@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_every_check_of_scikit_learn_passes(model: RatingModel | None) -> None:
    assert failed_checks(ListenerRegressor(model)) == []


def test_an_estimator_that_changes_its_settings_is_found_out() -> None:
    """The twin."""

    class Forgetful(ListenerRegressor):
        def fit(self, X, y, weights=1.0, elapsed=43_200.0):  # type: ignore[no-untyped-def]
            self.fit_intercept = False
            return super().fit(X, y, weights, elapsed)

    assert "check_dont_overwrite_attributes" in failed_checks(Forgetful())


def test_it_predicts_what_the_model_itself_does() -> None:
    X, y, elapsed = songs()
    table = np.column_stack([X, np.ones(len(X))])
    model = ExactModel(prior=radio_prior(3)).fit(table, elapsed=elapsed, ratings=y, weights=0.5)
    got = ListenerRegressor().fit(X, y, weights=0.5, elapsed=elapsed)
    for mine, theirs in zip(
        got.predict(X, return_std=True, elapsed=9),
        model.predict(table, elapsed=9, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(mine, theirs)
    halves = ListenerRegressor().partial_fit(X[:30], y[:30], elapsed=elapsed[:30])
    halves.partial_fit(X[30:], y[30:], elapsed=elapsed[30:])
    np.testing.assert_allclose(
        halves.predict(X), ListenerRegressor().fit(X, y, elapsed=elapsed).predict(X), rtol=1e-6
    )


def test_a_pipeline_a_search_and_cross_validation_hand_the_elapsed_times_on() -> None:
    X, y, elapsed = songs()
    with config_context(enable_metadata_routing=True):
        radio = ListenerRegressor().set_fit_request(elapsed=True).set_predict_request(elapsed=True)
        pipeline = make_pipeline(StandardScaler(), radio)
        told = cross_val_predict(pipeline, X, y, params={"elapsed": elapsed})
        search = GridSearchCV(
            ListenerRegressor(RidgeModel()), {"model__regularisation": [1e-3, 1e3]}
        )
        assert search.fit(X, y).best_params_ == {"model__regularisation": 1e-3}
    untold = cross_val_predict(pipeline, X, y)
    assert np.mean((told - y) ** 2) < 0.1 * np.mean((untold - y) ** 2)
