"""Ridge regression with a chosen strength, against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.types import Matrix, Vector
from bandstand_lab.content.validation import REGULARISATIONS, fit_ridge, leave_one_out_errors


def plain_ridge(features: Matrix, ratings: Vector, strength: float, wanted: Matrix) -> Vector:
    """Return the prediction by the normal equations of the centred problem."""
    centre, mean = features.mean(axis=0), ratings.mean()
    away = features - centre
    gram = away.T @ away + strength * np.eye(features.shape[1])
    return np.asarray(mean + (wanted - centre) @ np.linalg.solve(gram, away.T @ (ratings - mean)))


def drawn(count: int, columns: int, seed: int) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((count, columns))
    return features, 3 + features[:, 0] + rng.standard_normal(count)


@given(
    count=st.integers(4, 12),
    columns=st.integers(1, 15),
    seed=st.integers(0, 2**32 - 1),
    strength=st.floats(1e-2, 1e4),
)
def test_the_leave_one_out_error_is_that_of_leaving_each_one_out(
    count: int, columns: int, seed: int, strength: float
) -> None:
    features, ratings = drawn(count, columns, seed)
    left_out = []
    for row in range(count):
        others = np.arange(count) != row
        (one,) = plain_ridge(features[others], ratings[others], strength, features[[row]])
        left_out.append((ratings[row] - one) ** 2)
    left, singular, _ = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
    with np.errstate(all="raise", under="ignore"):
        (error,) = leave_one_out_errors(
            left, singular, ratings - ratings.mean(), np.array([strength])
        )
    assert error == pytest.approx(np.mean(left_out), rel=1e-6)


@given(count=st.integers(3, 30), columns=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_the_prediction_is_that_of_the_normal_equations(
    count: int, columns: int, seed: int
) -> None:
    features, ratings = drawn(count, columns, seed)
    wanted = np.random.default_rng(seed).standard_normal((3, columns))
    model = fit_ridge(features, ratings)
    expected = plain_ridge(features, ratings, model.regularisation, wanted)
    assert model.predict(wanted) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_a_strong_one_is_taken_where_features_tell_nothing() -> None:
    features = np.random.default_rng(3).standard_normal((200, 60))
    ratings = np.random.default_rng(4).standard_normal(200)
    model = fit_ridge(features, ratings)
    assert model.regularisation > 200
    assert model.predict(features).std() < 0.2


def test_a_weak_one_is_taken_where_features_tell_everything() -> None:
    features = np.random.default_rng(3).standard_normal((200, 5))
    model = fit_ridge(features, 3 + features @ np.arange(5.0))
    assert model.regularisation == pytest.approx(200 * REGULARISATIONS[0])


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_ratings_give_nearly_the_mean(count: int) -> None:
    features, ratings = drawn(count, 4, 1)
    with np.errstate(all="raise", under="ignore"):
        predicted = fit_ridge(features, ratings).predict(features)
    assert predicted == pytest.approx(np.full(count, ratings.mean()), abs=1e-2)


def test_equal_ratings_and_constant_features_are_no_trouble() -> None:
    with np.errstate(all="raise", under="ignore"):
        same = fit_ridge(np.random.default_rng(0).standard_normal((9, 3)), np.full(9, 4.0))
        flat = fit_ridge(np.zeros((9, 3)), np.arange(9.0))
    assert same.predict(np.ones((2, 3))).tolist() == [4, 4]
    assert flat.predict(np.ones((2, 3))).tolist() == [4, 4]
