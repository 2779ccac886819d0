"""Least squares in θ and s: the paper's greedy model, plain (25) or penalised by a prior (26).

    plain      Σ w (r − θ'x u(t; s))²                                                    (25)
    penalised  −log p(s) + (f0 + (N + p)/2) · log B(θ, s),                               (26)
               B(θ, s) = h0 + ½(Σ w (r − θ'x u(t; s))² + (θ − μ0)'V0⁻¹(θ − μ0))

code                 maths      shape   meaning
`preference`         θ          (p,)    estimated preference for each feature
`recovery_time`      s                  estimated recovery time in minutes, within bounds
`residual_variance`                     Σ w (r − θ'x u)² / N: what the fit leaves unexplained
`unit`                                  the largest rating, in whose units the descent works
`rows`               √w x       (N, p)
`answers`            √w r/unit  (N,)

(26) is minus the logarithm of the posterior density of (θ, s), the noise integrated out. A
mode depends on the variable that a density is taken over: here it is s itself, not log s. Both
are minimised by L-BFGS-B over (θ/unit, log s), scaled to be of order one: (25) is divided by its
value at θ = 0, (26) by f0 + (N + p)/2.

Neither form has a unique answer everywhere. With fewer answers than features many θ fit
equally well, with t = 0 nothing is said about anything, with t far above s nothing about s,
and a handful of noisy answers can leave more than one minimum. There the answer is the one
that the descent reaches from its start: the last estimate, or before there is one θ = 0 (or
μ0) and s = 300 minutes (or the prior's mean).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import numpy as np
from scipy.special import logsumexp

from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.model.novelty import novelty
from bandstand.core.model.prediction import PointPrediction
from bandstand.errors import InvalidInputError
from bandstand.types import Minutes, frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.core.model.history import History, Songs
    from bandstand.core.model.priors import ListenerPrior, RecoveryPrior
    from bandstand.types import Matrix, Vector

    Objective: TypeAlias = Callable[[Vector], tuple[float, Vector]]

# The mean of the paper's prior of s, from which the plain form starts.
_FIRST_RECOVERY_TIME: Final = 300.0
# Outside of these a recovery time is as good as its bound: songs last minutes, and
# elapsed times are at most a few months.
_SHORTEST: Final = Minutes(1.0)
_LONGEST: Final = Minutes(2.0**17)
# Ratings below this size are as good as zero; their square would be out of range.
_SMALLEST_UNIT: Final = 1e-30
# The objectives are of order one, so these are absolute: close to what rounding allows.
_VALUE_TOLERANCE: Final = 1e-15
_GRADIENT_TOLERANCE: Final = 1e-9
# A five-point difference is right to about 1e-12 for a prior that is smooth on the scale of
# log s, and asks no more of a prior than its density.
_STEP: Final = 1e-3
_OFFSETS: Final = _STEP * np.array([-2.0, -1.0, 1.0, 2.0])
_SLOPE: Final = np.array([1.0, -8.0, 8.0, -1.0]) / (12 * _STEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class SquaredError:
    """Σ w (r − θ'x u(t; s))² in units of unit², as a function of (θ/unit, y)."""

    rows: Matrix
    answers: Vector
    elapsed: Vector

    @classmethod
    def of(cls, history: History, unit: float, weights: Vector) -> SquaredError:
        """Return the error of `history` under the given weights."""
        root = np.sqrt(weights)
        return cls(
            rows=history.features * root[:, np.newaxis],
            answers=history.ratings * (root / unit),
            elapsed=history.elapsed,
        )

    def at_zero(self) -> float:
        """Return the error of θ = 0."""
        return float(self.answers @ self.answers)

    def __call__(self, place: Vector) -> tuple[float, Vector]:
        """Return the error and its gradient."""
        # Far beyond this ratio novelty is 1 and flat in double precision.
        ratio = np.minimum(self.elapsed * math.exp(-place[-1]), 800.0)
        curve, fall = -np.expm1(-ratio), ratio * np.exp(-ratio)  # u and −du/dy
        content = self.rows @ place[:-1]
        residual = self.answers - content * curve
        gradient = np.empty_like(place)
        gradient[:-1] = -2 * ((residual * curve) @ self.rows)
        gradient[-1] = 2 * (residual * content) @ fall
        return float(residual @ residual), gradient


def plain(history: History, unit: float) -> Objective:
    """Return (25) as a share of the sum of squares of the ratings."""
    # Only ratios of weights matter here, and ratios stay in range.
    error = SquaredError.of(history, unit, history.weights / history.weights.max())
    total = error.at_zero() or 1.0

    def objective(place: Vector) -> tuple[float, Vector]:
        with np.errstate(under="ignore"):
            value, gradient = error(place)
            return value / total, gradient / total

    return objective


def penalised(history: History, unit: float, prior: ListenerPrior) -> Objective:
    """Return (26) divided by f0 + (N + p)/2, up to a constant."""
    error = SquaredError.of(history, unit, history.weights)
    precision, centre = prior.preference.precision, prior.preference.mean / unit
    rate = prior.noise.rate / unit**2
    typical = rate + 0.5 * error.at_zero()
    power = prior.noise.shape + 0.5 * (len(history) + history.columns)

    def objective(place: Vector) -> tuple[float, Vector]:
        with np.errstate(under="ignore"):
            value, gradient = error(place)
            shift = place[:-1] - centre
            pull = precision @ shift
            total = rate + 0.5 * (value + float(shift @ pull))
            gradient[:-1] += 2 * pull
            gradient *= 0.5 / total
            density, slope = _log_density(prior.recovery, place[-1])
            gradient[-1] -= slope / power
            return math.log(total / typical) - density / power, gradient

    return objective


def _log_density(prior: RecoveryPrior, y: float) -> tuple[float, float]:
    """Return log p(s) and its derivative by y = log s; p is the density of s, not of y."""
    around = prior.log_density(np.append(y, y + _OFFSETS))
    return float(around[0]) - y, float(_SLOPE @ around[1:]) - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastSquaresBelief:
    """One estimate, and how it was reached."""

    history: History
    preference: Vector = field(repr=False)
    recovery_time: float
    residual_variance: float | None  # None before the first answer
    evaluations: int = field(repr=False)
    converged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastSquaresPrediction(PointPrediction):
    """The mean of each song by the one estimate; there is no spread around it."""

    belief: LeastSquaresBelief
    songs: Songs

    def __len__(self) -> int:
        return len(self.songs)

    def mean(self) -> Vector:
        """Return θ'x u(t; s) of each song (3): (S,)."""
        with np.errstate(under="ignore"):
            return np.asarray(self._content() * self._novelty())

    def parts(self) -> dict[str, Vector]:
        """Return content (1) and novelty (2), whose product is the mean."""
        return {"content": self._content(), "novelty": self._novelty()}

    def _content(self) -> Vector:
        return self.songs.content(self.belief.preference)

    def _novelty(self) -> Vector:
        """Return u of each song: of those heard lately one by one, of all others once."""
        longest, heard = np.array([self.songs.longest]), self.songs.heard
        values = np.full(len(self), float(novelty(longest, self.belief.recovery_time)[0]))
        values[heard] = novelty(self.songs.elapsed_of(heard), self.belief.recovery_time)
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastSquares(Engine[LeastSquaresBelief]):
    """The engine of `greedy-cn` (no penalty) and of `greedy-cn-map` (penalty: the prior).

    >>> from bandstand import History, Songs
    >>> history = History.of(features=[[1.0], [2.0], [1.0]], elapsed=[43_200, 43_200, 250],
    ...                      ratings=[2, 4, 1])
    >>> engine = LeastSquares()
    >>> belief = engine.fit(history)
    >>> belief.preference.round(3), round(belief.recovery_time * math.log(2))
    (array([2.]), 250)
    """

    online: ClassVar[bool] = False
    penalty: ListenerPrior | None = None
    shortest: Minutes = _SHORTEST
    longest: Minutes = _LONGEST
    most_iterations: int = 1_000

    def __post_init__(self) -> None:
        """Refuse bounds that hold no recovery time."""
        if not 0 < self.shortest <= self.longest < math.inf:
            msg = (
                "bounds of the recovery time must be positive, finite and in order, "
                f"got {self.shortest} and {self.longest}"
            )
            raise InvalidInputError(msg)

    def fit(
        self, history: History, *, rng: np.random.Generator | None = None
    ) -> LeastSquaresBelief:
        """Return the estimate after `history`; nothing is drawn, so `rng` is not used."""
        del rng
        return self._descend(self._start(history), history)

    def update(
        self,
        belief: LeastSquaresBelief,
        history: History,
        *,
        rng: np.random.Generator | None = None,
    ) -> LeastSquaresBelief:
        """Return the estimate after `history`, by a descent that starts from the last one."""
        del rng
        return self._descend(belief, history)

    def predict(
        self, belief: LeastSquaresBelief, songs: Songs, *, memory: Any = None
    ) -> LeastSquaresPrediction:
        """Return the mean of `songs`."""
        del memory
        songs.require_columns(len(belief.preference))
        return LeastSquaresPrediction(belief=belief, songs=songs)

    def plan(self, belief: LeastSquaresBelief, song: Songs) -> LeastSquaresBelief:
        """Return the belief as it is: a point estimate has no certainty that could grow."""
        del song
        return belief

    def summary(self, belief: LeastSquaresBelief) -> Summary:
        """Return the estimates; there is no spread, and nothing at all before the first answer."""
        if belief.residual_variance is None:
            return Summary()
        return Summary(
            recovery_time_mean=belief.recovery_time, noise_sd=math.sqrt(belief.residual_variance)
        )

    def _start(self, history: History) -> LeastSquaresBelief:
        """Return the estimate before the first answer."""
        preference, recovery_time = np.zeros(history.columns), _FIRST_RECOVERY_TIME
        if self.penalty is not None:
            preference = self.penalty.preference.mean
            recovery_time = _prior_mean(self.penalty.recovery)
        if len(preference) != history.columns:
            msg = (
                f"the history must have {len(preference)} features "
                f"as the prior has, got {history.columns}"
            )
            raise InvalidInputError(msg)
        return LeastSquaresBelief(
            history=history,
            preference=frozen(preference),
            recovery_time=min(max(recovery_time, self.shortest), self.longest),
            residual_variance=None,
            evaluations=0,
            converged=True,
        )

    def _objective(self, history: History, unit: float) -> Objective:
        if self.penalty is None:
            return plain(history, unit)
        return penalised(history, unit, self.penalty)

    def _descend(self, start: LeastSquaresBelief, history: History) -> LeastSquaresBelief:
        """Return the estimate that L-BFGS-B reaches from `start`."""
        if not len(history):
            return replace(start, history=history)
        # scipy.optimize takes long to import, and most algorithms never need it.
        from scipy.optimize import minimize  # noqa: PLC0415

        unit = _unit(history)
        free: list[tuple[float | None, float | None]] = [(None, None)] * history.columns
        with np.errstate(under="ignore"):
            found = minimize(
                self._objective(history, unit),
                np.append(start.preference / unit, math.log(start.recovery_time)),
                jac=True,
                method="L-BFGS-B",
                bounds=[*free, (math.log(self.shortest), math.log(self.longest))],
                options={
                    "ftol": _VALUE_TOLERANCE,
                    "gtol": _GRADIENT_TOLERANCE,
                    "maxcor": 20,
                    "maxls": 50,
                    "maxiter": self.most_iterations,
                },
            )
            preference, recovery_time = found.x[:-1] * unit, math.exp(found.x[-1])
        return LeastSquaresBelief(
            history=history,
            preference=frozen(preference),
            recovery_time=min(max(recovery_time, self.shortest), self.longest),
            residual_variance=_residual_variance(history, preference, recovery_time),
            evaluations=int(found.nfev),
            converged=bool(found.success),
        )


def _unit(history: History) -> float:
    """Return the largest rating, in whose units the descent works; 1 if all are as good as zero."""
    largest = float(np.abs(history.ratings).max())
    return largest if largest > _SMALLEST_UNIT else 1.0


def _residual_variance(history: History, preference: Vector, recovery_time: float) -> float:
    """Return Σ w (r − θ'x u)² / N."""
    with np.errstate(under="ignore"):
        expected = (history.features @ preference) * novelty(history.elapsed, recovery_time)
        return float(history.weights @ (history.ratings - expected) ** 2) / len(history)


def _prior_mean(prior: RecoveryPrior) -> float:
    """Return E[s] under the prior in minutes, by the trapezoid rule in log s."""
    low, high = prior.interval()
    nodes = np.linspace(low, high, 2_001)
    log_mass = prior.log_density(nodes)
    with np.errstate(under="ignore"):
        return math.exp(min(float(logsumexp(log_mass + nodes) - logsumexp(log_mass)), 600.0))
