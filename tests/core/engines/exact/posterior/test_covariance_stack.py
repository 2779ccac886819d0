from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.engines.engine import array_bytes
from bandstand.core.engines.exact.posterior.covariance_stack import (
    CovarianceStack,
    Diagonal,
    Same,
)


def drawn_stack(
    rng: np.random.Generator, nodes: int, columns: int, answers: int, *, shared: bool
) -> tuple[CovarianceStack, Any]:
    """Return a stack from which some answers were taken, and its matrices written out."""
    modes, levels = rng.normal(size=(columns, columns)), rng.uniform(0, 2, (nodes, columns))
    halves = modes * np.sqrt(levels)[:, np.newaxis]
    plain = halves @ halves.transpose(0, 2, 1)
    stack = CovarianceStack.of(plain.copy())
    if shared:
        stack = CovarianceStack(base=Diagonal(modes=modes, levels=levels), taken=stack.taken)
    for _ in range(answers):
        features = rng.normal(size=columns)
        towards = plain @ features
        taken = towards / np.sqrt(1 + towards @ features)[:, np.newaxis]
        plain = plain - taken[:, :, np.newaxis] * taken[:, np.newaxis]
        stack = stack.without(taken)
    return stack, plain


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    nodes=st.integers(2, 6),
    columns=st.integers(1, 60),
    answers=st.integers(0, 60),
    shared=st.booleans(),
)
def test_whatever_is_asked_is_as_if_every_matrix_had_been_written_out(
    seed: int, nodes: int, columns: int, answers: int, *, shared: bool
) -> None:
    rng = np.random.default_rng(seed)
    stack, plain = drawn_stack(rng, nodes, columns, answers, shared=shared)
    x, songs = rng.normal(size=columns), rng.normal(size=(5, columns))
    unit = 1e-9 * float(np.abs(plain).max())
    some = [nodes - 1, 0]
    assert stack.dense == pytest.approx(plain, rel=1e-9, abs=unit)
    assert (stack.dense == stack.dense.transpose(0, 2, 1)).all()  # to the last bit
    assert (stack.at([0]) == stack.at([0]).transpose(0, 2, 1)).all()
    assert stack.at(some) == pytest.approx(plain[some], rel=1e-9, abs=unit)
    assert stack.times(x) == pytest.approx(plain @ x, rel=1e-9, abs=unit)
    variances = np.einsum("sp,gpq,sq->sg", songs, plain, songs)
    assert stack.variances_of(songs) == pytest.approx(variances, rel=1e-9, abs=columns * unit)
    assert stack.variances_of(songs[:0]).shape == (0, nodes)
    share = rng.uniform(0, 1, nodes)
    assert stack.pooled(share) == pytest.approx(
        np.einsum("g,gpq->pq", share, plain), rel=1e-9, abs=nodes * unit
    )


def test_an_answer_copies_no_matrix_until_there_are_many() -> None:
    rng = np.random.default_rng(0)
    stack, _ = drawn_stack(rng, 3, 8, 0, shared=False)
    longer = stack.without(rng.normal(size=(3, 8)) * 1e-3)
    assert longer.base is stack.base
    assert len(stack.taken) == 0  # what was there before is as it was
    for _ in range(100):
        longer = longer.without(rng.normal(size=(3, 8)) * 1e-3)
        assert len(longer.taken) < longer.room
    assert longer.base is not stack.base
    assert array_bytes(stack) == 8 * 3 * 8 * 8


def test_a_direction_that_takes_everything_leaves_no_negative_variance() -> None:
    base = np.diag([1.0, 1e-20])[np.newaxis]
    stack = CovarianceStack.of(base).without(np.array([[1.0 + 1e-15, 0.0]]))
    assert (stack.variances_of(np.eye(2)) >= 0).all()


@given(
    seed=st.integers(0, 10_000),
    columns=st.integers(1, 40),
    alike=st.integers(0, 50),
    others=st.integers(0, 50),
)
def test_one_matrix_serves_all_nodes_until_an_answer_differs_by_node(
    seed: int, columns: int, alike: int, others: int
) -> None:
    rng, nodes = np.random.default_rng(seed), 4
    root = rng.normal(size=(columns, columns))
    plain = np.tile(root @ root.T + np.eye(columns), (nodes, 1, 1))
    stack = CovarianceStack.same(plain[0], nodes)
    for answer in range(alike + others):
        scale = np.ones(nodes) if answer < alike else rng.uniform(0, 1, nodes)
        towards = scale[:, np.newaxis] * stack.times(rng.normal(size=columns)) / 3
        growth = np.einsum("gp,gpq,gq->g", towards, np.linalg.inv(plain), towards)
        taken = towards / np.sqrt(1 + growth)[:, np.newaxis]
        plain = plain - taken[:, :, np.newaxis] * taken[:, np.newaxis]
        stack = stack.without(taken)
    unit = 1e-9 * float(np.abs(plain).max())
    assert isinstance(stack.base, Same) or others
    assert array_bytes(stack) <= 8 * columns * (columns + stack.room) or others
    assert stack.dense == pytest.approx(plain, rel=1e-9, abs=unit)
    assert stack.at([2, 0]) == pytest.approx(plain[[2, 0]], rel=1e-9, abs=unit)
    x, songs = rng.normal(size=columns), rng.normal(size=(3, columns))
    assert stack.times(x) == pytest.approx(plain @ x, rel=1e-9, abs=unit)
    variances = np.einsum("sp,gpq,sq->sg", songs, plain, songs)
    assert stack.variances_of(songs) == pytest.approx(variances, rel=1e-9, abs=columns * unit)
    share = rng.uniform(0, 1, nodes)
    pooled = np.einsum("g,gpq->pq", share, plain)
    assert stack.pooled(share) == pytest.approx(pooled, rel=1e-9, abs=nodes * unit)
    rows = rng.normal(size=(3, nodes, columns))
    products = np.einsum("gpq,ngq->ngp", plain, rows)
    assert stack.times_each(rows) == pytest.approx(products, rel=1e-8, abs=columns * unit)
