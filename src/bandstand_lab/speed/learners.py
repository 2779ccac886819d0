"""How each method of the efficiency study learns from a history, from scratch.

`metropolis` is what one would write first: Metropolis within Gibbs, 5,000 steps. L-BFGS-B is
there with its gradient, and once more as it works where nobody gives it one: by finite
differences, one evaluation for each coefficient. `ridge` is what LinUCB learns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.inference import metropolis
from bandstand.inference.exact import Exact
from bandstand.inference.least_squares import LeastSquares
from bandstand.inference.mcmc import Mcmc
from bandstand.inference.ridge import Ridge
from bandstand.inference.squared_error import plain
from bandstand.inference.variational import Variational
from bandstand.model.factors import content_novelty, content_novelty_diversity

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.domain import History
    from bandstand.model.priors import ListenerPrior
    from bandstand.types import Vector

REFERENCE: Final = "metropolis"
REFERENCE_STEPS: Final = 5_000
LABELS: Final = {
    "metropolis": "Metropolis, 5,000 steps",
    "mcmc": "collapsed MCMC",
    "variational-3": "variational, 3 factors",
    "variational-2": "variational, 2 factors",
    "exact": "exact",
    "least-squares": "L-BFGS-B, plain",
    "least-squares-map": "L-BFGS-B, MAP",
    "least-squares-differences": "L-BFGS-B, no gradient",
    "ridge": "ridge regression (LinUCB)",
}
METHODS: Final = tuple(LABELS)
# What one iteration of each method is, where it has any.
ITERATIONS: Final = {
    "metropolis": "steps",
    "mcmc": "draws",
    "variational-3": "sweeps",
    "variational-2": "sweeps",
    "least-squares": "evaluations",
    "least-squares-map": "evaluations",
    "least-squares-differences": "evaluations",
}


def learners(
    prior: ListenerPrior, columns: int, steps: int, seed: int, effective_draws: int = 2_000
) -> dict[str, Callable[[History], Any]]:
    """Return for each method how it learns from a history, from scratch."""

    def sampled(history: History) -> Any:
        rng = np.random.default_rng([seed, 1])
        return metropolis.sample(prior, history, steps=steps, rng=rng)

    def collapsed(history: History) -> Any:
        engine = Mcmc(prior=prior, effective_draws=effective_draws)
        return engine.fit(history, rng=np.random.default_rng([seed, 2]))

    return {
        "metropolis": sampled,
        "mcmc": collapsed,
        "variational-3": Variational(model=content_novelty_diversity(columns)).fit,
        "variational-2": Variational(model=content_novelty(columns)).fit,
        "exact": Exact(prior=prior).fit,
        "least-squares": LeastSquares().fit,
        "least-squares-map": LeastSquares(penalty=prior).fit,
        "least-squares-differences": _without_gradient,
        "ridge": Ridge().fit,
    }


def _without_gradient(history: History) -> Any:
    """Return what L-BFGS-B finds with its usual tolerances if it has to work out the gradient."""
    from scipy.optimize import minimize  # noqa: PLC0415  (as in `LeastSquares`: slow to import)

    unit = float(np.abs(history.ratings).max()) or 1.0
    both = plain(history, unit)

    def objective(place: Vector) -> float:
        return both(place)[0]

    free: list[tuple[float | None, float | None]] = [(None, None)] * history.columns
    return minimize(
        objective,
        np.append(np.zeros(history.columns), math.log(300.0)),
        method="L-BFGS-B",
        bounds=[*free, (0.0, 17 * math.log(2.0))],
        options={"maxfun": 1_000_000},
    )


def converged(result: Any) -> bool | None:
    """Return whether a search came to its end; None of a method that does not say."""
    answer = getattr(result, "converged", getattr(result, "success", None))
    return None if answer is None else bool(answer)


def iterations(method: str, result: Any) -> int | None:
    """Return how many steps, sweeps or evaluations it took."""
    match ITERATIONS.get(method):
        case "steps":
            return REFERENCE_STEPS
        case "draws":
            return int(result.draws.log_recovery_times.size)
        case "sweeps":
            return len(result.bounds)
        case "evaluations":
            return int(result.evaluations if hasattr(result, "evaluations") else result.nfev)
        case _:
            return None
