"""The log joint of the exact model, written down directly, and what the code says of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from bandstand.domain import History
from bandstand.inference import collapsed_chain, conjugate, metropolis
from bandstand.model.priors import GammaRecovery, ListenerPrior, NoisePrior, PreferencePrior
from tests.statistical.worlds import Listener, expected_ratings, log_likelihood

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.types import Vector


def log_joint(prior: ListenerPrior, history: History, listener: Listener) -> float:
    """Return log p(θ, y, τ, D), y = log s, from (4) to (7), up to a constant of the prior."""
    assert isinstance(prior.recovery, GammaRecovery)
    recovery, noise, time = prior.recovery, prior.noise, listener.recovery_time
    shift, precision = listener.preference - prior.preference.mean, prior.preference.precision
    tau = listener.noise_precision
    return float(
        0.5 * len(shift) * np.log(tau)
        - 0.5 * tau * shift @ precision @ shift
        + log_gamma(time, recovery.shape, recovery.rate)
        + np.log(time)
        + log_gamma(tau, noise.shape, noise.rate)
        + log_likelihood(listener, history)
    )


def log_gamma(value: float, shape: float, rate: float) -> float:
    """Return the log density of Gamma(shape, rate), with its constant."""
    return float(shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(value) - rate * value)


def by_the_chain(prior: ListenerPrior, history: History, listener: Listener) -> float:
    """Return log p(y | D) + log p(τ | y, D) + log p(θ | τ, y, D) as the chains have them."""
    density = collapsed_chain.collapsed_density(prior, history)
    value, conditional = density(float(np.log(listener.recovery_time)))
    tau = listener.noise_precision
    root = conditional.factor.T @ (listener.preference - conditional.mean)
    shape = conjugate.shape(prior, len(history))
    return float(
        value
        + log_gamma(tau, shape, conditional.rate)
        + 0.5 * len(root) * np.log(tau)
        + 0.5 * conditional.log_determinant
        - 0.5 * tau * root @ root
    )


def by_the_reference(prior: ListenerPrior, history: History, listener: Listener) -> float:
    """Return log p(τ | θ, s, D) as the un-collapsed sampler has it."""
    expected = expected_ratings(listener, history.features, history.elapsed)
    residual: Vector = np.sqrt(history.weights) * (history.ratings - expected)
    shape, rate = metropolis.noise_conditional(prior, residual, listener.preference)
    return log_gamma(listener.noise_precision, shape, rate)


def chain_disagreement(points: int, rng: np.random.Generator) -> float:
    """Return the largest relative error of the chains' differences, θ, s and τ moved in turn."""
    worst = 0.0
    for _ in range(points):
        prior, history = _problem(rng)
        one, other = _listener(prior, rng), _listener(prior, rng)
        for moved in (
            replace(one, preference=other.preference),
            replace(one, recovery_time=other.recovery_time),
            replace(one, noise_precision=other.noise_precision),
        ):
            worst = max(worst, _difference(by_the_chain, prior, history, one, moved))
    return worst


def reference_disagreement(points: int, rng: np.random.Generator) -> float:
    """Return the largest relative error of the reference sampler's differences, τ moved."""
    worst = 0.0
    for _ in range(points):
        prior, history = _problem(rng)
        one, other = _listener(prior, rng), _listener(prior, rng)
        moved = replace(one, noise_precision=other.noise_precision)
        worst = max(worst, _difference(by_the_reference, prior, history, one, moved))
    return worst


def _difference(
    claimed: Callable[[ListenerPrior, History, Listener], float],
    prior: ListenerPrior,
    history: History,
    one: Listener,
    other: Listener,
) -> float:
    """Return how far a claimed difference of log densities is from the joint's, relatively."""
    before, after = (log_joint(prior, history, each) for each in (one, other))
    found = claimed(prior, history, other) - claimed(prior, history, one)
    return abs(found - (after - before)) / (1 + abs(before) + abs(after))


def _problem(rng: np.random.Generator) -> tuple[ListenerPrior, History]:
    """Return a prior with drawn hyper-parameters and up to eight answers, or none."""
    columns, count = int(rng.integers(1, 5)), int(rng.integers(0, 9))
    root = rng.standard_normal((columns, columns))
    prior = ListenerPrior(
        preference=PreferencePrior.correlated(
            rng.standard_normal(columns), root @ root.T + 0.3 * np.eye(columns)
        ),
        recovery=GammaRecovery(shape=rng.uniform(0.5, 5), rate=rng.uniform(1e-3, 1e-1)),
        noise=NoisePrior(shape=rng.uniform(0.5, 5), rate=rng.uniform(0.2, 5)),
    )
    return prior, History.of(
        features=rng.standard_normal((count, columns)),
        elapsed=rng.exponential(300, count),
        ratings=rng.normal(0, 2, count),
        weights=rng.uniform(0.1, 3, count),
    )


def _listener(prior: ListenerPrior, rng: np.random.Generator) -> Listener:
    return Listener(
        preference=rng.normal(0, 1.5, prior.preference.columns),
        recovery_time=float(rng.exponential(300)) + 1.0,
        noise_precision=float(rng.gamma(2.0)) + 0.05,
    )
