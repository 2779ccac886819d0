"""Products of normals against tables, closed forms, plain integrals and random draws."""

import csv
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from bandstand.core.model import product_normal
from bandstand.core.model.product_normal import WIDEST_RADIUS, PairProducts, standard_deviation
from bandstand.errors import InvalidInputError
from bandstand.types import AnyArray, Indices, Matrix, Vector

Factors = tuple[float, float, float, float]

LEVELS: Final = (1e-9, 1e-4, 0.05, 0.3, 0.5, 2 / 3, 0.9, 0.99, 1 - 1e-6, 1 - 1e-9)

# value, mean_x, standard_deviation_x, mean_y, standard_deviation_y, P(U ≤ value): integrals
# of (24) with 30 digits. Both meshes, their borders, far tails and both extremes of scale.
THIRTY_DIGITS: Final = (
    (-20.0, 0.0, 1.0, 0.0, 1.0, 1.785341683347295e-10),
    (1e-6, 0.0, 1.0, 0.0, 1.0, 0.50000475282562702),
    (-1e-3, 0.0, 1.0, 0.3, 1.0, 0.49754446268675271),
    (0.5, 9.4, 1.0, 0.3, 1.0, 0.40277125014761033),
    (15.9, 3.0, 1.0, 4.0, 1.0, 0.79015359076446967),
    (16.1, 3.0, 1.0, 4.0, 1.0, 0.79991104125292405),
    (-3.0, 2.0, 1.0, 3.0, 1.0, 0.0016107899906901181),
    (-16.5, -1.0, 2.0, 9.0, 1.0, 0.33510164543337247),
    (999_990_000_000.0, 1e6, 1.0, 1e6, 1.0, 7.6863391856033535e-13),
    (-2000.0, 0.125, 2.0**-10, 0.25, 2.0**10, 1.3903641174195904e-54),
    (1e6, 0.5, 1e-6, 2.0, 1e6, 0.97724976006923987),
    (-60.0, -7.0, 1.0, 9.6, 2.0, 0.64687205144327317),
    (4.0, 3.0, 0.5, 0.9, 0.05, 0.99580091723482288),
    (0.030000000375, 0.1, 1e-9, 0.3, 1e-9, 0.88216004204606204),
    (-0.07, 1 / 3, 1e-7, -0.21, 2e-8, 0.49999998931831421),
)

means = st.floats(-12.0, 12.0) | st.just(0.0)
deviations = st.floats(0.05, 5.0)
factors = st.tuples(means, deviations, means, deviations)
levels = st.floats(1e-9, 1 - 1e-9) | st.sampled_from(LEVELS)


def table_of(*factors: ArrayLike) -> tuple[Matrix, Matrix]:
    """Return means and deviations, (2, S) each, of x, σ_x, y and σ_y that broadcast."""
    x, sx, y, sy = np.broadcast_arrays(*(np.atleast_1d(each) for each in factors))
    return np.array([x, y], dtype=np.float64), np.array([sx, sy], dtype=np.float64)


def unwrapped(values: Vector, *factors: ArrayLike) -> Any:
    """Return a number if all factors are numbers, else the vector."""
    return values if any(np.ndim(each) for each in factors) else values[0]


def quantile(level: float, *factors: ArrayLike) -> Any:
    return unwrapped(product_normal.quantile(level, *table_of(*factors)), *factors)


def spread(*factors: ArrayLike) -> Any:
    return unwrapped(standard_deviation(*table_of(*factors)), *factors)


def largest_quantiles(level: float, count: int, *factors: ArrayLike) -> tuple[Indices, Vector]:
    return product_normal.largest_quantiles(level, count, *table_of(*factors))


def cdf(value: ArrayLike, *factors: ArrayLike) -> Any:
    wide, *rest = np.broadcast_arrays(*(np.atleast_1d(each) for each in (value, *factors)))
    (x, y), (sx, sy) = table_of(*rest)
    with np.errstate(under="ignore", over="ignore"):
        products = PairProducts.of(x, sx, y, sy)
        found = products.tail(wide.astype(np.float64), upper=False, radius=WIDEST_RADIUS)
    return unwrapped(np.minimum(found, 1.0), value, *factors)


