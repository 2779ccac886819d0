from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bandstand.core.engines.exact.posterior.conjugate import condition_on
from bandstand.core.engines.least_squares import LeastSquares, penalised, plain
from bandstand.core.model.history import History, Songs
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import (
    GammaRecovery,
    ListenerPrior,
    LogNormalRecovery,
    NoisePrior,
    PreferencePrior,
    paper_prior,
)
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH, Minutes

if TYPE_CHECKING:
    from bandstand.core.engines.least_squares import Objective
    from bandstand.types import Vector

seeds = st.integers(0, 2**32)
log_times = st.floats(0, 12)
units = st.floats(0.1, 10)


def simulated(
    seed: int, *, count: int, columns: int, noise: float, recovery_time: float = 400.0
) -> tuple[Vector, History]:
    """Return a taste and what a listener with it answered, at times from a minute to a month."""
    rng = np.random.default_rng(seed)
    taste = rng.standard_normal(columns)
    features = rng.standard_normal((count, columns))
    elapsed = np.exp(rng.uniform(0, math.log(MONTH), count))
    ratings = (features @ taste) * novelty(elapsed, recovery_time)
    ratings += noise * rng.standard_normal(count)
    return taste, History.of(features=features, elapsed=elapsed, ratings=ratings)


def drawn_prior(rng: np.random.Generator, columns: int = 3) -> ListenerPrior:
    root = rng.standard_normal((columns, columns + 2))
    recovery = (
        GammaRecovery(shape=rng.uniform(1, 5), rate=rng.uniform(1e-3, 1e-1)),
        LogNormalRecovery(
            median=rng.uniform(50, 2_000), log_standard_deviation=rng.uniform(0.3, 2)
        ),
    )
    return ListenerPrior(
        preference=PreferencePrior.correlated(rng.standard_normal(columns), root @ root.T),
        recovery=recovery[rng.integers(2)],
        noise=NoisePrior(shape=rng.uniform(1e-3, 3), rate=rng.uniform(1e-3, 3)),
    )


# ── The truth, where it can be known ─────────────────────────────────────────────────────


@given(seed=seeds, columns=st.integers(1, 6), s=st.floats(50, 3_000))
def test_the_truth_is_recovered_from_ratings_without_noise(
    seed: int, columns: int, s: float
) -> None:
    taste, history = simulated(seed, count=60, columns=columns, noise=0.0, recovery_time=s)
    assume(np.abs(taste).max() > 0.1)
    belief = LeastSquares().fit(history)
    assert belief.recovery_time == pytest.approx(s, rel=1e-4)
    np.testing.assert_allclose(belief.preference, taste, atol=1e-4)
    assert belief.residual_variance == pytest.approx(0.0, abs=1e-9)


