from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, stdtr
from scipy.stats import kstest
from scipy.stats import t as student

from bandstand.core.engines.engine import array_bytes
from bandstand.core.engines.exact.engine import Exact, ExactBelief
from bandstand.core.engines.exact.posterior import conjugate
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import (
    GammaRecovery,
    ListenerPrior,
    LogNormalRecovery,
    NoisePrior,
    PreferencePrior,
    paper_prior,
    radio_prior,
)
from tests.fixtures.brute_force import Answer, Setting, gamma_setting, integrate
from tests.fixtures.simulated_listeners import MONTH, simulated_history

if TYPE_CHECKING:
    from bandstand.core.engines.exact.prediction import ExactPrediction

positive = st.floats(0.05, 20.0)


def proper_prior(columns: int, *, shape: float = 3.0, rate: float = 2.0) -> ListenerPrior:
    return ListenerPrior(
        preference=PreferencePrior.isotropic(columns, 4.0),
        recovery=GammaRecovery(),
        noise=NoisePrior(shape=shape, rate=rate),
    )


def check_same(prediction: ExactPrediction, truth: Answer, level: float) -> None:
    assert prediction.mean() == pytest.approx(truth.mean, rel=1e-6, abs=1e-12)
    assert prediction.standard_deviation() == pytest.approx(truth.standard_deviation, rel=1e-6)
    assert prediction.quantile(level) == pytest.approx(truth.quantile, rel=1e-6)


# ── Against brute force ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("count", "share_unheard"),
    [(3, 0.5), (10, 1.0), (60, 0.5), (600, 1.0), (3_000, 0.5), (3_000, 1.0)],
)
def test_it_equals_brute_force_from_three_ratings_to_three_thousand(
    count: int, share_unheard: float
) -> None:
    rng = np.random.default_rng([count, int(10 * share_unheard)])
    history = simulated_history(
        rng, count=count, columns=2, weighted=True, share_unheard=share_unheard
    )
    engine = Exact(prior=paper_prior(2))
    belief = engine.fit(history)
    song, level = rng.normal(size=2), 1 - 1 / (count + 1)
    for elapsed in (MONTH, 120.0, 1.0):
        prediction = engine.predict(belief, Songs.of(features=[song], elapsed=elapsed))
        truth = integrate(gamma_setting(2), history, song, elapsed, level)
        check_same(prediction, truth, level)
    summary = engine.summary(belief)
    assert summary.recovery_time_mean == pytest.approx(truth.recovery_time_mean, rel=1e-6)
    assert summary.recovery_time_sd == pytest.approx(truth.recovery_time_sd, rel=1e-6)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_with_a_proper_noise_prior_it_equals_brute_force_from_no_rating_on(count: int) -> None:
    history = simulated_history(np.random.default_rng(count), count=count, columns=2)
    engine = Exact(prior=proper_prior(2))
    prediction = engine.predict(
        engine.fit(history), Songs.of(features=[[0.7, -1.1]], elapsed=200.0)
    )
    setting = gamma_setting(2, variance=4.0, shape=3.0, rate=2.0)
    truth = integrate(setting, history, [0.7, -1.1], 200.0, 0.9)
    check_same(prediction, truth, 0.9)


def test_a_prior_with_any_mean_and_covariance_equals_brute_force() -> None:
    rng = np.random.default_rng(5)
    history = simulated_history(rng, count=12, columns=3, weighted=True)
    mean, covariance = [1.0, -2.0, 0.5], [[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]]
    prior = ListenerPrior(
        preference=PreferencePrior.correlated(mean, covariance),
        recovery=LogNormalRecovery(median=500.0, log_standard_deviation=1.2),
        noise=NoisePrior(shape=1.5, rate=0.7),
    )
    setting = Setting(
        mean=np.array(mean),
        covariance=np.array(covariance),
        log_density_of_s=lambda s: -0.5 * (math.log(s / 500.0) / 1.2) ** 2 - math.log(s),
        shape=1.5,
        rate=0.7,
    )
    engine = Exact(prior=prior)
    song = rng.normal(size=3)
    prediction = engine.predict(engine.fit(history), Songs.of(features=[song], elapsed=90.0))
    truth = integrate(setting, history, song, 90.0, 0.99)
    check_same(prediction, truth, 0.99)


