"""The methods of the efficiency study learn, and say how many iterations they took."""

from __future__ import annotations

import numpy as np
import pytest

from bandstand.inference.least_squares import LeastSquares
from bandstand.model.priors import paper_prior
from bandstand_lab.speed.training import (
    ITERATIONS,
    LABELS,
    METHODS,
    converged,
    iterations,
    learners,
)
from bandstand_lab.speed.world import PAPER

COLUMNS = 3
HISTORY = PAPER.history(150, COLUMNS, np.random.default_rng(6))


def test_without_a_gradient_the_same_minimum_is_found_with_more_evaluations() -> None:
    found = learners(paper_prior(COLUMNS), COLUMNS, 10, 1)["least-squares-differences"](HISTORY)
    right = LeastSquares().fit(HISTORY)
    unit = np.abs(HISTORY.ratings).max()
    assert unit * found.x[:-1] == pytest.approx(right.preference, abs=1e-3)
    assert np.exp(found.x[-1]) == pytest.approx(right.recovery_time, rel=1e-2)
    few, many = (
        iterations(method, result)
        for method, result in (
            ("least-squares", right),
            ("least-squares-differences", found),
        )
    )
    assert few is not None
    assert many is not None
    assert many > few


def test_every_method_learns_and_says_how_many_iterations_it_took() -> None:
    tasks = learners(paper_prior(COLUMNS), COLUMNS, 30, 1, effective_draws=100)
    assert set(tasks) == set(METHODS) == set(LABELS)
    for method, task in tasks.items():
        result = task(HISTORY)
        count = iterations(method, result)
        assert (count is None) == (method not in ITERATIONS)
        assert count is None or count > 0
        assert converged(result) in {True, False, None}


def test_what_does_not_say_whether_it_converged_is_not_asked() -> None:
    assert converged(object()) is None
