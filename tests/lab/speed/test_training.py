"""Training times: every method learns, at every size, side by side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.engines.least_squares import LeastSquares
from bandstand.core.model.priors import paper_prior
from bandstand_lab.speed.timing import Spread
from bandstand_lab.speed.training import (
    ITERATIONS,
    LABELS,
    METHODS,
    PAPER,
    STARS,
    TrainingStudy,
    TrainingTime,
    converged,
    iterations,
    learners,
    measure_training,
)

SIZES = (20, 40)
COLUMNS = 3
HISTORY = PAPER.history(150, COLUMNS, np.random.default_rng(6))


@pytest.fixture(scope="module")
def study() -> TrainingStudy:
    return measure_training(
        PAPER, sizes=SIZES, rounds=2, columns=4, seed=1, sampler_steps=50, on_run=lambda _: None
    )


def test_every_method_is_measured_at_every_size_in_every_round(study: TrainingStudy) -> None:
    assert {(one.method, one.ratings) for one in study.times} == {
        (method, size) for method in METHODS for size in SIZES
    }
    assert all(len(one.seconds.runs) == 2 and one.seconds.minimum > 0 for one in study.times)


def test_a_reference_of_fewer_steps_is_scaled_and_says_so(study: TrainingStudy) -> None:
    for one in study.times:
        row = one.as_json()
        if one.method == "metropolis":
            assert (row["measured_steps"], row["scaled"]) == (50, True)
        else:
            assert "scaled" not in row


def test_ratios_of_training_times_are_medians_of_paired_rounds(study: TrainingStudy) -> None:
    above, below = (np.array(study.seconds(name, 40).runs) for name in ("metropolis", "exact"))
    assert study.ratio("metropolis", "exact", 40).median == pytest.approx(np.median(above / below))


@given(st.floats(-1.0, 3.0), st.floats(1e-4, 10.0))
def test_the_exponent_of_a_power_law_is_found(exponent: float, scale: float) -> None:
    study = TrainingStudy(
        times=tuple(
            TrainingTime(
                world="paper",
                method="exact",
                ratings=size,
                seconds=Spread(runs=(scale * (size / 100) ** exponent,)),
                converged_share=None,
            )
            for size in (100, 400, 1_000, 3_000)
        )
    )
    assert study.growth("exact") == pytest.approx(exponent, abs=1e-9)
    assert study.growth("exact", 400) == pytest.approx(exponent, abs=1e-9)
    assert study.growth("exact", 3_000) is None


def test_half_of_the_songs_of_a_world_are_new_and_the_others_were_heard_lately() -> None:
    for world in (PAPER, STARS):
        history = world.history(400, 5, np.random.default_rng(2))
        new = history.elapsed == 43_200
        assert 150 < new.sum() < 250
        assert history.elapsed[~new].min() >= 1
        assert history.elapsed[~new].max() <= 3_000
    assert set(history.ratings) <= {1.0, 2.0, 3.0, 4.0, 5.0}


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
