import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma, kstest, lognorm

from bandstand.core.model.priors import (
    GammaRecovery,
    LogNormalRecovery,
    NoisePrior,
    PreferencePrior,
    RecoveryPrior,
    paper_prior,
    people_prior,
    radio_prior,
)
from bandstand.errors import InvalidInputError

recovery_priors: list[RecoveryPrior] = [
    GammaRecovery(),
    GammaRecovery(shape=0.5, rate=2.0),
    GammaRecovery(shape=40.0, rate=1e-3),
    LogNormalRecovery(),
    LogNormalRecovery(median=10.0, log_standard_deviation=0.2),
]


@pytest.mark.parametrize("prior", recovery_priors, ids=repr)
def test_the_density_of_log_s_integrates_to_one_over_its_interval(prior: RecoveryPrior) -> None:
    low, high = prior.interval()
    total, _ = quad(
        lambda y: math.exp(float(prior.log_density(np.array([y]))[0])),
        low,
        high,
        limit=500,
        epsabs=1e-13,
    )
    assert total == pytest.approx(1.0, abs=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("prior", "law"),
    [
        (GammaRecovery(shape=2.5, rate=0.1), gamma(2.5, scale=10.0)),
        (LogNormalRecovery(median=50.0, log_standard_deviation=0.7), lognorm(0.7, scale=50.0)),
    ],
)
def test_draws_follow_the_density(prior: RecoveryPrior, law: object) -> None:
    draws = prior.draw(np.random.default_rng(1), 5_000)
    assert kstest(draws, law.cdf).pvalue > 1e-3  # type: ignore[attr-defined]
    # A rate taken for a scale would be noticed.
    assert kstest(draws * 1.1, law.cdf).pvalue < 1e-3  # type: ignore[attr-defined]


def test_the_papers_numbers() -> None:
    prior = paper_prior(4)
    assert prior.preference.precision == pytest.approx(np.eye(4) / 10)
    assert prior.recovery == GammaRecovery(shape=3.0, rate=1e-2)
    assert prior.noise == NoisePrior(shape=1e-3, rate=1e-3)


def test_the_radios_prior_spans_an_hour_to_a_month_and_does_not_grow_with_features() -> None:
    prior = radio_prior(31)
    variances = 1 / np.diagonal(prior.preference.precision)
    assert variances[-1] == pytest.approx(variances[:-1].sum())
    broad = LogNormalRecovery()
    law = lognorm(broad.log_standard_deviation, scale=broad.median)
    assert law.cdf(43_200) - law.cdf(60) > 0.94
    assert prior.noise.shape >= 2
    assert np.diag(radio_prior(4, intercept=False).preference.precision).tolist() == [0.4] * 4


@given(seed=st.integers(0, 1_000), columns=st.integers(1, 6))
def test_a_covariance_comes_back_from_its_precision(seed: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(columns, columns)) + 2 * np.eye(columns)
    covariance = root @ root.T + 0.01 * np.eye(columns)
    prior = PreferencePrior.correlated(np.zeros(columns), covariance)
    assert np.linalg.inv(prior.precision) == pytest.approx(covariance, rel=1e-6, abs=1e-9)


def test_what_is_no_prior_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="shape must be positive and finite, got -1"):
        NoisePrior(shape=-1.0)
    with pytest.raises(InvalidInputError, match="rate must be positive and finite, got inf"):
        GammaRecovery(rate=math.inf)
    with pytest.raises(InvalidInputError, match="log_standard_deviation must be positive"):
        LogNormalRecovery(log_standard_deviation=0.0)
    with pytest.raises(InvalidInputError, match="positive definite"):
        PreferencePrior.correlated([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(InvalidInputError, match="symmetric"):
        PreferencePrior.correlated([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(InvalidInputError, match="needs a 2 × 2 matrix, got mean"):
        PreferencePrior.correlated([0.0, 0.0], [[1.0]])
    with pytest.raises(InvalidInputError, match="prior variances must be positive and finite"):
        PreferencePrior.independent([0.0, 0.0], [1.0, 0.0])
    with pytest.raises(InvalidInputError, match="needs a 3 × 3 matrix"):
        PreferencePrior.independent([0.0, 0.0, 0.0], [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="must be finite"):
        PreferencePrior.independent([math.nan], [1.0])
    with pytest.raises(InvalidInputError, match="prior variances must be positive and finite"):
        PreferencePrior.independent([0.0], [math.inf])
    with pytest.raises(InvalidInputError, match="positive definite"):
        PreferencePrior(mean=np.zeros(1), precision=-np.eye(1))
    for columns in (0, -1, 1.5):
        for prior in (paper_prior, people_prior, radio_prior):
            with pytest.raises(InvalidInputError, match="whole number of at least 1"):
                prior(columns)  # type: ignore[arg-type]


def test_the_prior_for_people_has_variances_of_sound_tags_and_the_mean_rating() -> None:
    prior = people_prior(6, tags=2)
    tag, sound, constant = np.split(1 / np.diag(prior.preference.precision), [2, 5])
    assert len(set(sound)) == len(set(tag)) == 1
    assert prior.preference.mean.tolist() == [0.0] * 5 + [3.0]
    without = people_prior(5, tags=2, intercept=False, sound_square=4.0)
    assert 1 / np.diag(without.preference.precision) == pytest.approx([*tag, *sound / 4])
    assert not without.preference.mean.any()
    assert constant[0] > 0
    assert prior.effects.total > 0
    with pytest.raises(InvalidInputError, match="4 in all, got 3"):
        people_prior(3, tags=3)
