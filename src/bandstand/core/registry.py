"""The named algorithms: pairs of an engine, which believes, and a policy, which chooses.

To add one, write its policy or engine in a file of its own and add one line to the table below
(docs/architecture.md walks through it).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.least_squares import LeastSquares
from bandstand.core.engines.mcmc.engine import Mcmc
from bandstand.core.engines.random import NoModel
from bandstand.core.engines.ridge import Ridge
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model.factors import content_novelty
from bandstand.core.model.novelty import PAPER_BASIS, PiecewiseLinearBasis
from bandstand.core.policies import BayesUcb, Greedy, LinUcb, Thompson, Uniform
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH, Minutes

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.core.engines.engine import Engine
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.core.policies.policy import ScorePolicy

DEFAULT: Final = "bayes-ucb-cn-x"
RANDOM: Final = "random"
# Learns from names of artists and albums too.
WITH_NAMES: Final = "mixed-effects"
# The quantile of the mixed-effects algorithm: a little more than the middle.
_MIXED_LEVEL: Final = 0.7


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One named way to recommend."""

    name: str
    summary: str
    make_engine: Callable[[ListenerPrior, PiecewiseLinearBasis], Engine[Any]] = field(repr=False)
    policy: ScorePolicy
    # Whether the next song takes milliseconds, whatever the number of ratings: listeners of a
    # quick algorithm never wait for the others.
    is_quick: bool = True
    # Whether it expects a prior with effects, for songs with an artist, an album and tags.
    has_effects: bool = False
    # How long ago a song never heard counts as heard; ∞ means never.
    never: Minutes = MONTH

    def engine_for(
        self, prior: ListenerPrior, *, basis: PiecewiseLinearBasis = PAPER_BASIS
    ) -> Engine[Any]:
        """Return the engine; `basis` is the novelty curve of those that learn its shape."""
        return self.make_engine(prior, basis)


def _exact(prior: ListenerPrior, _: PiecewiseLinearBasis) -> Exact:
    return Exact(prior=prior)


def _variational(prior: ListenerPrior, basis: PiecewiseLinearBasis) -> Variational:
    return Variational(model=content_novelty(prior.preference.columns, basis))


_ALL: Final = (
    # The paper's six.
    Algorithm(RANDOM, "any song", lambda *_: NoModel(), Uniform()),
    Algorithm("linucb-c", "LinUCB on the content", lambda *_: Ridge(), LinUcb()),
    Algorithm(
        "linucb-cn",
        "LinUCB on the content and the elapsed time",
        lambda *_: Ridge(time_unit=MONTH),
        LinUcb(),
    ),
    Algorithm("greedy-cn", "least squares, no exploring", lambda *_: LeastSquares(), Greedy()),
    Algorithm(
        "bayes-ucb-cn",
        "Bayes-UCB by MCMC",
        lambda prior, _: Mcmc(prior=prior),
        BayesUcb(),
        is_quick=False,  # seconds
    ),
    Algorithm(
        "bayes-ucb-cn-v",
        "Bayes-UCB by variational inference",
        _variational,
        BayesUcb(),
        is_quick=False,  # every rating is a pass over all of them
    ),
    # Ours.
    Algorithm(
        DEFAULT, "Bayes-UCB by exact quadrature; the default without names", _exact, BayesUcb()
    ),
    Algorithm("thompson-cn-x", "Thompson sampling, exact", _exact, Thompson()),
    Algorithm("greedy-cn-x", "highest exact posterior mean", _exact, Greedy()),
    Algorithm(
        WITH_NAMES,
        "exact, with artists, albums, songs and tags; the default where there are names",
        _exact,
        BayesUcb(level=_MIXED_LEVEL),
        has_effects=True,
        never=Minutes(math.inf),
    ),
    Algorithm(
        "greedy-cn-map",
        "least squares with the prior as penalty, no exploring",
        lambda prior, _: LeastSquares(penalty=prior),
        Greedy(),
    ),
)
ALGORITHMS: Final = {algorithm.name: algorithm for algorithm in _ALL}
# Names of earlier versions that a store may still hold: they go on with the default.
RETIRED: Final = frozenset({"bayes-ucb-cnd-v", "epsilon-greedy-cn-x", "optimistic-cn-x"})
# Those that need no names of artists and albums, which the radio's library does not hand on.
SOUND_ALGORITHMS: Final = {one.name: one for one in _ALL if not one.has_effects}


def name_now(name: str) -> str:
    """Return the name of a stored algorithm today: the default for one that is retired.

    >>> name_now("bayes-ucb-cnd-v"), name_now("linucb-c")
    ('bayes-ucb-cn-x', 'linucb-c')
    """
    return DEFAULT if name in RETIRED else name


def algorithm_named(name: str) -> Algorithm:
    """Return the algorithm of that name."""
    try:
        return ALGORITHMS[name]
    except KeyError:
        msg = f"the algorithm must be one of {', '.join(ALGORITHMS)}, got {name!r}"
        raise InvalidInputError(msg) from None