@pytest.mark.parametrize("seed", range(5))
def test_few_ratings_with_hardly_any_noise_equal_brute_force(seed: int) -> None:
    """The posterior of the recovery time is a needle with long tails."""
    rng = np.random.default_rng(seed)
    count, noise = int(rng.integers(3, 20)), 10.0 ** rng.uniform(-3, -1)
    x = 10 * rng.normal(size=count)
    t = np.minimum(rng.exponential(10.0 ** rng.uniform(0, 4), size=count), MONTH)
    r = 0.7 * x * -np.expm1(-t / rng.uniform(100, 1_000)) + noise * rng.normal(size=count)
    engine = Exact(prior=paper_prior(1))
    belief = engine.fit(History.of(features=x[:, np.newaxis], elapsed=t, ratings=r))
    # One feature: everything is a number, so half a million nodes are nothing.
    y = np.linspace(np.log(1e-3), np.log(1e6), 500_001)
    table = np.concatenate([_one_feature(x, t, r, part) for part in np.array_split(y, 50)], axis=1)
    share = np.exp(table[0] - table[0].max())
    share /= share.sum()
    freedom = 2e-3 + count
    for elapsed in (MONTH, 400.0, 20.0):
        prediction = engine.predict(belief, Songs.of(features=[[1.0]], elapsed=elapsed))
        curve = -np.expm1(-elapsed * np.exp(-y))
        location, scale = curve * table[1], curve * table[2]
        mean = share @ location
        spread = share @ (freedom / (freedom - 2) * scale**2 + (location - mean) ** 2)
        assert prediction.mean() == pytest.approx(mean, rel=1e-6)
        assert prediction.standard_deviation() == pytest.approx(np.sqrt(spread), rel=1e-6)
        value = prediction.quantile(0.9)
        assert value is not None
        below = share @ stdtr(freedom, (value[0] - location) / scale)
        assert below == pytest.approx(0.9, abs=1e-6)


def _one_feature(x: Any, t: Any, r: Any, y: Any) -> Any:
    """Return log p(y, D), and mean and scale of θ, at many y."""
    z = x * -np.expm1(-t * np.exp(-y)[:, np.newaxis])
    precision = 0.1 + (z**2).sum(axis=1)
    mean = z @ r / precision
    shape = 1e-3 + len(r) / 2
    residual = r - z * mean[:, np.newaxis]
    rate = 1e-3 + 0.5 * ((residual**2).sum(axis=1) + 0.1 * mean**2)
    density = 3 * y - np.exp(y) / 100 - 0.5 * np.log(precision) - shape * np.log(rate)
    return np.array([density, mean, np.sqrt(rate / shape / precision)])


def test_the_grid_finds_data_that_contradict_the_prior() -> None:
    """A recovery time of three weeks; the prior leaves less than 1e-20 above three days."""
    history = simulated_history(
        np.random.default_rng(2), count=400, columns=1, recovery_time=30_000.0, noise=0.01
    )
    engine = Exact(prior=paper_prior(1))
    truth = integrate(gamma_setting(1), history, [1.0], 100.0, 0.9)
    summary = engine.summary(engine.fit(history))
    assert summary.recovery_time_mean == pytest.approx(truth.recovery_time_mean, rel=1e-6)
    assert truth.recovery_time_mean > 5_000


# ── Closed forms ─────────────────────────────────────────────────────────────────────────


@given(variance=positive, shape=st.floats(1.1, 9.0), rate=positive)
def test_an_unheard_song_has_the_prior_spread(variance: float, shape: float, rate: float) -> None:
    prior = ListenerPrior(
        preference=PreferencePrior.isotropic(2, variance),
        recovery=GammaRecovery(),
        noise=NoisePrior(shape=shape, rate=rate),
    )
    engine = Exact(prior=prior)
    songs = Songs.of(features=[[3.0, 4.0]], elapsed=1e30)  # so long ago that novelty is 1
    prediction = engine.predict(engine.fit(History.empty(2)), songs)
    assert prediction.mean() == pytest.approx(0.0, abs=1e-12)
    spread = math.sqrt(25.0 * variance * rate / (shape - 1))
    assert prediction.standard_deviation() == pytest.approx(spread, rel=1e-9)


