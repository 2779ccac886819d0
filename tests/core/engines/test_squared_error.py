from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.engines.least_squares import penalised, plain
from bandstand.core.model.history import History
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import (
    GammaRecovery,
    ListenerPrior,
    LogNormalRecovery,
    NoisePrior,
    PreferencePrior,
)

if TYPE_CHECKING:
    from bandstand.core.engines.least_squares import Objective
    from bandstand.types import Vector

seeds = st.integers(0, 2**32)
log_times = st.floats(0, 12)
units = st.floats(0.1, 10)


def drawn_history(rng: np.random.Generator) -> History:
    return History.of(
        features=rng.standard_normal((7, 3)),
        elapsed=np.exp(rng.uniform(0, 10, 7)),
        ratings=rng.normal(3, 1, 7),
        weights=rng.gamma(2, 1, 7),
    )


def drawn_prior(rng: np.random.Generator) -> ListenerPrior:
    root = rng.standard_normal((3, 5))
    recovery = (
        GammaRecovery(shape=rng.uniform(1, 5), rate=rng.uniform(1e-3, 1e-1)),
        LogNormalRecovery(
            median=rng.uniform(50, 2_000), log_standard_deviation=rng.uniform(0.3, 2)
        ),
    )
    return ListenerPrior(
        preference=PreferencePrior.correlated(rng.standard_normal(3), root @ root.T),
        recovery=recovery[rng.integers(2)],
        noise=NoisePrior(shape=rng.uniform(1e-3, 3), rate=rng.uniform(1e-3, 3)),
    )


def squares(history: History, preference: Vector, recovery_time: float) -> float:
    """Return Σ w (r − θ'x u)², one answer after the other."""
    total = 0.0
    for x, t, r, w in zip(
        history.features, history.elapsed, history.ratings, history.weights, strict=True
    ):
        total += float(w * (r - (x @ preference) * novelty(t, recovery_time)) ** 2)
    return total


def differences(objective: Objective, place: Vector) -> Vector:
    """Return the gradient of `objective` by central differences."""
    step = 1e-5
    moves = step * np.eye(len(place))
    return np.array(
        [(objective(place + h)[0] - objective(place - h)[0]) / (2 * step) for h in moves]
    )


@given(seed=seeds, y=log_times, unit=units)
def test_the_gradients_are_those_of_the_values(seed: int, y: float, unit: float) -> None:
    rng = np.random.default_rng(seed)
    history, place = drawn_history(rng), np.append(rng.standard_normal(3), y)
    for objective in (plain(history, unit), penalised(history, unit, drawn_prior(rng))):
        _, gradient = objective(place)
        scale = 1 + np.abs(gradient).max()
        np.testing.assert_allclose(gradient, differences(objective, place), atol=1e-7 * scale)


@given(seed=seeds, y=log_times, unit=units)
def test_the_plain_form_is_the_sum_of_squares_as_a_share_of_that_of_the_ratings(
    seed: int, y: float, unit: float
) -> None:
    rng = np.random.default_rng(seed)
    history, preference = drawn_history(rng), rng.standard_normal(3)
    value, _ = plain(history, unit)(np.append(preference / unit, y))
    expected = squares(history, preference, math.exp(y)) / squares(history, np.zeros(3), 1.0)
    assert value == pytest.approx(expected, rel=1e-10)


@given(seed=seeds, y=log_times, other=log_times, unit=units)
def test_the_penalised_form_is_minus_the_log_density_of_preference_and_recovery_time(
    seed: int, y: float, other: float, unit: float
) -> None:
    rng = np.random.default_rng(seed)
    history, prior = drawn_history(rng), drawn_prior(rng)
    objective = penalised(history, unit, prior)
    power = prior.noise.shape + (7 + 3) / 2

    def minus_log_density(preference: Vector, log_time: float) -> float:
        shift = preference - prior.preference.mean
        total = squares(history, preference, math.exp(log_time))
        total += float(shift @ prior.preference.precision @ shift)
        # The prior is a density of y; divided by s it is one of s.
        log_prior = float(prior.recovery.log_density(np.array([log_time]))[0]) - log_time
        return power * math.log(prior.noise.rate + total / 2) - log_prior

    first, second = rng.standard_normal(3), rng.standard_normal(3)
    gap = objective(np.append(first / unit, y))[0] - objective(np.append(second / unit, other))[0]
    expected = minus_log_density(first, y) - minus_log_density(second, other)
    assert power * gap == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("elapsed", [0.0, 1e-300, 1e-9, 1e30])
@pytest.mark.parametrize("y", [-600.0, 0.0, 600.0])
def test_no_recovery_time_is_too_short_or_too_long(elapsed: float, y: float) -> None:
    history = History.of(features=[[1.0], [2.0]], elapsed=elapsed, ratings=[3, 4])
    with np.errstate(all="raise"):
        value, gradient = plain(history, 1.0)(np.array([1.0, y]))
    assert math.isfinite(value)
    assert np.isfinite(gradient).all()
