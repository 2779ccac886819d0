"""Tails of the Student t distribution, beside closed forms and SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr

from bandstand.core.model.student_mixture import StudentTail
from bandstand.types import AnyArray

_FREEDOMS = (0.002, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0, 7.3, 30.0, 505.0, 1e5, 1e9)


def where_tails_are(freedom: float, highest: float = 8.0) -> AnyArray:
    """Return values whose tails are those of a normal distribution from 0 to `highest`."""
    y = np.linspace(0.0, highest, 4_001)
    z = np.sqrt(freedom * np.expm1(np.minimum(y * y / freedom, 600.0)))
    return z[z < 1e120]


def test_cauchy() -> None:
    """One degree of freedom: S = ½ − arctan(z)/π = arctan(1/z)/π."""
    z = where_tails_are(1.0)[1:]
    np.testing.assert_allclose(StudentTail.of(1.0).above(z), np.arctan(1 / z) / np.pi, rtol=1e-12)


def test_two_degrees() -> None:
    """S = ½ (1 − z/√(2 + z²)) = 1/(√(2 + z²) (√(2 + z²) + z))."""
    z = where_tails_are(2.0)
    root = np.sqrt(2 + z * z)
    np.testing.assert_allclose(StudentTail.of(2.0).above(z), 1 / (root * (root + z)), rtol=1e-12)


@pytest.mark.parametrize("freedom", _FREEDOMS)
def test_scipy_on_both_sides(freedom: float) -> None:
    """Twelve digits of the smaller side, whatever the degrees of freedom."""
    z = where_tails_are(freedom)
    tail = StudentTail.of(freedom)
    np.testing.assert_allclose(tail.above(z), stdtr(freedom, -z), rtol=1e-12)
    np.testing.assert_allclose(tail.above(-z), stdtr(freedom, z), rtol=1e-12)


@pytest.mark.parametrize("freedom", _FREEDOMS)
def test_density(freedom: float) -> None:
    """The density by its formula, with Γ from the standard library."""
    z = where_tails_are(freedom, 6.0)
    above, density, fall = StudentTail.of(freedom).above_and_density(z)
    constant = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    constant -= 0.5 * math.log(freedom * math.pi)
    logs = constant - (freedom + 1) / 2 * np.log1p(z * z / freedom)
    # Γ's logarithm itself has lost digits where there are many degrees of freedom.
    np.testing.assert_allclose(density, np.exp(logs), rtol=max(1e-12, 1e-14 * freedom))
    np.testing.assert_array_equal(above, StudentTail.of(freedom).above(z))
    # By logarithms: −f'/f = (ν + 1) z/(ν + z²).
    np.testing.assert_allclose(fall, density * (freedom + 1) * z / (freedom + z * z), rtol=1e-12)


@given(
    st.floats(0.5, 1e6),
    st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=20),
)
def test_falls_from_one_to_zero(freedom: float, values: list[float]) -> None:
    """A survival function: between 0 and 1, never rising but for rounding, ½ in the middle."""
    z = np.sort(np.array([*values, 0.0]))
    above = StudentTail.of(freedom).above(z)
    assert ((above >= 0) & (above <= 1)).all()
    assert (np.diff(above) <= 1e-13 * above[:-1]).all()
    assert StudentTail.of(freedom).above(np.zeros(1))[0] == pytest.approx(0.5, rel=1e-14)