@given(seed=st.integers(0, 1_000), variance=positive, shape=positive, rate=positive)
def test_evidence_is_the_product_of_the_predictive_densities(
    seed: int, variance: float, shape: float, rate: float
) -> None:
    """Chain rule: log p(D | s) = Σ log t(r_i | r_1 … r_{i−1}, s), for a fixed s."""
    rng = np.random.default_rng(seed)
    history = simulated_history(rng, count=6, columns=2, weighted=True)
    prior = ListenerPrior(
        preference=PreferencePrior.isotropic(2, variance),
        recovery=GammaRecovery(),
        noise=NoisePrior(shape=shape, rate=rate),
    )
    s, total = 250.0, 0.0
    for row in range(6):
        given_s = conjugate.condition_on(prior, history.first(row), s)
        a = conjugate.shape(prior, history.weights[:row])
        z = history.features[row] * -np.expm1(-history.elapsed[row] / s)
        spread = 1 / history.weights[row] + z @ given_s.covariance() @ z
        error = history.ratings[row] - z @ given_s.mean
        total += student.logpdf(error, 2 * a, scale=math.sqrt(given_s.rate / a * spread))
    whole = conjugate.condition_on(prior, history, s)
    a = conjugate.shape(prior, history.weights)
    # The constant of (12): prior determinant, gammas, 2π and the weights.
    constant = (
        -np.log(variance)
        + shape * np.log(rate)
        + gammaln(a)
        - gammaln(shape)
        - 3 * np.log(2 * np.pi)
        + 0.5 * np.log(history.weights).sum()
    )
    assert conjugate.log_evidence(whole, a) + constant == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("by_weight", [True, False])
def test_a_weak_answer_is_its_density_to_the_power_of_its_weight_if_it_counts_so(
    by_weight: bool,
) -> None:
    """Against sums over θ and log τ, with nothing heard again: s does not matter."""
    history = History.of(
        features=np.ones((4, 1)),
        elapsed=np.inf,
        ratings=[1.5, 4, 1.5, 2],
        weights=[0.25, 1, 0.1, 2],
    )
    prior = ListenerPrior(
        preference=PreferencePrior.isotropic(1, 2.0),
        recovery=GammaRecovery(),
        noise=NoisePrior(shape=3.0, rate=2.0, by_weight=by_weight),
    )
    theta, tau = np.meshgrid(np.linspace(-12, 14, 801), np.exp(np.linspace(-6, 4, 401)))
    log_p = 3.5 * np.log(tau) - 2 * tau - tau * theta**2 / 4
    for rating, weight in zip(history.ratings, history.weights, strict=True):
        log_p += weight * (0.5 * np.log(tau) - 0.5 * tau * (rating - theta) ** 2)
    share = np.exp(log_p - log_p.max())
    share /= share.sum()
    engine = Exact(prior=prior)
    online = engine.update(engine.fit(history.first(3)), history)
    for belief in (engine.fit(history), online):
        prediction = engine.predict(belief, Songs.of(features=[[1.0]], elapsed=np.inf))
        mean, spread = (share * theta).sum(), np.sqrt((share * (theta - 2) ** 2).sum())
        doubt = np.sqrt(spread**2 - (mean - 2) ** 2)
        assert prediction.mean() == pytest.approx(mean, rel=1e-6)
        is_right = prediction.standard_deviation() == pytest.approx(doubt, rel=1e-5)
        is_right &= engine.summary(belief).noise_sd == pytest.approx(
            (share / np.sqrt(tau)).sum(), rel=1e-5
        )
        assert is_right == by_weight


def test_under_the_papers_prior_what_does_not_exist_is_absent() -> None:
    engine = Exact(prior=paper_prior(1))
    songs = Songs.of(features=[[1.0]], elapsed=100.0)
    belief = engine.fit(History.empty(1))
    nothing = engine.predict(belief, songs)
    assert nothing.mean() is None
    assert nothing.standard_deviation() is None
    assert nothing.quantile(0.9) is None
    assert nothing.sample(np.random.default_rng(0), 3) is None
    assert engine.summary(belief).noise_sd is None
    one = engine.predict(
        engine.fit(History.empty(1).append(features=[1.0], elapsed=MONTH, rating=3.0)), songs
    )
    assert one.mean() is not None
    assert one.standard_deviation() is None
    assert one.quantile(0.5) is not None


# ── Online and invariances ───────────────────────────────────────────────────────────────


def test_two_thousand_ratings_one_by_one_equal_all_at_once() -> None:
    rng = np.random.default_rng(11)
    whole = simulated_history(rng, count=2_000, columns=6, weighted=True, share_unheard=0.3)
    engine = Exact(prior=paper_prior(6))
    history = History.empty(6)
    belief = engine.fit(history)
    for row in range(len(whole)):
        history = history.append(
            features=whole.features[row],
            elapsed=float(whole.elapsed[row]),
            rating=float(whole.ratings[row]),
            weight=float(whole.weights[row]),
        )
        belief = engine.update(belief, history)
    songs = Songs.of(features=rng.normal(size=(50, 6)), elapsed=rng.uniform(0.1, MONTH, 50))
    online, batch = engine.predict(belief, songs), engine.predict(engine.fit(whole), songs)
    assert online.mean() == pytest.approx(batch.mean(), rel=1e-8)
    assert online.standard_deviation() == pytest.approx(batch.standard_deviation(), rel=1e-8)
    assert online.quantile(0.999) == pytest.approx(batch.quantile(0.999), rel=1e-8)


