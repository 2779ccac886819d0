"""Variants of the variational radio: each changes one thing that might be why it loses.

name              what is changed
`…/start-best`    three searches, from novelty curves of 30, 300 (as always) and 3,000 minutes;
                  the one with the highest bound counts
`…/quantile-mc`   the quantile comes from 2,000 draws instead of an integral
`…/prior-wide`    D0 = 10·I as in the exact model, instead of 1e-2·I
`…/prior-narrow`  D0 = 1e-4·I
`…/curve-wide`    E0 = 1·I instead of 1e-2·I
`…/no-quantile`   the mean decides: the same belief without any exploring
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from scipy.special import ndtri

from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model import factors
from bandstand.core.model.novelty import PAPER_BASIS, novelty
from bandstand.core.model.priors import PreferencePrior
from bandstand.core.policies import BayesUcb, Greedy
from bandstand.core.policies.policy import ScorePolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.core.engines.engine import Engine
    from bandstand.core.engines.variational.engine import FactorPrediction, VariationalBelief
    from bandstand.core.model.factors import FactorModel
    from bandstand.core.model.history import History
    from bandstand.core.model.prediction import Prediction
    from bandstand.core.recommender import Recommender
    from bandstand.types import Vector
    from bandstand_lab.simulation.worlds import Meeting

BASE: Final = "bayes-ucb-cn-v"
DRAWS: Final = 2_000
SUSPECTS: Final = ("start", "quantile", "prior scale")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One change to the variational radio."""

    label: str
    suspect: str  # what it acquits or accuses
    engine: Callable[[int], Engine[Any]]  # for a number of features
    policy: ScorePolicy


def model(
    columns: int,
    *,
    content_variance: float = factors.PAPER_VARIANCE,
    curve_variance: float = factors.PAPER_VARIANCE,
    start_recovery: float = 300.0,
) -> FactorModel:
    """Return the paper's approximate model with another prior, or another start of the search."""
    preference = PreferencePrior.isotropic(columns, content_variance)
    curve = factors.curve(
        "novelty",
        of="elapsed",
        basis=PAPER_BASIS,
        precision=1 / curve_variance,
        start=novelty(PAPER_BASIS.nodes, start_recovery),
    )
    return factors.FactorModel(factors=(factors.content(preference), curve))


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfStarts(Variational):
    """The variational engine, searching from several novelty curves: the highest bound counts."""

    others: tuple[Variational, ...]

    @classmethod
    def of(cls, columns: int, first: float, *more: float) -> BestOfStarts:
        """Return an engine that sets out from curves of each of these recovery times."""
        others = [Variational(model=model(columns, start_recovery=time)) for time in more]
        return cls(model=model(columns, start_recovery=first), others=tuple(others))

    def fit(self, history: History, *, rng: np.random.Generator | None = None) -> VariationalBelief:
        """Return the belief with the highest bound."""
        # Not `super()`: a dataclass with slots is another class than the one being written.
        beliefs = [Variational.fit(self, history, rng=rng)]
        beliefs += [engine.fit(history, rng=rng) for engine in self.others]
        return max(beliefs, key=lambda belief: float(belief.bounds[-1]))

    def update(
        self, belief: VariationalBelief, history: History, *, rng: np.random.Generator | None = None
    ) -> VariationalBelief:
        """Return the same: every search is from scratch."""
        del belief
        return self.fit(history, rng=rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledBayesUcb(ScorePolicy):
    """Bayes-UCB whose quantile is that of `draws` draws, as the paper's may have been.

    Only the songs with the highest mean + z · sd are drawn, far more than the noise of the draws
    could bring to the top: drawing ten thousand would take a second for each step.
    """

    draws: int = DRAWS
    shortlist: int = 500

    def preferences(
        self, prediction: Prediction, *, step: int, rng: np.random.Generator
    ) -> Vector | None:
        """Return the quantile of each song's draws, and −∞ for songs that are not drawn."""
        level = BayesUcb().level_at(step)
        mean, spread = prediction.mean(), prediction.standard_deviation()
        if level is None or mean is None or spread is None:
            return None
        rows = np.argsort(-(mean + ndtri(level) * spread), kind="stable")[: self.shortlist]
        few = cast("FactorPrediction", prediction)
        drawn = replace(few, songs=few.songs.take(rows.tolist())).sample(rng, self.draws)
        rank = min(int(np.ceil(level * self.draws)), self.draws) - 1
        scores = np.full(len(prediction), -np.inf)
        scores[rows] = np.partition(drawn, rank, axis=0)[rank]
        return scores


def _variational(**changes: float) -> Callable[[int], Variational]:
    return lambda columns: Variational(model=model(columns, **changes))


def _best_of_starts(columns: int) -> BestOfStarts:
    return BestOfStarts.of(columns, 300.0, 30.0, 3_000.0)


VARIANTS: Final[dict[str, Variant]] = {
    f"{BASE}/{name}": Variant(label=label, suspect=suspect, engine=engine, policy=policy)
    for name, label, suspect, engine, policy in (
        ("start-best", "best of three searches", "start", _best_of_starts, BayesUcb()),
        ("quantile-mc", "quantile of 2,000 draws", "quantile", _variational(), SampledBayesUcb()),
        ("no-quantile", "mean instead of quantile", "quantile", _variational(), Greedy()),
        (
            *("prior-wide", "prior variance of taste × 1,000", "prior scale"),
            *(_variational(content_variance=10.0), BayesUcb()),
        ),
        (
            *("prior-narrow", "prior variance of taste ÷ 100", "prior scale"),
            *(_variational(content_variance=1e-4), BayesUcb()),
        ),
        (
            *("curve-wide", "prior variance of the curve × 100", "prior scale"),
            *(_variational(curve_variance=1.0), BayesUcb()),
        ),
    )
}


def radio(meeting: Meeting, name: str, *, seed: int) -> Recommender:
    """Return the radio of that name, which may be a variant, for one listener."""
    if name not in VARIANTS:
        return meeting.radio(name, seed=seed)
    variant = VARIANTS[name]
    made = meeting.radio(BASE, seed=seed)
    engine = variant.engine(made.history.columns)
    belief = engine.fit(made.history, rng=np.random.default_rng(seed))
    made.model = replace(made.model, engine=engine, policy=variant.policy, belief=belief)
    return made