def test_quantiles_and_probabilities_agree_with_the_reference_table(shared_data: Path) -> None:
    with (shared_data / "product_normal_quantiles.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = ("mu_x", "sd_x", "mu_y", "sd_y", "p", "quantile")
    table = np.array([[float(row[name]) for name in columns] for row in rows])
    assert len(table) == 150
    for level in np.unique(table[:, 4]):
        *given_factors, _, expected = table[table[:, 4] == level].T
        error = np.abs(quantile(level, *given_factors) - expected)
        assert (error <= 1e-11 * np.maximum(1, np.abs(expected))).all()
        np.testing.assert_allclose(cdf(expected, *given_factors), level, atol=1e-11)


def test_probabilities_agree_with_integrals_of_thirty_digits() -> None:
    *arguments, expected = np.array(THIRTY_DIGITS).T
    np.testing.assert_allclose(cdf(*arguments), expected, rtol=1e-13)


@given(factors, st.floats(-4.0, 4.0))
def test_probabilities_agree_with_the_plain_integral(drawn: Factors, score: float) -> None:
    value = drawn[0] * drawn[2] + score * float(spread(*drawn))
    assert abs(float(cdf(value, *drawn)) - plain_integral(value, drawn, split=True)) < 1e-10


def test_a_forgotten_sign_would_be_found() -> None:
    drawn = (1.0, 1.0, -0.4, 0.3)
    assert abs(float(cdf(0.5, *drawn)) - plain_integral(0.5, drawn, split=False)) > 0.01


@given(means, st.floats(0.0, 5.0), means, levels, st.floats(-50.0, 50.0))
def test_a_normal_times_a_constant_is_normal(
    mean_x: float, deviation_x: float, constant: float, level: float, value: float
) -> None:
    deviation = deviation_x * abs(constant)
    expected = mean_x * constant + deviation * float(ndtri(level))
    found = float(quantile(level, mean_x, deviation_x, constant, 0.0))
    assert abs(found - expected) <= 1e-14 * (abs(mean_x * constant) + 7 * deviation) + 1e-300
    if deviation > 1e-3:
        scores = (value - mean_x * constant) / deviation
        probability = cdf(value, constant, 0.0, mean_x, deviation_x)
        assert float(probability) == pytest.approx(float(ndtr(scores)), rel=1e-9, abs=1e-300)


@given(factors, st.floats(-30.0, 30.0), levels)
def test_the_order_of_factors_does_not_matter_and_a_sign_mirrors_the_product(
    drawn: Factors, value: float, level: float
) -> None:
    one, other = quantile(level, *drawn), quantile(level, *drawn[2:], *drawn[:2])
    assert abs(float(one - other)) <= 1e-11 * float(spread(*drawn))
    mirrored = (-drawn[0], *drawn[1:])
    assert float(cdf(value, *mirrored)) == pytest.approx(1 - float(cdf(-value, *drawn)), abs=1e-13)
    if 1 - (1 - level) == level:
        total = float(quantile(level, *mirrored) + quantile(1 - level, *drawn))
        assert abs(total) <= 1e-11 * float(spread(*drawn))


@given(factors, levels, st.integers(-300, 300), st.integers(-300, 300))
def test_scaling_a_factor_scales_the_product(
    drawn: Factors, level: float, power_x: int, power_y: int
) -> None:
    assume(all(part == 0 or abs(part) > 1e-100 for part in drawn))  # else digits fall off
    x, y = 2.0**power_x, 2.0**power_y
    scaled = (drawn[0] * x, drawn[1] * x, drawn[2] * y, drawn[3] * y)
    with np.errstate(all="raise"):
        found = quantile(level, *scaled)
    assert float(found) == float(quantile(level, *drawn)) * x * y


@given(factors, levels)
def test_a_quantile_has_the_probability_of_its_level(drawn: Factors, level: float) -> None:
    found = quantile(level, *drawn)
    assert float(cdf(found, *drawn)) == pytest.approx(level, rel=1e-10)


@pytest.mark.parametrize("level", LEVELS)
def test_every_scale_and_ratio_gives_a_number_without_a_warning(level: float) -> None:
    sizes = np.array([0.0, 1e-150, 1e-6, 1.0, 1e6, 1e100])
    x, sx, y, sy = (axis.ravel() for axis in np.meshgrid(*[sizes] * 4))
    x, y = np.where(np.arange(len(x)) % 2, x, -x), np.where(np.arange(len(y)) % 3, y, -y)
    with np.errstate(all="raise"):
        found = quantile(level, x, sx, y, sy)
        probability = cdf(found, x, sx, y, sy)
        width, centre = spread(x, sx, y, sy), np.abs(x * y)
    assert np.isfinite(found).all()
    assert np.isfinite(probability).all()
    # Where the value is so far from 0 that its last digit is wider than the distribution,
    # or too small to be written down, there is nothing to compare.
    visible = (width > 1e-290) & (centre * 1e-6 <= width)
    np.testing.assert_allclose(probability[visible], level, atol=1e-9)


@pytest.mark.parametrize("level", [0.01, 0.5, 0.8])
def test_a_quantile_near_a_large_mean_is_rounded_once(level: float) -> None:
    rng = np.random.default_rng(7)
    x, y = rng.uniform(1, 9, 50), rng.uniform(-9, -1, 50)
    distance = spread(x, 1e-12, y, 1e-12) * float(ndtri(level))
    exact = [
        Fraction(a) * Fraction(b) + Fraction(c) for a, b, c in zip(x, y, distance, strict=True)
    ]
    found = quantile(level, x, 1e-12, y, 1e-12)
    assert found.tolist() == [float(value) for value in exact]


@given(st.lists(factors, max_size=60), levels, st.integers(0, 70), st.data())
def test_the_largest_quantiles_are_those_of_brute_force(
    rows: list[Factors], level: float, count: int, data: st.DataObject
) -> None:
    if rows:  # songs that are told apart by their row only
        rows += data.draw(st.lists(st.sampled_from(rows), max_size=40))
    table = np.array(rows).reshape(-1, 4).T
    check_largest(level, [count], table)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_largest_quantiles_of_a_catalogue_are_those_of_brute_force(
    level: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    size = 600
    table = np.array(
        [
            rng.normal(rng.normal(), rng.choice([0.01, 0.3, 3.0]), size),
            rng.uniform(0.3, rng.choice([0.31, 2.0]), size) * (rng.random(size) > 0.1),
            np.where(rng.random(size) < 0.9, rng.normal(), rng.normal(size=size)),
            np.where(rng.random(size) < 0.9, rng.choice([0.0, 0.05, 1.0]), rng.random(size)),
        ]
    )
    table = table[:, rng.integers(0, size, size)]  # with repetition, so there are ties
    check_largest(level, [1, 3, 40, size - 1, size + 1], table)


def test_a_constant_ties_with_songs_that_are_solved_before_it() -> None:
    """Its bound is the lowest of all, and P(U ≤ threshold) leaps from 0 to 1 at the threshold."""
    deviations_x = np.where(np.arange(50) == 0, 0.0, 1.0)
    assert largest_quantiles(0.5, 2, 0.0, deviations_x, 1.0, 0.0)[0].tolist() == [0, 1]


def test_songs_whose_quantiles_differ_by_less_than_a_digit_are_equal() -> None:
    """The medians are one number in all rows, and the bounds put the last rows first."""
    rng = np.random.default_rng(3)
    narrow = np.geomspace(1e-15, 1e-12, 60)
    for mean_x in rng.uniform(1, 9, 20):
        table = np.array([np.full(60, mean_x), narrow, np.full(60, 0.7), narrow])
        assert len(set(quantile(0.5, *table).tolist())) == 1
        check_largest(0.5, [1, 5], table)


def test_no_songs_have_no_quantiles() -> None:
    nothing = np.empty((2, 0))
    assert product_normal.quantile(0.5, nothing, nothing).shape == (0,)
    assert product_normal.largest_quantiles(0.5, 3, nothing, nothing)[0].shape == (0,)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, float("nan")])
