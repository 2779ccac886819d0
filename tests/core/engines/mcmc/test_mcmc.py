"""The sampling engine: right against direct integration, honest about what it does not know."""

import math

import numpy as np
import pytest
from scipy import stats

from bandstand.core.engines.mcmc import engine as mcmc
from bandstand.core.engines.mcmc.engine import Mcmc, McmcBelief
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import (
    GammaRecovery,
    ListenerPrior,
    NoisePrior,
    PreferencePrior,
    paper_prior,
)
from bandstand.errors import InvalidInputError
from tests.fixtures.brute_force import gamma_setting, integrate
from tests.fixtures.statistical import checks

FAILURE_RATE = 1e-3
# Two-sided, for at most ten comparisons.
LARGEST_Z = float(stats.norm.isf(FAILURE_RATE / 20))

TINY_PRIOR = ListenerPrior(
    preference=PreferencePrior.independent([0.5], [2.5]),
    recovery=GammaRecovery(shape=3.0, rate=1e-2),
    noise=NoisePrior(shape=3.0, rate=2.0),
)
SETTING = gamma_setting(1, variance=2.5, shape=3.0, rate=2.0)._replace(mean=np.array([0.5]))
TINY_HISTORY = History.of(
    features=[[1.0], [2.0], [-1.5]],
    elapsed=[60.0, 300.0, 900.0],
    ratings=[0.4, 2.5, -2.0],
    weights=[1.0, 0.25, 2.0],
)
LEVEL = 0.7


def disagreements(belief: McmcBelief, history: History) -> dict[str, float]:
    """Return how many standard errors averages of the draws are away from the integrals."""
    known = integrate(SETTING, history, [1.2], 200.0, LEVEL, nodes=801)
    draws = belief.draws
    assert draws.preferences is not None
    assert draws.noise_precisions is not None
    ratings = 1.2 * draws.preferences[..., 0] * (1 - np.exp(-200.0 / draws.recovery_times))
    pairs = {
        "recovery_time": (draws.recovery_times, known.recovery_time_mean),
        "noise_precision": (draws.noise_precisions, known.noise_precision),
        "rating": (ratings, known.mean),
        "rating_squared": (ratings**2, known.mean**2 + known.standard_deviation**2),
        "below": ((ratings <= known.quantile).astype(float), LEVEL),
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
    found = disagreements(belief, history)
    assert max(found.values()) < LARGEST_Z


@pytest.mark.statistical
def test_an_updated_belief_has_the_same_integrals() -> None:
    engine, rng = Mcmc(prior=TINY_PRIOR, effective_draws=3_000), np.random.default_rng(12)
    before = engine.fit(TINY_HISTORY.without(2), rng=rng)
    belief = engine.update(before, TINY_HISTORY, rng=rng)
    found = disagreements(belief, TINY_HISTORY)
    assert max(found.values()) < LARGEST_Z


@pytest.mark.statistical
def test_forgotten_weights_are_seen() -> None:
    engine = Mcmc(prior=TINY_PRIOR, effective_draws=3_000)
    unweighted = History.of(
        features=TINY_HISTORY.features, elapsed=TINY_HISTORY.elapsed, ratings=TINY_HISTORY.ratings
    )
    belief = engine.fit(unweighted, rng=np.random.default_rng(11))
    found = disagreements(belief, TINY_HISTORY)
    assert max(found.values()) > LARGEST_Z


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
