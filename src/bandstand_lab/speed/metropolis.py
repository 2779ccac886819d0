"""Metropolis within Gibbs on the exact model: what one would write first.

    θ | s, τ  ~  N(m_s, (τΛ_s)⁻¹)                                               (8), (9)
    τ | θ, s  ~  Gamma(f0 + (N + p)/2, rate h0 + ½ Σ w (r − θ'z)²
                                                + ½ (θ − μ0)'V0⁻¹(θ − μ0))      (4), (5), (7)
    y | θ, τ     a random-walk step on y = log s                                (4), (6)

Nothing is integrated out, so s moves only as far as the last θ and τ let it. It is the
reference of the speed study, and a second, independent way to the same posterior.

code                  maths  shape  meaning
`preference`          θ      (p,)
`noise_precision`     τ
`log_recovery_time`   y             s is in minutes
`curve`               u      (N,)   novelty of each rated song at s
`factor`              L      (p, p) lower triangle, LL' = Λ_s
`mean`                m_s    (p,)
"""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from bandstand.core.model.history import History
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import ListenerPrior
from bandstand.errors import InvalidInputError
from bandstand.types import Matrix, Vector, frozen

# A random walk in one dimension explores fastest when it accepts this share of its steps.
_ACCEPTED_SHARE: Final = 0.44


@dataclass(frozen=True, slots=True, kw_only=True)
class MetropolisDraws:
    """Draws of one chain, after its warm-up."""

    recovery_times: Vector
    noise_precisions: Vector
    preferences: Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """The data as every step needs it: rows and ratings each times √w."""

    prior: ListenerPrior
    elapsed: Vector
    features: Matrix
    ratings: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Where the chain is, with everything that depends on s alone."""

    preference: Vector
    noise_precision: float
    log_recovery_time: float
    curve: Vector
    factor: Matrix
    mean: Vector


def sample(
    prior: ListenerPrior, history: History, *, steps: int = 5_000, rng: np.random.Generator
) -> MetropolisDraws:
    """Return the draws of one chain of `steps` steps; the first fifth tunes it and is left out.

    >>> from bandstand import History
    >>> from bandstand.core.model.priors import paper_prior
    >>> history = History.of(features=[[1.0], [2.0], [1.5]], elapsed=43_200, ratings=[2, 4, 3.1])
    >>> draws = sample(paper_prior(1), history, steps=100, rng=np.random.default_rng(1))
    >>> draws.preferences.shape
    (80, 1)
    """
    if not len(history):
        msg = "the history must have at least one rating, got none"
        raise InvalidInputError(msg)
    problem = _problem(prior, history)
    warm_up = steps // 5
    state, stride = _start(problem, rng), 1.0
    times, precisions = np.empty(steps), np.empty(steps)
    preferences = np.empty((steps, history.columns))
    for at in range(steps):
        state, moved = _step(state, problem, stride, rng)
        if at < warm_up:
            stride *= math.exp((moved - _ACCEPTED_SHARE) / math.sqrt(at + 1))
        times[at] = math.exp(state.log_recovery_time)
        precisions[at], preferences[at] = state.noise_precision, state.preference
    return MetropolisDraws(
        recovery_times=frozen(times[warm_up:]),
        noise_precisions=frozen(precisions[warm_up:]),
        preferences=frozen(preferences[warm_up:]),
    )


def noise_conditional(
    prior: ListenerPrior, residual: Vector, preference: Vector
) -> tuple[float, float]:
    """Return shape and rate of τ given θ and s; `residual` is √w (r − θ'z)."""
    shift = preference - prior.preference.mean
    squares = residual @ residual + shift @ prior.preference.precision @ shift
    shape = prior.noise.shape + (len(residual) + len(shift)) / 2
    return shape, prior.noise.rate + float(squares) / 2


def _problem(prior: ListenerPrior, history: History) -> _Problem:
    root = np.sqrt(history.weights)
    return _Problem(
        prior=prior,
        elapsed=history.elapsed,
        features=history.features * root[:, np.newaxis],
        ratings=history.ratings * root,
    )


def _start(problem: _Problem, rng: np.random.Generator) -> _State:
    """Return a start at a recovery time drawn from the prior and the data's own noise."""
    spread = float(problem.ratings.std())
    nowhere = _State(
        preference=problem.prior.preference.mean,
        noise_precision=1 / spread**2 if spread else 1.0,
        log_recovery_time=0.0,
        curve=np.zeros(0),
        factor=np.zeros((0, 0)),
        mean=np.zeros(0),
    )
    time = math.log(max(float(problem.prior.recovery.draw(rng, 1)[0]), 1e-300))
    return _moved(nowhere, problem, time, _curve(problem, time))


def _step(
    state: _State, problem: _Problem, stride: float, rng: np.random.Generator
) -> tuple[_State, bool]:
    """Return the state after θ, τ and y had their turn, and whether y moved."""
    normals = rng.standard_normal(len(state.mean))
    deviation = solve_triangular(state.factor, normals, lower=True, trans="T", check_finite=False)
    preference = state.mean + deviation / math.sqrt(state.noise_precision)

    content = problem.features @ preference
    residual = problem.ratings - content * state.curve
    shape, rate = noise_conditional(problem.prior, residual, preference)
    precision = float(rng.gamma(shape)) / rate
    state = replace(state, preference=preference, noise_precision=precision)

    proposal = state.log_recovery_time + stride * float(rng.standard_normal())
    curve = _curve(problem, proposal)
    proposed = problem.ratings - content * curve
    places = np.array([state.log_recovery_time, proposal])
    before, after = problem.prior.recovery.log_density(places)
    gain = after - before - 0.5 * precision * (proposed @ proposed - residual @ residual)
    if gain < -rng.standard_exponential():
        return state, False
    return _moved(state, problem, proposal, curve), True


def _curve(problem: _Problem, log_recovery_time: float) -> Vector:
    return novelty(problem.elapsed, math.exp(min(log_recovery_time, 690.0)))


def _moved(state: _State, problem: _Problem, log_recovery_time: float, curve: Vector) -> _State:
    """Return the state at another recovery time; the one place where a factor is worked out."""
    start = problem.prior.preference
    rows = problem.features * curve[:, np.newaxis]
    factor = cholesky(start.precision + rows.T @ rows, lower=True, check_finite=False)
    evidence = start.precision @ start.mean + rows.T @ problem.ratings
    return replace(
        state,
        log_recovery_time=log_recovery_time,
        curve=curve,
        factor=factor,
        mean=cho_solve((factor, True), evidence, check_finite=False),
    )
