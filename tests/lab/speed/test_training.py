"""Training times: every method learns, at every size, side by side."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.engines.least_squares import LeastSquares
from bandstand.core.model.priors import paper_prior
from bandstand_lab.speed import training
from bandstand_lab.speed.timing import Timed
from bandstand_lab.speed.training import (
    METHODS,
    PAPER,
    REFERENCE_STEPS,
    STARS,
    TrainingStudy,
    learners,
)

COLUMNS = 3
HISTORY = PAPER.history(150, COLUMNS, np.random.default_rng(6))


def test_every_method_is_timed_and_a_reference_of_fewer_steps_is_scaled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training, "timed_again", lambda task: Timed(1.0, task()))
    found = training.train(ratings=20, turn=1, seed=1, columns=4, sampler_steps=50)
    assert set(found) == set(METHODS)
    assert found.pop("metropolis") == REFERENCE_STEPS / 50
    assert set(found.values()) == {1.0}


def test_ratios_of_training_times_are_means_of_paired_rounds() -> None:
    study = TrainingStudy(runs={("mcmc", 40): [8.0, 2.0], ("exact", 40): [1.0, 1.0]})
    assert study.ratios("mcmc", "exact")[40].value == pytest.approx(4.0)


@given(st.floats(-1.0, 3.0), st.floats(1e-4, 10.0))
def test_the_exponent_of_a_power_law_is_found(exponent: float, scale: float) -> None:
    sizes = (100, 400, 1_000, 3_000)
    runs = {("exact", size): [scale * (size / 100) ** exponent] for size in sizes}
    study = TrainingStudy(runs=runs)
    for fewest in (0, 400):
        found = study.exponent("exact", fewest)
        assert found is not None
        assert found.value == pytest.approx(exponent, abs=1e-9)
    assert study.exponent("exact", 3_000) is None


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
    assert found.nfev > right.evaluations


def test_every_method_is_there() -> None:
    tasks = learners(paper_prior(COLUMNS), COLUMNS, 30, 1, effective_draws=100)
    assert set(tasks) == set(METHODS)