def test_a_level_that_is_no_probability_is_refused(level: float) -> None:
    normals = np.ones((2, 1)), np.ones((2, 1))
    with pytest.raises(InvalidInputError, match="level must be at least 1e-300 and below 1, got"):
        product_normal.quantile(level, *normals)
    with pytest.raises(InvalidInputError, match="level must be"):
        product_normal.largest_quantiles(level, 1, *normals)


def test_what_describes_no_normal_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"must not be negative, got -1\.0"):
        quantile(0.5, 1.0, [1.0, -1.0], 1.0, 1.0)
    with pytest.raises(InvalidInputError, match="must be finite, got NaN or infinity"):
        quantile(0.5, 1.0, 1.0, np.inf, 1.0)


def test_a_point_mass_scales_the_other_factor() -> None:
    found = quantile(0.9, [2.0, 0.0], [3.0, 0.0], [1.0, 5.0], [0.0, 1.0])
    assert found.tolist() == pytest.approx([2 + 3 * ndtri(0.9), 0.0])


@given(
    arrays(np.float64, (2, 2), elements=st.floats(-5, 5)),
    arrays(np.float64, (2, 2), elements=st.floats(0, 5)),
)
def test_the_variance_is_that_of_independent_factors(means: Matrix, deviations: Matrix) -> None:
    found = standard_deviation(means, deviations) ** 2
    squares = np.prod(means**2 + deviations**2, axis=0)
    expected = squares - np.prod(means**2, axis=0)
    np.testing.assert_allclose(found, expected, atol=1e-12 * (1 + squares.max()))


