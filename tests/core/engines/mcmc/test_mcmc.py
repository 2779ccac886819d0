"""The sampling engine: right against direct integration, honest about what it does not know."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstand.core.engines.mcmc import engine as mcmc
from bandstand.core.engines.mcmc.engine import Mcmc, McmcBelief
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
from bandstand.errors import InvalidInputError
from tests.fixtures.degenerate_cases import check
from tests.fixtures.statistical import checks

if TYPE_CHECKING:
    from bandstand.core.engines.engine import Engine
    from bandstand.types import Matrix, Vector

FAILURE_RATE = 1e-3
# Two-sided, for at most ten comparisons.
LARGEST_Z = float(stats.norm.isf(FAILURE_RATE / 20))

VARIANCE = 2.5
TINY_PRIOR = ListenerPrior(
    preference=PreferencePrior.independent([0.5], [VARIANCE]),
    recovery=GammaRecovery(shape=3.0, rate=1e-2),
    noise=NoisePrior(shape=3.0, rate=2.0),
)
TINY_HISTORY = History.of(
    features=[[1.0], [2.0], [-1.5]],
    elapsed=[60.0, 300.0, 900.0],
    ratings=[0.4, 2.5, -2.0],
    weights=[1.0, 0.25, 2.0],
)
A_SONG = Songs.of(features=[[1.2]], elapsed=[200.0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrals:
    """What integrating over s directly gives for the tiny problem; one song of feature 1.2."""

    recovery_time: float
    noise_precision: float
    rating: float
    rating_squared: float
    below_one: float  # P(U ≤ 1 | D)


def marginal(kernel: Matrix, centre: Vector) -> Any:
    """Return the law of the ratings given s: a multivariate Student t."""
    noise = TINY_PRIOR.noise
    freedom: Any = 2 * noise.shape
    return stats.multivariate_t(centre, noise.rate / noise.shape * kernel, df=freedom)


@cache
def integrate(history: History) -> Integrals:
    """Return the integrals from the marginal law of the ratings, never forming Λ or m."""
    law = stats.gamma(3.0, scale=100.0)
    centre, noise = 0.5, TINY_PRIOR.noise
    count, ratings = len(history), history.ratings
    totals = np.zeros(6)
    for y in np.linspace(-2, 9, 801):
        s = math.exp(y)
        z = history.features[:, 0] * (1 - np.exp(-history.elapsed / s))
        z_song = 1.2 * (1 - math.exp(-200.0 / s))
        # The ratings and U are jointly Student t: a normal of unit noise, mixed over τ.
        kernel = VARIANCE * np.outer(z, z) + np.diag(1 / history.weights)
        gain = VARIANCE * z_song * np.linalg.solve(kernel, z) if count else np.zeros(0)
        error = ratings - centre * z
        squares = float(error @ np.linalg.solve(kernel, error)) if count else 0.0
        shape, rate = noise.shape + count / 2, noise.rate + squares / 2
        mean = centre * z_song + gain @ error
        spread = VARIANCE * z_song**2 - gain @ z * VARIANCE * z_song
        likelihood = 1.0 if not count else marginal(kernel, centre * z).pdf(ratings)
        scale = math.sqrt(rate / shape * spread)
        values = [
            1.0,
            s,
            shape / rate,
            mean,
            mean**2 + spread * rate / (shape - 1),
            stats.t.cdf((1 - mean) / scale, df=2 * shape),
        ]
        totals += s * law.pdf(s) * likelihood * np.array(values)
    return Integrals(
        recovery_time=totals[1] / totals[0],
        noise_precision=totals[2] / totals[0],
        rating=totals[3] / totals[0],
        rating_squared=totals[4] / totals[0],
        below_one=totals[5] / totals[0],
    )


def disagreements(belief: McmcBelief, known: Integrals) -> dict[str, float]:
    """Return how many standard errors each average of the draws is away from the integral."""
    draws = belief.draws
    assert draws.preferences is not None
    assert draws.noise_precisions is not None
    ratings = 1.2 * draws.preferences[..., 0] * (1 - np.exp(-200.0 / draws.recovery_times))
    pairs = {
        "recovery_time": (draws.recovery_times, known.recovery_time),
        "noise_precision": (draws.noise_precisions, known.noise_precision),
        "rating": (ratings, known.rating),
        "rating_squared": (ratings**2, known.rating_squared),
        "below_one": ((ratings <= 1.0).astype(float), known.below_one),
    }
    return {
        name: abs(table.mean() - value) / checks.mean_standard_error(table)
        for name, (table, value) in pairs.items()
    }


@pytest.mark.statistical
@pytest.mark.parametrize("history", [TINY_HISTORY, History.empty(1)], ids=["three", "none"])
def test_averages_of_draws_are_the_integrals_over_the_recovery_time(history: History) -> None:
    engine = Mcmc(prior=TINY_PRIOR, effective_draws=3_000)
    belief = engine.fit(history, rng=np.random.default_rng(11))
    assert belief.converged
    assert belief.effective_draws >= 3_000
    found = disagreements(belief, integrate(history))
    assert max(found.values()) < LARGEST_Z


@pytest.mark.statistical
def test_an_updated_belief_has_the_same_integrals() -> None:
    engine, rng = Mcmc(prior=TINY_PRIOR, effective_draws=3_000), np.random.default_rng(12)
    before = engine.fit(TINY_HISTORY.without(2), rng=rng)
    belief = engine.update(before, TINY_HISTORY, rng=rng)
    found = disagreements(belief, integrate(TINY_HISTORY))
    assert max(found.values()) < LARGEST_Z


@pytest.mark.statistical
def test_forgotten_weights_are_seen() -> None:
    engine = Mcmc(prior=TINY_PRIOR, effective_draws=3_000)
    unweighted = History.of(
        features=TINY_HISTORY.features, elapsed=TINY_HISTORY.elapsed, ratings=TINY_HISTORY.ratings
    )
    belief = engine.fit(unweighted, rng=np.random.default_rng(11))
    found = disagreements(belief, integrate(TINY_HISTORY))
    assert max(found.values()) > LARGEST_Z


@pytest.mark.statistical
def test_the_prediction_has_the_quantile_of_the_integral() -> None:
    engine = Mcmc(prior=TINY_PRIOR, effective_draws=3_000)
    belief = engine.fit(TINY_HISTORY, rng=np.random.default_rng(13))
    level = integrate(TINY_HISTORY).below_one
    quantile = engine.predict(belief, A_SONG).quantile(level)
    assert quantile is not None
    assert quantile[0] == pytest.approx(1.0, abs=0.05)


def test_an_unheard_song_has_the_prior_spread() -> None:
    # Before any rating E[U²] = variance · E[1/τ] · E[u²], here with u = 1.
    engine = Mcmc(prior=radio_prior(2), effective_draws=3_000)
    belief = engine.fit(History.empty(2), rng=np.random.default_rng(1))
    songs = Songs.of(features=[[1.0, 0.0], [0.0, 1.0], [0.5, -0.5]], elapsed=1e9)
    quantile = engine.predict(belief, songs).quantile(0.75)
    assert quantile is not None
    law = stats.t(df=4, scale=math.sqrt(0.5))  # noise Gamma(2, 1): 2A = 4, B/A = ½
    known = law.ppf(0.75) * np.sqrt([10.0, 10.0, 5.0])
    np.testing.assert_allclose(quantile, known, rtol=0.1)


def test_before_the_first_rating_the_papers_prior_leaves_all_but_the_recovery_time_absent() -> None:
    engine = Mcmc(prior=paper_prior(3))
    belief = engine.fit(History.empty(3), rng=np.random.default_rng(1))
    assert belief.converged
    assert belief.draws.preferences is None
    prediction = engine.predict(belief, Songs.of(features=np.eye(3), elapsed=100.0))
    assert prediction.mean() is None
    assert prediction.quantile(0.9) is None
    summary = engine.summary(belief)
    assert summary.noise_sd is None
    assert summary.recovery_time_mean == pytest.approx(300, rel=0.1)
    assert summary.recovery_time_sd == pytest.approx(100 * math.sqrt(3), rel=0.1)


@pytest.mark.parametrize(("count", "has_spread"), [(1, False), (2, True)])
def test_the_mean_exists_from_the_first_rating_and_the_spread_from_the_second(
    count: int,
    has_spread: bool,
) -> None:
    engine = Mcmc(prior=paper_prior(1), effective_draws=400)
    history = History.of(features=np.ones((count, 1)), elapsed=500.0, ratings=np.arange(count) + 3)
    belief = engine.fit(history, rng=np.random.default_rng(1))
    prediction = engine.predict(belief, A_SONG)
    assert prediction.mean() is not None
    assert (prediction.standard_deviation() is not None) == has_spread
    assert engine.summary(belief).noise_sd is not None


def test_the_summary_is_the_truth_when_there_is_much_data() -> None:
    engine = Mcmc(prior=paper_prior(2), effective_draws=400)
    belief = engine.fit(much_data(), rng=np.random.default_rng(1))
    summary = engine.summary(belief)
    assert summary.recovery_time_mean == pytest.approx(300, rel=0.05)
    assert summary.recovery_time_sd is not None
    assert 0 < summary.recovery_time_sd < 20
    assert summary.noise_sd == pytest.approx(0.3, rel=0.1)


def much_data(count: int = 400, *, noise: float = 0.3) -> History:
    rng = np.random.default_rng(3)
    features, elapsed = rng.standard_normal((count, 2)), rng.exponential(400, count)
    signal = features @ [3.0, -2.0] * -np.expm1(-elapsed / 300)
    return History.of(
        features=features, elapsed=elapsed, ratings=signal + rng.normal(0, noise, count)
    )


def test_it_draws_until_there_are_as_many_effective_draws_as_asked() -> None:
    for asked in (500, 1_500):
        engine = Mcmc(prior=TINY_PRIOR, effective_draws=asked)
        belief = engine.fit(TINY_HISTORY, rng=np.random.default_rng(2))
        assert belief.effective_draws >= asked
        assert belief.draws.log_recovery_times.size < 3 * asked


def test_at_the_limit_it_stops_and_says_that_it_has_not_converged() -> None:
    engine = Mcmc(prior=TINY_PRIOR, effective_draws=10_000, most_draws=200)
    belief = engine.fit(TINY_HISTORY, rng=np.random.default_rng(2))
    assert belief.draws.log_recovery_times.shape == (mcmc.CHAINS, 50)
    assert not belief.converged


def test_the_diagnostics_watch_the_recovery_time_and_a_few_songs() -> None:
    belief = Mcmc(prior=TINY_PRIOR, effective_draws=400).fit(
        TINY_HISTORY, rng=np.random.default_rng(2)
    )
    assert set(belief.convergence) == {"recovery_time", "rating 0", "rating 1", "rating 2"}
    assert all(one.r_hat < 1.01 for one in belief.convergence.values())


def test_planning_a_song_leaves_the_belief_as_it_is() -> None:
    engine: Engine[McmcBelief] = Mcmc(prior=TINY_PRIOR, effective_draws=100)
    belief = engine.fit(TINY_HISTORY, rng=np.random.default_rng(2))
    assert engine.plan(belief, A_SONG) is belief
    assert engine.new_cache(A_SONG.features) is None


def test_the_same_seed_gives_the_same_belief() -> None:
    engine = Mcmc(prior=TINY_PRIOR, effective_draws=100)
    first, second = (engine.fit(TINY_HISTORY, rng=np.random.default_rng(2)) for _ in range(2))
    np.testing.assert_array_equal(first.draws.preferences, second.draws.preferences)


def test_a_belief_cannot_be_changed() -> None:
    engine = Mcmc(prior=TINY_PRIOR, effective_draws=100)
    draws = engine.fit(TINY_HISTORY, rng=np.random.default_rng(2)).draws
    assert draws.preferences is not None
    with pytest.raises(ValueError, match="read-only"):
        draws.preferences[0, 0, 0] = 1.0


def test_an_update_after_a_retraction_starts_afresh() -> None:
    engine, rng = Mcmc(prior=TINY_PRIOR, effective_draws=100), np.random.default_rng(2)
    belief = engine.update(engine.fit(TINY_HISTORY, rng=rng), TINY_HISTORY.without(0), rng=rng)
    assert len(belief.history) == 2


@pytest.mark.parametrize(
    ("settings_given", "message"),
    [
        ({"effective_draws": 0}, "effective_draws must be at least 1"),
        ({"warm_up": 1}, "warm_up at least 2"),
        ({"most_draws": 15}, "most_draws must be at least 16, got 15"),
    ],
)
def test_settings_that_leave_nothing_are_refused(
    settings_given: dict[str, int], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Mcmc(prior=TINY_PRIOR, **settings_given)


def test_another_number_of_features_is_refused() -> None:
    engine = Mcmc(prior=TINY_PRIOR, effective_draws=100)
    with pytest.raises(InvalidInputError, match="1 features as the prior has, got 2"):
        engine.fit(History.empty(2), rng=np.random.default_rng(1))
    belief = engine.fit(TINY_HISTORY, rng=np.random.default_rng(1))
    with pytest.raises(InvalidInputError, match="songs must have 1 features, got 3"):
        engine.predict(belief, Songs.of(features=np.eye(3), elapsed=1.0))


@settings(max_examples=25)
@given(
    st.integers(0, 8),
    st.integers(1, 3),
    st.floats(0.01, 100),
    st.floats(0.5, 20),
    st.integers(0, 2**32),
)
def test_any_problem_gives_a_belief_with_finite_numbers(
    count: int, columns: int, variance: float, shape: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    prior = ListenerPrior(
        preference=PreferencePrior.independent(
            rng.standard_normal(columns), np.full(columns, variance)
        ),
        recovery=LogNormalRecovery(log_standard_deviation=float(rng.uniform(0.1, 5))),
        noise=NoisePrior(shape=shape, rate=float(rng.uniform(0.1, 10))),
    )
    history = History.of(
        features=rng.standard_normal((count, columns)),
        elapsed=rng.exponential(300, count),
        ratings=rng.integers(1, 6, count),
        weights=rng.choice([0.1, 1.0, 3.0], count),
    )
    engine = Mcmc(prior=prior, effective_draws=40, most_draws=80, warm_up=4)
    with np.errstate(all="raise"):
        belief = engine.fit(history, rng=rng)
        check(engine, belief, Songs.of(features=np.eye(columns), elapsed=40.0))
