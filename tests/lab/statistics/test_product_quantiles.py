"""Quantiles of products of normals: the package, Monte Carlo and quadrature agree."""

from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.model import product_normal
from bandstand.core.model.product_normal import WIDEST_RADIUS, PairProducts
from bandstand_lab.speed.prediction import monte_carlo_quantile, quadrature_quantile

# A right Monte Carlo quantile is further off than the test allows about once in a million seeds.
FAILURE_RATE: Final = 1e-6


@settings(max_examples=40)
@given(
    st.floats(0.02, 0.998),
    st.floats(-50.0, 50.0),
    st.floats(0.1, 2.0),
    st.floats(-3.0, 3.0),
    st.floats(0.1, 2.0),
)
def test_quadrature_and_the_package_agree(
    level: float, mean_x: float, deviation_x: float, mean_y: float, deviation_y: float
) -> None:
    normals = np.array([[mean_x], [mean_y]]), np.array([[deviation_x], [deviation_y]])
    value = float(product_normal.quantile(level, *normals)[0])
    spread = float(product_normal.standard_deviation(*normals)[0])
    found = quadrature_quantile(level, (mean_x, mean_y), (deviation_x, deviation_y), value)
    assert found == pytest.approx(value, abs=1e-8 * spread)


def test_quadrature_does_not_miss_the_step_of_a_narrow_factor() -> None:
    # 75.3 ± 0.4 hardly changes its sign or size; over the other factor it is a step.
    means, deviations = (-0.18, 75.3), (0.12, 0.38)
    table = np.array(means)[:, np.newaxis], np.array(deviations)[:, np.newaxis]
    value = float(product_normal.quantile(0.95, *table)[0])
    found = quadrature_quantile(0.95, means, deviations, value)
    assert found == pytest.approx(value, abs=1e-9)
    turned = quadrature_quantile(0.95, means[::-1], deviations[::-1], value)
    assert turned == pytest.approx(found, abs=1e-9)


def _share_below(level: float, *, planted: float) -> float:
    """Return the probability below a Monte Carlo quantile, moved by `planted`: 40,000 draws."""
    means, deviations = np.array([[1.5], [0.8]]), np.array([[0.7], [0.2]])
    found = monte_carlo_quantile(level, means, deviations, 40_000, np.random.default_rng(2))
    product = PairProducts.of(means[0], deviations[0], means[1], deviations[1])
    return float(product.tail(found + planted, upper=False, radius=WIDEST_RADIUS)[0])


def test_monte_carlo_has_the_level_that_it_was_asked_for() -> None:
    # 4.9 standard errors of a binomial share: FAILURE_RATE, two-sided.
    margin = 4.9 * np.sqrt(0.95 * 0.05 / 40_000)
    assert abs(_share_below(0.95, planted=0.0) - 0.95) < margin


def test_a_planted_shift_of_the_quantile_is_found() -> None:
    margin = 4.9 * np.sqrt(0.95 * 0.05 / 40_000)
    assert abs(_share_below(0.95, planted=0.15) - 0.95) > margin


def test_monte_carlo_takes_songs_in_portions_that_do_not_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    means, deviations = np.array([[1.0] * 7, [2.0] * 7]), np.zeros((2, 7))
    monkeypatch.setattr("bandstand_lab.speed.prediction._TABLE", 20)
    found = monte_carlo_quantile(0.5, means, deviations, 10, np.random.default_rng(1))
    assert found.tolist() == [2.0] * 7
