"""Markov chains on the exact model, with the preferences and the noise integrated out.

    y  ←  a slice-sampling step on log p(y) + log p(D | s),  y = log s     (6), (12)
    τ  ~  Gamma(A, rate B_s)                                               (10), (11)
    θ  ~  N(m_s, (τΛ_s)⁻¹)                                                 (8), (9)

Only y makes a chain, and one number mixes in a few draws; τ and θ are exact given y. Slice
sampling (Radford Neal, Annals of Statistics 31, 2003, figures 3 and 5):

    level         log p(y) − Exponential(1): a uniform height below the density at y, as a log
    slice         every point whose log density reaches the level
    stepping out  a window of `width` falls at random around y and grows until both ends left
    shrinkage     uniform points of the window; one outside the slice becomes the nearer end

Any width gives the right distribution, a poor one only costs evaluations. Λ_s, m_s and B_s are
computed with the density at y, and τ and θ need them; so a density returns both, and the state
keeps both.

code                   maths     shape                meaning
`position`             y                              log recovery time of the chain, s in minutes
`log_density`          log p(y)                       up to a constant
`detail`                                              computed at `position` with the density
`log_recovery_times`   y         (chains, length)
`noise_precisions`     τ         (chains, length)     1 / variance of a rating of weight 1
`preferences`          θ         (chains, length, p)
`shape`                A                              of the noise precision
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
from scipy.linalg.lapack import dtrtrs

from bandstand.core.engines.exact.posterior import conjugate
from bandstand.core.engines.exact.posterior.conjugate import Conditional
from bandstand.core.model.history import History
from bandstand.core.model.priors import ListenerPrior
from bandstand.errors import InvalidInputError
from bandstand.types import Matrix, Stack, Vector, frozen

DetailT = TypeVar("DetailT")

# The log density at a point, and what else was computed there.
LogDensity: TypeAlias = Callable[[float], tuple[float, DetailT]]

# A window grows by at most this many widths: enough for a width that is a hundred
# times too small, and an end to the search where a density does not fall at all.
MAX_STEPS_OUT: Final = 100
# Draws of τ need a shape that is not too small: of Gamma(0.001) half the draws are exactly 0
# in double precision, of Gamma(0.1) one in 10^30 is below 1e-300. A single rating gives 0.5.
SMALLEST_SHAPE: Final = 0.1
# A recovery time of 1e300 minutes is as good as any longer one.
_LARGEST_LOG: Final = math.log(1e300)


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceState(Generic[DetailT]):
    """The state of one chain."""

    position: float
    log_density: float
    detail: DetailT


def start_chain(position: float, log_density: LogDensity[DetailT]) -> SliceState[DetailT]:
    """Return the state of a chain that starts at `position`, where the density must not be 0."""
    value, detail = log_density(position)
    if not math.isfinite(value):
        msg = f"the log density must be finite at the start, got {value} at {position}"
        raise InvalidInputError(msg)
    return SliceState(position=position, log_density=value, detail=detail)


def slice_step(
    state: SliceState[DetailT],
    log_density: LogDensity[DetailT],
    *,
    width: float,
    rng: np.random.Generator,
    max_steps_out: int = MAX_STEPS_OUT,
) -> SliceState[DetailT]:
    """Return the next state, drawn from a kernel that leaves the density as it is.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> def standard_normal(y: float) -> tuple[float, None]:
    ...     return -0.5 * y * y, None
    >>> state = start_chain(0.0, standard_normal)
    >>> state = slice_step(state, standard_normal, width=2.5, rng=rng)
    >>> state.log_density == standard_normal(state.position)[0]
    True
    """
    level = state.log_density - rng.standard_exponential()
    left = state.position - width * rng.random()
    # The limit is shared at random between the two sides: with a fixed share the
    # way back would not be as likely as the way there.
    leftward = int(rng.integers(max_steps_out + 1))
    right = _step_out(left + width, width, max_steps_out - leftward, level, log_density)
    left = _step_out(left, -width, leftward, level, log_density)
    while True:
        candidate = left + (right - left) * rng.random()
        value, detail = log_density(candidate)
        # Reaching the level is enough: a window that has shrunk to the position itself
        # always ends the search.
        if value >= level:
            return SliceState(position=candidate, log_density=value, detail=detail)
        if candidate < state.position:
            left = candidate
        else:
            right = candidate


def _step_out(
    end: float, stride: float, limit: int, level: float, log_density: LogDensity[DetailT]
) -> float:
    """Return one end of the window, moved by up to `limit` strides until it left the slice."""
    for _ in range(limit):
        if log_density(end)[0] < level:
            break
        end += stride
    return end


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """Draws from the posterior; τ and θ are None where double precision cannot hold them."""

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
    shape = conjugate.shape(prior, history.weights)

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
    states: Sequence[SliceState[Conditional]],
    density: LogDensity[Conditional],
    *,
    shape: float,
    length: int,
    width: float,
    rng: np.random.Generator,
) -> tuple[list[SliceState[Conditional]], Draws]:
    """Return the chains `length` steps on, and what they drew on the way."""
    drawable = shape >= SMALLEST_SHAPE
    places = np.empty((len(states), length))
    precisions = np.empty((len(states), length))
    preferences = np.empty((len(states), length, len(states[0].detail.mean)))
    ends = list(states)
    for chain, at in np.ndindex(places.shape):
        state = slice_step(ends[chain], density, width=width, rng=rng)
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
