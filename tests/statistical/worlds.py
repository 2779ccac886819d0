"""Small worlds to test samplers in: a prior that can be drawn from, data, and a sampler.

    truth ~ prior      data ~ p(data | truth)      sampler: data → draws of the truth

If the sampler is right, truth and draws cannot be told apart. Every number of a world is
unlike 1, its own square or its inverse, so that none of them can stand in for another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import numpy as np

from bandstand.domain import History, Songs
from bandstand.inference import collapsed_chain, conjugate, mcmc, metropolis, slice_sampling
from bandstand.model.priors import GammaRecovery, ListenerPrior, NoisePrior, PreferencePrior

if TYPE_CHECKING:
    from bandstand.types import Vector

TruthT = TypeVar("TruthT")

# Draws of the posterior that a true value is ranked among: 100 possible ranks.
RANKED: Final = 99


class Model(Protocol[TruthT]):
    """A model whose truths and data can be drawn."""

    def draw_truth(self, rng: np.random.Generator) -> TruthT:
        """Return a truth from the prior."""
        ...

    def draw_data(self, truth: TruthT, rng: np.random.Generator) -> History:
        """Return what a listener of this truth would answer."""
        ...

    def quantities(self, truth: TruthT, data: History) -> dict[str, float]:
        """Return numbers in which truths are compared."""
        ...


class Stepped(Model[TruthT], Protocol[TruthT]):
    """A model with a kernel that leaves p(truth | data) as it is."""

    def step(self, truth: TruthT, data: History, rng: np.random.Generator) -> TruthT:
        """Return the truth after one step of the sampler."""
        ...


class Sampled(Model[TruthT], Protocol[TruthT]):
    """A model with a sampler of its posterior."""

    def posterior(self, data: History, rng: np.random.Generator) -> list[TruthT]:
        """Return `RANKED` nearly independent draws of p(truth | data)."""
        ...


# ── The exact model ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """The truth of the exact model: θ, s and τ."""

    preference: Vector
    recovery_time: float
    noise_precision: float


RECOVERY: Final = GammaRecovery(shape=3.0, rate=1e-2)
NOISE: Final = NoisePrior(shape=5.0, rate=0.8)
MEAN: Final = (1.9, -0.8)
COVARIANCE: Final = ((2.7, 0.7), (0.7, 1.6))
PRIOR: Final = ListenerPrior(
    preference=PreferencePrior.correlated(MEAN, COVARIANCE), recovery=RECOVERY, noise=NOISE
)
# Few and noisy ratings, at times like the recovery time: a step of a chain that draws
# data and truth in turn soon forgets where it was.
FEATURES: Final = ((1.3, 0.6), (0.7, -0.9), (-0.8, 1.4), (1.7, 0.3))
ELAPSED: Final = (120.0, 250.0, 40.0, 80.0)
WEIGHTS: Final = (0.7, 1.4, 0.3, 1.8)
PROBE: Final = Songs.of(features=[[0.9, -0.7]], elapsed=[600.0])


def expected_ratings(listener: Listener, features: object, elapsed: object) -> Vector:
    """Return U (3), written down once more so that the tests do not lean on the code."""
    novelty = 1 - np.exp(-np.asarray(elapsed, dtype=float) / listener.recovery_time)
    return np.asarray(np.asarray(features) @ listener.preference * novelty)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactWorld:
    """The exact model, to be joined with a sampler."""

    def draw_truth(self, rng: np.random.Generator) -> Listener:
        precision = rng.gamma(NOISE.shape, 1 / NOISE.rate)
        return Listener(
            preference=rng.multivariate_normal(MEAN, np.asarray(COVARIANCE) / precision),
            recovery_time=rng.gamma(RECOVERY.shape, 1 / RECOVERY.rate),
            noise_precision=precision,
        )

    def draw_data(self, truth: Listener, rng: np.random.Generator) -> History:
        spread = 1 / np.sqrt(np.asarray(WEIGHTS) * truth.noise_precision)
        ratings = rng.normal(expected_ratings(truth, FEATURES, ELAPSED), spread)
        return History.of(features=FEATURES, elapsed=ELAPSED, ratings=ratings, weights=WEIGHTS)

    def quantities(self, truth: Listener, data: History) -> dict[str, float]:
        rating = float(expected_ratings(truth, PROBE.features, PROBE.elapsed)[0])
        return {
            "rating": rating,
            "noise precision": truth.noise_precision,
            "recovery time": truth.recovery_time,
            "preference₀²": float(truth.preference[0]) ** 2,
            "log likelihood": log_likelihood(truth, data),
        }


def log_likelihood(listener: Listener, history: History) -> float:
    """Return log p(D | θ, s, τ), from (4)."""
    precision = history.weights * listener.noise_precision
    error = history.ratings - expected_ratings(listener, history.features, history.elapsed)
    return float((0.5 * np.log(precision / (2 * np.pi)) - 0.5 * precision * error**2).sum())


class CollapsedWorld(ExactWorld):
    """The exact model under the engine `Mcmc` and its chains."""

    def step(self, truth: Listener, data: History, rng: np.random.Generator) -> Listener:
        density = collapsed_chain.collapsed_density(PRIOR, data)
        state = slice_sampling.init(float(np.log(truth.recovery_time)), density)
        shape = conjugate.shape(PRIOR, len(data))
        _, draws = collapsed_chain.run([state], density, shape=shape, length=1, width=2.0, rng=rng)
        return _listeners(draws)[0]

    def posterior(self, data: History, rng: np.random.Generator) -> list[Listener]:
        engine = mcmc.Mcmc(prior=PRIOR, effective_draws=160, most_draws=160, warm_up=8)
        listeners = _listeners(engine.fit(data, rng=rng).draws)
        return [listeners[at] for at in np.linspace(0, len(listeners) - 1, RANKED).astype(int)]


def _listeners(draws: collapsed_chain.Draws) -> list[Listener]:
    assert draws.noise_precisions is not None
    assert draws.preferences is not None
    columns = draws.preferences.shape[-1]
    return [
        Listener(preference=theta, recovery_time=float(s), noise_precision=float(tau))
        for theta, s, tau in zip(
            draws.preferences.reshape(-1, columns),
            draws.recovery_times.ravel(),
            draws.noise_precisions.ravel(),
            strict=True,
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetropolisWorld(ExactWorld):
    """The exact model under the un-collapsed reference sampler, of which every `thin`-th counts."""

    thin: int = 30

    def posterior(self, data: History, rng: np.random.Generator) -> list[Listener]:
        # A fifth of the steps is warm-up; one draw more than needed covers the rounding.
        steps = int(np.ceil(1.25 * (RANKED * self.thin + 1)))
        draws = metropolis.sample(PRIOR, data, steps=steps, rng=rng)
        listeners = [
            Listener(preference=theta, recovery_time=float(s), noise_precision=float(tau))
            for theta, s, tau in zip(
                draws.preferences, draws.recovery_times, draws.noise_precisions, strict=True
            )
        ]
        return listeners[:: self.thin][:RANKED]
