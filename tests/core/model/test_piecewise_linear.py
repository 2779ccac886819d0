"""Two ways to write a piecewise-linear curve: they are the same, and one is well conditioned."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bandstand.core.model.novelty import (
    PAPER_BASIS,
    RADIO_BASIS,
    PiecewiseLinearBasis,
)
from bandstand.errors import InvalidInputError
from bandstand.types import Matrix, Vector

BASES: Final = {"paper": PAPER_BASIS, "radio": RADIO_BASIS}
every_basis = pytest.mark.parametrize("basis", BASES.values(), ids=BASES.keys())
WORST_CONDITION: Final = 1e4


@st.composite
def bases(draw: st.DrawFn) -> PiecewiseLinearBasis:
    steps = draw(st.lists(st.floats(0.01, 1_000), min_size=1, max_size=8))
    nodes = np.cumsum(steps)
    return PiecewiseLinearBasis(knots=tuple(nodes[:-1].tolist()), cap=float(nodes[-1]))


def scaled_condition(matrix: Matrix) -> float:
    """Return the condition number after Jacobi scaling, which is what Cholesky feels."""
    size = 1 / np.sqrt(np.diagonal(matrix))
    return float(np.linalg.cond(matrix * size * size[:, np.newaxis]))


def exact_inverse(rows: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """Return the inverse of a matrix of fractions, by elimination, without any rounding."""
    size = len(rows)
    table = [[*row, *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(rows)]
    for at in range(size):
        pivot = next(row for row in range(at, size) if table[row][at] != 0)
        table[at], table[pivot] = table[pivot], table[at]
        table[at] = [value / table[at][at] for value in table[at]]
        for row in range(size):
            if row != at and table[row][at] != 0:
                factor = table[row][at]
                table[row] = [a - factor * b for a, b in zip(table[row], table[at], strict=True)]
    return [row[size:] for row in table]


def fractions_of(matrix: Matrix) -> list[list[Fraction]]:
    return [[Fraction(float(value)) for value in row] for row in matrix]


@given(bases(), st.data())
def test_both_vectors_make_the_same_curve(basis: PiecewiseLinearBasis, data: st.DataObject) -> None:
    size = basis.dimension
    values = data.draw(arrays(np.float64, size, elements=st.floats(-10, 10)))
    t = data.draw(arrays(np.float64, 5, elements=st.floats(0, 3 * basis.cap)))
    by_hats = basis.hats(t) @ values
    by_hinges = basis.hinges(t) @ (basis.coefficients() @ values)
    steepest = np.abs(np.diff(values) / np.diff(basis.nodes)).max()
    np.testing.assert_allclose(by_hinges, by_hats, atol=1e-12 * (1 + steepest * basis.cap))


@given(bases())
def test_a_hat_is_one_at_its_own_node_and_zero_at_all_others(basis: PiecewiseLinearBasis) -> None:
    np.testing.assert_array_equal(basis.hats(basis.nodes), np.eye(basis.dimension))


@given(bases(), st.floats(0, 1))
def test_hats_share_out_one(basis: PiecewiseLinearBasis, place: float) -> None:
    (hats,) = basis.hats(np.array([place * basis.cap]))
    assert hats.sum() == pytest.approx(1.0, rel=1e-15)
    assert hats.min() >= 0
    assert np.count_nonzero(hats) <= 2


@every_basis
def test_the_closed_form_of_the_change_of_basis_is_its_inverse(basis: PiecewiseLinearBasis) -> None:
    exact = exact_inverse(fractions_of(basis.hinges(basis.nodes)))
    expected = np.array([[float(value) for value in row] for row in exact])
    np.testing.assert_allclose(basis.coefficients(), expected, rtol=1e-14, atol=0)


@every_basis
def test_the_mapped_precision_is_exact(basis: PiecewiseLinearBasis) -> None:
    back = exact_inverse(fractions_of(basis.hinges(basis.nodes)))
    size = range(basis.dimension)
    exact = np.array(
        [[float(100 * sum(back[k][i] * back[k][j] for k in size)) for j in size] for i in size]
    )
    mapped = basis.precision_of_values(100 * np.eye(basis.dimension))
    scale = np.sqrt(np.outer(np.diagonal(exact), np.diagonal(exact)))
    assert np.abs((mapped - exact) / scale).max() < 1e-15
    np.testing.assert_array_equal(mapped, mapped.T)


def rated_times(count: int) -> Vector:
    rng = np.random.default_rng(3)
    return np.where(rng.random(count) < 0.3, 43_200.0, np.exp(rng.uniform(-3, 10.6, count)))


@pytest.mark.parametrize("count", [0, 1, 10, 1_000])
def test_equations_in_hats_are_well_conditioned(count: int) -> None:
    t = rated_times(count)
    hats = PAPER_BASIS.hats(t)
    prior = PAPER_BASIS.precision_of_values(100 * np.eye(17))
    condition = scaled_condition(prior + hats.T @ hats)
    assert condition < WORST_CONDITION


def test_equations_in_hinges_are_not() -> None:
    hinges = PAPER_BASIS.hinges(rated_times(1_000))
    matrix = 100 * np.eye(17) + hinges.T @ hinges
    assert np.linalg.cond(matrix) > 1e8
    assert scaled_condition(matrix) > 1e8


@pytest.mark.parametrize(
    ("knots", "cap"),
    [((0.0, 1.0), 2.0), ((2.0, 1.0), 3.0), ((1.0, 1.0), 3.0), ((1.0,), 1.0), ((1.0,), np.inf)],
)
def test_nodes_that_do_not_ascend_are_refused(knots: tuple[float, ...], cap: float) -> None:
    with pytest.raises(InvalidInputError, match="knots must be positive and ascend to the cap"):
        PiecewiseLinearBasis(knots=knots, cap=cap)
