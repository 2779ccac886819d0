"""Products of three and more normals: deterministic, and close to the law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtri

from bandstand.core.model import product_normal, product_normal_many
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from bandstand.types import Matrix, Vector

# The accuracy that the module promises, in standard deviations of the product.
PROMISED: Final = 1e-4


def drawn(width: float, songs: int, factors: int = 3, seed: int = 5) -> tuple[Matrix, Matrix]:
    rng = np.random.default_rng(seed)
    means = 3 * rng.normal(size=(factors, songs))
    return means, np.abs(means) * rng.uniform(0.01, width, size=(factors, songs))


def fine_probability(value: float, means: Vector, deviations: Vector) -> float:
    """Return P(XYZ ≤ value): the exact law of XY, summed over a fine mesh of Z."""
    z = np.linspace(-8.5, 8.5, 861)
    weights = np.exp(-0.5 * z**2)
    third = means[2] + deviations[2] * z
    below = product_normal.cdf(
        value, third * means[0], np.abs(third) * deviations[0], means[1], deviations[1]
    )
    with np.errstate(under="ignore"):
        return float(below @ weights / weights.sum())


@pytest.mark.parametrize("width", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("level", [0.05, 0.5, 0.99])
def test_quantiles_of_three_factors_are_as_close_as_promised(width: float, level: float) -> None:
    means, deviations = drawn(width, 6)
    values = product_normal_many.quantile(level, means, deviations)
    spread = PROMISED * product_normal_many.standard_deviation(means, deviations)
    for song in range(6):
        of_song = means[:, song], deviations[:, song]
        assert fine_probability(values[song] - spread[song], *of_song) < level
        assert fine_probability(values[song] + spread[song], *of_song) > level


def test_one_factor_is_normal() -> None:
    values = product_normal_many.quantile(0.9, np.array([[2.0]]), np.array([[3.0]]))
    assert values[0] == pytest.approx(2 + 3 * ndtri(0.9))


@given(
    arrays(np.float64, (2, 4), elements=st.floats(-5, 5)),
    arrays(np.float64, (2, 4), elements=st.floats(0.01, 5)),
)
def test_two_factors_are_the_pair_of_the_paper(means: Matrix, deviations: Matrix) -> None:
    values = product_normal_many.quantile(0.8, means, deviations)
    expected = product_normal.quantile(0.8, means[0], deviations[0], means[1], deviations[1])
    np.testing.assert_array_equal(values, expected)


def test_a_third_factor_that_is_one_changes_nothing() -> None:
    means, deviations = drawn(0.8, 20, factors=2)
    two = product_normal_many.quantile(0.9, means, deviations)
    three = product_normal_many.quantile(
        0.9, np.vstack([means, np.ones(20)]), np.vstack([deviations, np.zeros(20)])
    )
    spread = product_normal_many.standard_deviation(means, deviations)
    assert np.abs((three - two) / spread).max() < PROMISED


@given(
    arrays(np.float64, (3, 2), elements=st.floats(-5, 5)),
    arrays(np.float64, (3, 2), elements=st.floats(0, 5)),
)
def test_the_variance_is_that_of_independent_factors(means: Matrix, deviations: Matrix) -> None:
    found = product_normal_many.standard_deviation(means, deviations) ** 2
    squares = np.prod(means**2 + deviations**2, axis=0)
    expected = squares - np.prod(means**2, axis=0)
    np.testing.assert_allclose(found, expected, atol=1e-12 * (1 + squares.max()))


@pytest.mark.parametrize("factors", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 7, 500])
def test_the_best_are_the_best_of_all(factors: int, count: int) -> None:
    means, deviations = drawn(0.15, 60, factors=factors)
    rows, values = product_normal_many.largest_quantiles(0.95, count, means, deviations)
    everything = product_normal_many.quantile(0.95, means, deviations)
    np.testing.assert_array_equal(rows, np.argsort(-everything, kind="stable")[:count])
    np.testing.assert_allclose(values, everything[rows], rtol=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_no_wide_song_is_ruled_out_by_a_rough_look(level: float) -> None:
    for seed in range(3):
        means, deviations = drawn(1.5, 60, seed=seed)
        rows, _ = product_normal_many.largest_quantiles(level, 3, means, deviations)
        everything = product_normal_many.quantile(level, means, deviations)
        np.testing.assert_array_equal(rows, np.argsort(-everything, kind="stable")[:3])


def test_point_masses_and_every_scale_of_numbers_are_taken() -> None:
    means = np.array([[0.0, 0.0, 2.0, 1e-150, 1e90, 0.0], [1.0] * 6, [3.0, 3, 3, 3, 3, 0]])
    deviations = np.array(
        [[0.0, 1.0, 0.0, 1e-150, 1e89, 1.0], [0.0, 0.2, 0, 0.2, 0.2, 1], [0.5] * 6]
    )
    with np.errstate(all="raise"):
        values = product_normal_many.quantile(0.9, means, deviations)
    assert np.isfinite(values).all()
    assert values[0] == 0
    assert values[2] == pytest.approx(2 * (3 + 0.5 * ndtri(0.9)), rel=1e-3)
    # The same shape at another scale is the same quantile at that scale.
    unit = np.array([[1e90], [1.0], [1.0]])
    usual = product_normal_many.quantile(0.9, means[:, 4:5] / unit, deviations[:, 4:5] / unit)
    assert values[4] / 1e90 == pytest.approx(float(usual[0]))


def test_no_song_has_no_quantile() -> None:
    nothing = np.empty((3, 0))
    assert product_normal_many.quantile(0.5, nothing, nothing).shape == (0,)
    assert product_normal_many.largest_quantiles(0.5, 3, nothing, nothing)[0].shape == (0,)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, np.nan])
def test_a_level_that_is_no_probability_is_refused(level: float) -> None:
    with pytest.raises(InvalidInputError, match="level must be above 0 and below 1"):
        product_normal_many.quantile(level, np.ones((3, 1)), np.ones((3, 1)))
