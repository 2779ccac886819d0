"""Random Fourier features: an inner product of columns is nearly the smooth kernel."""

import numpy as np
import pytest

from bandstand.core.model.curved_columns import LENGTH, curved_columns
from bandstand.types import Matrix


def kernel(sound: Matrix) -> Matrix:
    apart = np.linalg.norm(sound[:, np.newaxis] - sound, axis=2)
    return np.asarray(np.exp(-0.5 * (apart / LENGTH) ** 2))


@pytest.mark.parametrize("features", [1, 2, 13, 91])
@pytest.mark.parametrize(("count", "error"), [(64, 0.11), (1_024, 0.03)])
def test_products_are_those_of_the_kernel(features: int, count: int, error: float) -> None:
    sound = np.random.default_rng(1).standard_normal((60, features)) / features**0.5
    columns = curved_columns(sound, count)
    away = columns @ columns.T - kernel(sound)
    assert np.sqrt(np.mean(np.square(away))) < error


def test_rows_have_length_one_and_do_not_depend_on_other_songs() -> None:
    sound = np.random.default_rng(2).standard_normal((9_000, 5))
    columns = curved_columns(sound)
    np.testing.assert_allclose(np.linalg.norm(columns, axis=1), 1, rtol=1e-5)
    some = curved_columns(sound[8_000:8_010])
    np.testing.assert_allclose(some, columns[8_000:8_010], atol=1e-6)


def test_no_songs_have_no_columns() -> None:
    assert curved_columns(np.empty((0, 3))).shape == (0, 64)