@given(seed=seeds, columns=st.integers(1, 6), count=st.integers(12, 60))
def test_where_every_song_is_new_it_is_ordinary_least_squares(
    seed: int, columns: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    features, ratings = rng.standard_normal((count, columns)), rng.normal(3, 1, count)
    # So long after the last play that novelty is 1 to the last digit for every s in reach.
    engine = LeastSquares(longest=Minutes(1_000.0))
    belief = engine.fit(History.of(features=features, elapsed=MONTH, ratings=ratings))
    expected, residual, _, _ = np.linalg.lstsq(features, ratings, rcond=None)
    np.testing.assert_allclose(belief.preference, expected, atol=1e-6)
    assert belief.residual_variance == pytest.approx(float(residual[0]) / count, rel=1e-9)
    assert belief.recovery_time == pytest.approx(300.0)  # nothing was said about it
    assert belief.converged


@given(seed=seeds, s=st.floats(50, 3_000), columns=st.integers(1, 5))
def test_a_fixed_recovery_time_leaves_a_linear_problem(seed: int, s: float, columns: int) -> None:
    _, history = simulated(seed, count=30, columns=columns, noise=1.0)
    belief = LeastSquares(shortest=Minutes(s), longest=Minutes(s)).fit(history)
    rows = history.features * novelty(history.elapsed, s)[:, np.newaxis]
    expected = np.linalg.lstsq(rows, history.ratings, rcond=None)[0]
    np.testing.assert_allclose(belief.preference, expected, atol=1e-6)
    assert belief.recovery_time == pytest.approx(s)


def profile_minimum(profile: Vector) -> int:
    """Return where the minimum of `profile` is; only cases with one minimum, inside, are used."""
    lowest = int(np.argmin(profile))
    assume(0 < lowest < len(profile) - 1)
    assume(bool((np.diff(profile[: lowest + 1]) <= 0).all()))
    assume(bool((np.diff(profile[lowest:]) >= 0).all()))
    return lowest


@settings(max_examples=30)
@given(seed=seeds, columns=st.integers(1, 3), count=st.integers(8, 30))
def test_the_plain_form_finds_the_minimum_that_brute_force_finds(
    seed: int, columns: int, count: int
) -> None:
    _, history = simulated(seed, count=count, columns=columns, noise=0.5)
    nodes = np.linspace(0, math.log(2**17), 300)

    def best_given(y: float) -> float:
        rows = history.features * novelty(history.elapsed, math.exp(y))[:, np.newaxis]
        fit = np.linalg.lstsq(rows, history.ratings, rcond=None)[0]
        return float(np.square(history.ratings - rows @ fit).sum())

    profile = np.array([best_given(y) for y in nodes])
    lowest = profile_minimum(profile)
    belief = LeastSquares().fit(history)
    assert belief.residual_variance is not None
    assert count * belief.residual_variance <= profile[lowest] * (1 + 1e-9)
    assert nodes[lowest - 1] < math.log(belief.recovery_time) < nodes[lowest + 1]


@settings(max_examples=40)
@given(seed=seeds, columns=st.integers(1, 3), count=st.integers(1, 12))
def test_the_penalised_form_finds_the_mode_that_brute_force_finds(
    seed: int, columns: int, count: int
) -> None:
    _, history = simulated(seed, count=count, columns=columns, noise=0.5)
    prior = drawn_prior(np.random.default_rng(seed), columns)
    power = prior.noise.shape + (count + columns) / 2
    nodes = np.linspace(0, math.log(2**17), 300)

    def best_given(y: float) -> float:
        # Given s the density is largest at θ = m_s, where B is the conjugate rate.
        log_prior = float(prior.recovery.log_density(np.array([y]))[0]) - y
        return power * math.log(condition_on(prior, history, math.exp(y)).rate) - log_prior

    profile = np.array([best_given(y) for y in nodes])
    lowest = profile_minimum(profile)
    belief = LeastSquares(penalty=prior).fit(history)
    y = math.log(belief.recovery_time)
    assert best_given(y) <= profile[lowest] + 1e-9 * (1 + abs(profile[lowest]))
    assert nodes[lowest - 1] < y < nodes[lowest + 1]
    mode = condition_on(prior, history, belief.recovery_time).mean
    np.testing.assert_allclose(belief.preference, mode, atol=1e-5)


# ── No data ──────────────────────────────────────────────────────────────────────────────


@given(seed=seeds, columns=st.integers(1, 4))
def test_without_data_the_estimate_is_the_prior_mean(seed: int, columns: int) -> None:
    assert LeastSquares().fit(History.empty(columns)).recovery_time == 300.0
    prior = drawn_prior(np.random.default_rng(seed), columns)
    belief = LeastSquares(penalty=prior).fit(History.empty(columns))
    np.testing.assert_array_equal(belief.preference, prior.preference.mean)
    match prior.recovery:
        case GammaRecovery(shape=shape, rate=rate):
            expected = shape / rate
        case LogNormalRecovery(median=median, log_standard_deviation=spread):
            expected = median * math.exp(spread**2 / 2)
    assert belief.recovery_time == pytest.approx(expected, rel=1e-9)


# ── Weights ──────────────────────────────────────────────────────────────────────────────


@given(seed=seeds, scale=st.sampled_from([1e-300, 1e-12, 1.0, 1e12, 1e29]))
def test_a_weight_of_two_is_the_same_answer_twice(seed: int, scale: float) -> None:
    _, history = simulated(seed, count=25, columns=3, noise=0.5)
    parts: dict[str, Any] = {
        "features": history.features,
        "elapsed": history.elapsed,
        "ratings": history.ratings,
    }
    once = History.of(**parts, weights=scale * np.where(np.arange(25) < 5, 2.0, 1.0))
    repeated: dict[str, Any] = {
        name: np.concatenate([part, part[:5]]) for name, part in parts.items()
    }
    with np.errstate(all="raise"):
        first = LeastSquares().fit(once)
        second = LeastSquares().fit(History.of(**repeated))
    np.testing.assert_allclose(first.preference, second.preference, atol=1e-5)
    assert first.recovery_time == pytest.approx(second.recovery_time, rel=1e-4)


# ── Online ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("engine", [LeastSquares(), LeastSquares(penalty=paper_prior(4))])
def test_one_answer_at_a_time_comes_to_the_same_estimate_in_fewer_steps(
    engine: LeastSquares,
) -> None:
    _, history = simulated(7, count=80, columns=4, noise=0.5)
    belief = engine.fit(history.first(0))
    warm, cold = [], []
    for count in range(1, 81):
        belief = engine.update(belief, history.first(count))
        if count > 40:
            warm.append(belief.evaluations)
            cold.append(engine.fit(history.first(count)).evaluations)
    batch = engine.fit(history)
    np.testing.assert_allclose(belief.preference, batch.preference, atol=1e-6)
    assert belief.recovery_time == pytest.approx(batch.recovery_time, rel=1e-5)
    # A single one may take more, depending on how the machine rounds.
    assert np.median(warm) < np.median(cold)
    assert len(belief.history) == 80


# ── Prediction ───────────────────────────────────────────────────────────────────────────


def test_a_prediction_has_a_mean_made_of_content_and_novelty_and_no_spread() -> None:
    taste, history = simulated(3, count=40, columns=2, noise=0.0)
    engine = LeastSquares()
    belief = engine.fit(history)
    songs = Songs.of(features=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], elapsed=[0, 100, MONTH])
    point = engine.predict(belief, songs)
    parts = point.parts()
    np.testing.assert_allclose(parts["content"], [taste[0], taste[1], taste.sum()], atol=1e-4)
    np.testing.assert_allclose(parts["novelty"], novelty(songs.elapsed, 400.0), atol=1e-4)
    np.testing.assert_array_equal(point.mean(), parts["content"] * parts["novelty"])


# ── What is refused ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("shortest", "longest"), [(0.0, 1.0), (2.0, 1.0), (1.0, math.inf)])
def test_bounds_that_hold_no_recovery_time_are_refused(shortest: float, longest: float) -> None:
    with pytest.raises(InvalidInputError, match="bounds of the recovery time must be"):
        LeastSquares(shortest=Minutes(shortest), longest=Minutes(longest))


# ── What is minimised ────────────────────────────────────────────────────────────────────


def drawn_history(rng: np.random.Generator) -> History:
    return History.of(
        features=rng.standard_normal((7, 3)),
        elapsed=np.exp(rng.uniform(0, 10, 7)),
        ratings=rng.normal(3, 1, 7),
        weights=rng.gamma(2, 1, 7),
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
