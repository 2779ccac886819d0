"""Markov chains on the exact model, with the preferences and the noise integrated out.

    y  ←  a slice-sampling step on log p(y) + log p(D | s),  y = log s     (6), (12)
    τ  ~  Gamma(A, rate B_s)                                               (10), (11)
    θ  ~  N(m_s, (τΛ_s)⁻¹)                                                 (8), (9)

code                   maths  shape                meaning
`log_recovery_times`   y      (chains, length)     s is in minutes
`noise_precisions`     τ      (chains, length)     one over the variance of a rating of weight 1
`preferences`          θ      (chains, length, p)
`shape`                A                           of the noise precision

Only y makes a chain, and one number mixes in a few draws; τ and θ are exact given y. What
they need, Λ_s, m_s and B_s, was worked out with the density and is kept with the state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from scipy.linalg.lapack import dtrtrs

from bandstand.core.engines.exact.posterior import conjugate
from bandstand.core.engines.exact.posterior.conjugate import Conditional
from bandstand.core.engines.mcmc import slice_sampling
from bandstand.core.engines.mcmc.slice_sampling import LogDensity, SliceState
from bandstand.types import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.core.model.history import History
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import Matrix, Stack, Vector

ChainState: TypeAlias = SliceState[Conditional]

# Draws of τ need a shape that is not too small: of Gamma(0.001) half the draws are exactly 0
# in double precision, of Gamma(0.1) one in 10^30 is below 1e-300. A single rating gives 0.5.
SMALLEST_SHAPE: Final = 0.1
# A recovery time of 1e300 minutes is as good as any longer one.
_LARGEST_LOG: Final = math.log(1e300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """Draws from the posterior; τ and θ are None where they are too wild to be drawn."""

    log_recovery_times: Matrix
    noise_precisions: Matrix | None
    preferences: Stack | None

    @property
    def recovery_times(self) -> Matrix:
        """The recovery times in minutes: (chains, length)."""
        with np.errstate(under="ignore"):
            times: Matrix = np.exp(np.minimum(self.log_recovery_times, _LARGEST_LOG))
        return times


def collapsed_density(prior: ListenerPrior, history: History) -> LogDensity[Conditional]:
    """Return the log density of y = log s given the history, (6) and (12), up to a constant."""
    shape = conjugate.shape(prior, len(history))

    def log_density(log_recovery_time: float) -> tuple[float, Conditional]:
        recovery_time = math.exp(min(log_recovery_time, _LARGEST_LOG))
        # The novelty of a song under a very long recovery time is rightly nothing.
        with np.errstate(under="ignore"):
            conditional = conjugate.condition_on(prior, history, recovery_time)
        start = prior.recovery.log_density(np.array([log_recovery_time]))
        return float(start[0]) + conjugate.log_evidence(conditional, shape), conditional

    return log_density


def draw_noise_precision(conditional: Conditional, shape: float, rng: np.random.Generator) -> float:
    """Return a draw of τ given s, from Gamma(A, rate B_s)."""
    return float(rng.standard_gamma(shape)) / conditional.rate


def draw_preference(
    conditional: Conditional, noise_precision: float, rng: np.random.Generator
) -> Vector:
    """Return a draw of θ given s and τ, from N(m_s, (τΛ_s)⁻¹)."""
    normals = rng.standard_normal(len(conditional.mean))
    # LL' = Λ_s, so L'⁻¹z has the covariance Λ_s⁻¹.
    deviation, _ = dtrtrs(conditional.factor, normals, lower=1, trans=1)
    preference: Vector = conditional.mean + deviation / math.sqrt(noise_precision)
    return preference


def run(
    states: Sequence[ChainState],
    density: LogDensity[Conditional],
    *,
    shape: float,
    length: int,
    width: float,
    rng: np.random.Generator,
) -> tuple[list[ChainState], Draws]:
    """Return the chains `length` steps on, and what they drew on the way."""
    drawable = shape >= SMALLEST_SHAPE
    places = np.empty((len(states), length))
    precisions = np.empty((len(states), length))
    preferences = np.empty((len(states), length, len(states[0].detail.mean)))
    ends = list(states)
    for chain, at in np.ndindex(places.shape):
        state, _ = slice_sampling.step(ends[chain], density, width=width, rng=rng)
        ends[chain], places[chain, at] = state, state.position
        if drawable:
            precision = draw_noise_precision(state.detail, shape, rng)
            precisions[chain, at] = precision
            preferences[chain, at] = draw_preference(state.detail, precision, rng)
    return ends, Draws(
        log_recovery_times=frozen(places),
        noise_precisions=frozen(precisions) if drawable else None,
        preferences=frozen(preferences) if drawable else None,
    )


def joined(first: Draws, second: Draws) -> Draws:
    """Return the draws of the same chains, one after the other."""
    return Draws(
        log_recovery_times=_joined(first.log_recovery_times, second.log_recovery_times),
        noise_precisions=_joined(first.noise_precisions, second.noise_precisions),
        preferences=_joined(first.preferences, second.preferences),
    )


def _joined(first: Any, second: Any) -> Any:
    return None if first is None else frozen(np.concatenate([first, second], axis=1))