def plain_integral(value: float, drawn: Factors, *, split: bool) -> float:
    """Return (24) as it is written, panel by panel; without `split` it forgets that Y < 0."""
    mean_x, deviation_x, mean_y, deviation_y = drawn

    def integrand(y: float) -> float:
        if y == 0:
            return 0.0
        score = (value / y - mean_x) / deviation_x
        weight = np.exp(-0.5 * ((y - mean_y) / deviation_y) ** 2) / np.sqrt(2 * np.pi)
        return float(weight * ndtr(score if y > 0 or not split else -score) / deviation_y)

    with np.errstate(all="ignore"):
        edges = panel_edges(value, drawn)
        return sum(quad(integrand, low, high, epsabs=1e-13)[0] for low, high in pairwise(edges))


def panel_edges(value: float, drawn: Factors) -> Vector:
    """Return where Y changes sign, where Φ takes its step, and a mesh graded towards zero."""
    mean_x, deviation_x, mean_y, deviation_y = drawn
    steps = value / (mean_x + deviation_x * np.arange(-9.0, 9.5) + 1e-200)
    even = mean_y + deviation_y * np.arange(-9.0, 9.5)
    graded = np.outer([-1, 1], 2.0 ** np.arange(-38, 4, 3)).ravel() * deviation_y
    edges = np.concatenate([[0.0], steps, even, graded])
    edges = np.unique(edges[np.abs(edges - mean_y) <= 9 * deviation_y])
    # `quad` complains of panels that are too narrow to have an inside.
    return edges[np.diff(edges, prepend=-np.inf) > 1e-12 * deviation_y]


def check_largest(level: float, counts: list[int], table: AnyArray) -> None:
    every = quantile(level, *table)
    order = np.lexsort((np.arange(len(every)), -every))
    for count in counts:
        rows, values = largest_quantiles(level, count, *table)
        assert rows.tolist() == order[:count].tolist()
        assert values.tolist() == every[order[:count]].tolist()
