"""Least squares in θ and s: the paper's greedy model, plain (25) or penalised by a prior (26).

    plain      Σ w (r − θ'x u(t; s))²                                                    (25)
    penalised  −log p(s) + (f0 + (N + p)/2) · log B(θ, s),                               (26)
               B(θ, s) = h0 + ½(Σ w (r − θ'x u(t; s))² + (θ − μ0)'V0⁻¹(θ − μ0))

code                 maths  shape  meaning
`preference`         θ      (p,)   estimated preference for each feature
`recovery_time`      s             estimated recovery time in minutes, within bounds
`residual_variance`                Σ w (r − θ'x u)² / N: what the fit leaves unexplained

(26) is minus the logarithm of the posterior density of (θ, s), the noise integrated out. A
mode depends on the variable that a density is taken over: here it is s itself, not log s.
Both are minimised by L-BFGS-B over (θ, log s), with ratings in units of the largest one.

Neither form has a unique answer everywhere. With fewer answers than features many θ fit
equally well, with t = 0 nothing is said about anything, with t far above s nothing about s,
and a handful of noisy answers can leave more than one minimum. There the answer is the one
that the descent reaches from its start: the last estimate, or before there is one θ = 0 (or
μ0) and s = 300 minutes (or the prior's mean).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.engines.point_prediction import WithoutSpread
from bandstand.core.engines.song_blocks import content
from bandstand.core.engines.squared_error import penalised, plain
from bandstand.core.model.novelty import novelty
from bandstand.errors import InvalidInputError
from bandstand.types import Minutes, frozen

if TYPE_CHECKING:
    from bandstand.core.engines.squared_error import Objective
    from bandstand.core.model.history import History
    from bandstand.core.model.priors import ListenerPrior, RecoveryPrior
    from bandstand.core.model.songs import Songs
    from bandstand.types import Vector

# The mean of the paper's prior of s, from which the plain form starts.
_FIRST_RECOVERY_TIME: Final = 300.0
# Outside of these a recovery time cannot be told from its bound: songs last minutes, and
# elapsed times are at most a few months.
_SHORTEST: Final = Minutes(1.0)
_LONGEST: Final = Minutes(2.0**17)
# Ratings below this size are as good as zero; their square would be out of range.
_SMALLEST_UNIT: Final = 1e-30
# The objectives are of order one, so these are absolute: close to what rounding allows.
_VALUE_TOLERANCE: Final = 1e-15
_GRADIENT_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastSquaresBelief:
    """One estimate, and how it was reached."""

    history: History
    preference: Vector
    recovery_time: float
    residual_variance: float | None  # None before the first answer
    evaluations: int
    converged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastSquaresPrediction(WithoutSpread):
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
        return content(self.songs, self.belief.preference)

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
        if songs.features.shape[1] != len(belief.preference):
            msg = (
                f"songs must have {len(belief.preference)} features, got {songs.features.shape[1]}"
            )
            raise InvalidInputError(msg)
        return LeastSquaresPrediction(belief=belief, songs=songs)

    def plan(self, belief: LeastSquaresBelief, song: Songs) -> LeastSquaresBelief:
        """Return the belief as it is: it knows no certainty that could grow."""
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
    return math.exp(min(_log_sum_exp(log_mass + nodes) - _log_sum_exp(log_mass), 600.0))


def _log_sum_exp(values: Vector) -> float:
    top = float(values.max())
    with np.errstate(under="ignore"):
        return top + math.log(float(np.exp(values - top).sum()))