def followed(
    engine: Exact, whole: History, *, prepares: bool
) -> tuple[ExactBelief, list[int], list[int]]:
    """Return the belief after every answer one by one, and when which of the two moved the grid."""
    belief = engine.fit(whole.first(0))
    late: list[int] = []
    early: list[int] = []
    for count in range(1, len(whole) + 1):
        updated = engine.update(belief, whole.first(count))
        if updated.grid is not belief.grid:
            late.append(count)
        belief = updated
        fresh = engine.rebuilt(belief) if prepares else belief
        if fresh is not belief:
            early.append(count)
            belief = fresh
    return belief, late, early


@pytest.mark.parametrize("columns", [3, 40])
def test_a_belief_that_was_prepared_is_the_same_and_seldom_has_to_wait(columns: int) -> None:
    rng = np.random.default_rng(12)
    whole = simulated_history(rng, count=700, columns=columns, weighted=True, share_unheard=0.4)
    engine = Exact(prior=proper_prior(columns))
    waiting, often, never = followed(engine, whole, prepares=False)
    rebuilt, late, early = followed(engine, whole, prepares=True)
    assert never == []
    assert len(early) >= 5
    assert len(late) < len(often)
    assert [count for count in late if count > 200] == []
    songs = Songs.of(features=rng.normal(size=(20, columns)), elapsed=rng.uniform(0.1, MONTH, 20))
    one, other = engine.predict(rebuilt, songs), engine.predict(waiting, songs)
    batch = engine.predict(engine.fit(whole), songs)
    for prediction in (one, other):
        assert prediction.mean() == pytest.approx(batch.mean(), rel=1e-8)
        assert prediction.quantile(0.999) == pytest.approx(batch.quantile(0.999), rel=1e-8)


def test_a_belief_that_is_fresh_or_planned_needs_no_preparation() -> None:
    engine = Exact(prior=paper_prior(3))
    whole = simulated_history(np.random.default_rng(2), count=40, columns=3)
    fresh = engine.fit(whole)
    assert engine.rebuilt(fresh) is fresh
    belief, _, _ = followed(engine, whole, prepares=True)
    song = Songs.of(features=[[1.0, 2.0, 0.5]], elapsed=MONTH)
    planned = engine.plan(belief, song)
    assert engine.rebuilt(planned) is planned


