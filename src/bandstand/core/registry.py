"""The named algorithms: pairs of an engine, which believes, and a policy, which chooses.

To add one, write its policy or engine in a file of its own and add one line to `ALGORITHMS`
(docs/add-a-policy.md walks through it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.least_squares import LeastSquares
from bandstand.core.engines.mcmc.engine import Mcmc
from bandstand.core.engines.random import NoModel
from bandstand.core.engines.ridge import Ridge
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model.factors import content_novelty, content_novelty_diversity
from bandstand.core.model.piecewise_linear import PAPER_BASIS, PiecewiseLinearBasis
from bandstand.core.policies import (
    BayesUcb,
    EpsilonGreedy,
    Greedy,
    LinUcb,
    Optimistic,
    Thompson,
    Uniform,
)
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.core.engines.engine import Engine
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.core.policies.policy import ScorePolicy

DEFAULT: Final = "bayes-ucb-cn-x"
RANDOM: Final = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """One named way to recommend."""

    name: str
    summary: str
    make_engine: Callable[[ListenerPrior, PiecewiseLinearBasis], Engine[Any]]
    policy: ScorePolicy
    # Whether the next song takes milliseconds, however much was rated: of a server's listeners,
    # those whose algorithm is quick never wait for the others.
    is_quick: bool = True

    def engine_for(
        self, prior: ListenerPrior, *, basis: PiecewiseLinearBasis = PAPER_BASIS
    ) -> Engine[Any]:
        """Return the engine; `basis` is the novelty curve of those that learn its shape."""
        return self.make_engine(prior, basis)


def _algorithm(
    name: str,
    summary: str,
    make_engine: Callable[[ListenerPrior, PiecewiseLinearBasis], Engine[Any]],
    policy: ScorePolicy,
    *,
    is_quick: bool = True,
) -> Algorithm:
    return Algorithm(
        name=name, summary=summary, make_engine=make_engine, policy=policy, is_quick=is_quick
    )


def _exact(prior: ListenerPrior, _: PiecewiseLinearBasis) -> Exact:
    return Exact(prior=prior)


def _variational(prior: ListenerPrior, basis: PiecewiseLinearBasis) -> Variational:
    return Variational(model=content_novelty(prior.preference.columns, basis))


def _variational_diversity(prior: ListenerPrior, basis: PiecewiseLinearBasis) -> Variational:
    return Variational(model=content_novelty_diversity(prior.preference.columns, basis))


ALGORITHMS: Final[dict[str, Algorithm]] = {
    algorithm.name: algorithm
    for algorithm in (
        # The paper's six.
        _algorithm(RANDOM, "any song", lambda *_: NoModel(), Uniform()),
        _algorithm("linucb-c", "LinUCB on the content", lambda *_: Ridge(), LinUcb()),
        _algorithm(
            "linucb-cn",
            "LinUCB on the content and the elapsed time",
            lambda *_: Ridge(time_unit=MONTH),
            LinUcb(),
        ),
        _algorithm("greedy-cn", "least squares, no exploring", lambda *_: LeastSquares(), Greedy()),
        _algorithm(
            "bayes-ucb-cn",
            "Bayes-UCB by MCMC",
            lambda prior, _: Mcmc(prior=prior),
            BayesUcb(),
            is_quick=False,  # seconds
        ),
        _algorithm(
            "bayes-ucb-cn-v",
            "Bayes-UCB by variational inference",
            _variational,
            BayesUcb(),
            is_quick=False,  # all ratings are gone through again after each
        ),
        # Ours.
        _algorithm(DEFAULT, "Bayes-UCB by exact quadrature; the default", _exact, BayesUcb()),
        _algorithm(
            "bayes-ucb-cnd-v",
            "variational Bayes-UCB with a third factor, diversity",
            _variational_diversity,
            BayesUcb(),
            is_quick=False,
        ),
        _algorithm("thompson-cn-x", "Thompson sampling, exact", _exact, Thompson()),
        _algorithm("optimistic-cn-x", "optimistic Bayesian sampling, exact", _exact, Optimistic()),
        _algorithm("greedy-cn-x", "highest exact posterior mean", _exact, Greedy()),
        _algorithm(
            "epsilon-greedy-cn-x",
            "highest exact posterior mean, now and then any song",
            _exact,
            EpsilonGreedy(),
        ),
        _algorithm(
            "greedy-cn-map",
            "least squares with the prior as penalty, no exploring",
            lambda prior, _: LeastSquares(penalty=prior),
            Greedy(),
        ),
    )
}


def algorithm_named(name: str) -> Algorithm:
    """Return the algorithm of that name."""
    try:
        return ALGORITHMS[name]
    except KeyError:
        msg = f"the algorithm must be one of {', '.join(ALGORITHMS)}, got {name!r}"
        raise InvalidInputError(msg) from None