@pytest.mark.parametrize("count", [0, 1, 5, 19, 20, 21])
def test_fewer_answers_than_features_are_the_same_either_way(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to half as many answers as features the posterior is computed from the answers."""
    rng = np.random.default_rng(count)
    history = simulated_history(rng, count=count, columns=40, weighted=True)
    engine = Exact(prior=proper_prior(40))
    songs = Songs.of(features=rng.normal(size=(30, 40)), elapsed=rng.uniform(0.1, MONTH, 30))
    one = engine.predict(engine.fit(history), songs)
    monkeypatch.setattr("bandstand.core.engines.exact.engine.CommonSolver.is_safe", False)
    other = engine.predict(engine.fit(history), songs)
    assert one.mean() == pytest.approx(other.mean(), rel=1e-8, abs=1e-12)
    assert one.standard_deviation() == pytest.approx(other.standard_deviation(), rel=1e-8)
    assert one.quantile(0.99) == pytest.approx(other.quantile(0.99), rel=1e-8)


@pytest.mark.parametrize("count", [3, 60, 1_000])
def test_songs_that_were_all_heard_once_take_few_nodes_and_little_memory(count: int) -> None:
    """Such a listener's posterior is the prior with an edge where novelty would be missed."""
    rng = np.random.default_rng(count)
    features = rng.normal(size=(count, 12))
    features[:, -1] = 1.0
    ratings = np.clip(np.round(3 + features[:, :11] @ rng.normal(0, 0.3, 11)), 1, 5)
    history = History.of(features=features, elapsed=131_072.0, ratings=ratings)
    belief = Exact(prior=radio_prior(12)).fit(history)
    assert belief.is_converged
    assert len(belief.grid) <= 161
    assert array_bytes(belief) < 50_000


def test_planning_a_song_makes_the_belief_surer_and_moves_nothing() -> None:
    rng = np.random.default_rng(6)
    engine = Exact(prior=paper_prior(3))
    belief = engine.fit(simulated_history(rng, count=15, columns=3))
    songs = Songs.of(features=rng.normal(size=(5, 3)), elapsed=MONTH)
    planned = engine.plan(belief, songs.take(slice(0, 1)))
    before, after = engine.predict(belief, songs), engine.predict(planned, songs)
    assert after.mean() == pytest.approx(before.mean(), rel=1e-12)
    surer, unsure = after.standard_deviation(), before.standard_deviation()
    assert surer is not None
    assert unsure is not None
    assert (surer < unsure).all()
    assert (planned.weights == belief.weights).all()
    # The covariance is what the answer itself would leave: (8) with one more row.
    node = 7
    heard = songs.features[0] * -np.expm1(-MONTH / belief.recovery_times[node])
    longer = np.linalg.inv(belief.covariances[node]) + np.outer(heard, heard)
    assert planned.covariances[node] == pytest.approx(np.linalg.inv(longer), rel=1e-9)


def test_features_of_any_scale_keep_their_digits() -> None:
    """Columns a million times apart, more of them than answers: QR instead of Cholesky."""
    rng = np.random.default_rng(9)
    scales = np.array([1e-3, 1.0, 1e3, 1e5, 1e5])
    features = rng.normal(size=(3, 5)) * scales
    history = History.of(features=features, elapsed=[MONTH, 50.0, 400.0], ratings=[1.0, 2.0, 3.0])
    engine = Exact(prior=paper_prior(5))
    song = rng.normal(size=5) * scales
    prediction = engine.predict(engine.fit(history), Songs.of(features=[song], elapsed=MONTH))
    # With three answers the model is three-dimensional: everything else keeps its prior.
    basis, _ = np.linalg.qr(np.column_stack([features.T, song]))
    small = Exact(prior=paper_prior(4))
    inside = small.predict(
        small.fit(
            History.of(features=features @ basis, elapsed=history.elapsed, ratings=history.ratings)
        ),
        Songs.of(features=[song @ basis], elapsed=MONTH),
    )
    assert prediction.standard_deviation() == pytest.approx(inside.standard_deviation(), rel=1e-6)


# ── Draws ────────────────────────────────────────────────────────────────────────────────

FAILURE_RATE = 1e-3


@pytest.mark.statistical
@pytest.mark.parametrize("share_unheard", [0.4, 1.0])
def test_draws_follow_the_belief(share_unheard: float) -> None:
    assert _worst_p_value(1.0, share_unheard) > FAILURE_RATE


@pytest.mark.statistical
def test_draws_that_are_too_wide_are_noticed() -> None:
    assert _worst_p_value(1.1, 0.4) < FAILURE_RATE


def _worst_p_value(stretch: float, share_unheard: float) -> float:
    """Return the smallest p-value of a Kolmogorov–Smirnov test over four songs."""
    rng = np.random.default_rng(21)
    history = simulated_history(rng, count=12, columns=3, share_unheard=share_unheard)
    engine = Exact(prior=paper_prior(3))
    songs = Songs.of(features=rng.normal(size=(4, 3)), elapsed=[MONTH, 600.0, 60.0, 5.0])
    prediction = engine.predict(engine.fit(history), songs)
    draws = prediction.sample(rng, 4_000)
    centre = prediction.mean()
    assert draws is not None
    assert centre is not None
    draws = centre + stretch * (draws - centre)
    levels = np.linspace(0.005, 0.995, 199)
    curves = np.array([prediction.quantile(level) for level in levels])
    return min(
        4 * float(kstest(np.interp(draws[:, song], curves[:, song], levels), "uniform").pvalue)
        for song in range(4)
    )


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), columns=st.integers(1, 8), songs=st.integers(0, 700))
def test_the_mean_is_the_sum_over_all_nodes_for_songs_heard_and_never_heard(
    seed: int, columns: int, songs: int
) -> None:
    rng = np.random.default_rng(seed)
    history = simulated_history(rng, count=int(rng.integers(2, 30)), columns=columns)
    belief = Exact(prior=paper_prior(columns)).fit(history)
    elapsed = np.where(rng.random(songs) < rng.choice([0.0, 0.5, 1.0]), MONTH, rng.random(songs))
    some = Songs.of(features=rng.normal(size=(songs, columns)), elapsed=elapsed)
    mean = Exact(prior=paper_prior(columns)).predict(belief, some).mean()
    curves = -np.expm1(-elapsed[:, np.newaxis] / belief.recovery_times)
    plain = (curves * (some.features @ belief.means.T)) @ belief.weights
    size = np.abs(belief.means).max() * columns
    assert mean == pytest.approx(plain, rel=1e-12, abs=1e-12 * size)
