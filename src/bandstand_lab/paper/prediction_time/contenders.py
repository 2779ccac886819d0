"""Everything whose prediction is timed: the algorithms, and three ways to one quantile.

Predicting is: given what was learnt, find the song to play among S. Nothing is remembered from
an earlier choice, except by `KEPT`, which is the exact engine as it works in a radio: there it
keeps bounds of all songs from one answer to the next, and brings them up to date.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.algorithms.registry import algorithm_named
from bandstand.domain import Songs
from bandstand.inference.exact import Exact
from bandstand.inference.mcmc import Mcmc
from bandstand.inference.variational import Variational
from bandstand.model import product_normal_many
from bandstand.model.factors import content_novelty
from bandstand.policies import BayesUcb
from bandstand.types import MONTH
from bandstand_lab.paper.prediction_time.quantiles import monte_carlo_quantile
from bandstand_lab.speed.world import PAPER

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.domain import History
    from bandstand.inference.engine import Engine
    from bandstand.inference.exact import ExactBelief
    from bandstand.inference.factor_prediction import FactorPrediction
    from bandstand.types import Vector

MOMENTS: Final = "moments"
SAMPLED: Final = "sampled"
SOLVED: Final = "solved"
SEARCHED: Final = "bayes-ucb-cn-v"
KEPT: Final = "kept"
# The paper does not say how many; these give an error of about a tenth of a standard deviation.
DRAWS: Final = 1_000
LABELS: Final = {
    "random": "Random",
    "linucb-c": "LinUCB-C",
    "linucb-cn": "LinUCB-CN",
    "greedy-cn": "Greedy-CN",
    "bayes-ucb-cn": "Bayes-UCB-CN, MCMC",
    SAMPLED: "variational, Monte Carlo",
    SOLVED: "variational, every quantile solved",
    SEARCHED: "variational, only the best solved",
    "bayes-ucb-cn-x": "exact, nothing kept",
    KEPT: "exact, as in the radio",
}
# Answers whose choices are timed one after the other, where something is kept.
_ANSWERS: Final = 5
_LONGEST_AGO: Final = 3_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A listener who has answered, and a catalogue in which the rated songs were heard lately."""

    history: History
    songs: Songs
    seed: int
    effective_draws: int = 2_000  # of MCMC

    @property
    def step(self) -> int:
        """The number of the song to be chosen."""
        return len(self.history) + 1

    @property
    def level(self) -> float:
        """The level of the quantile by which Bayes-UCB judges (28)."""
        level = BayesUcb().level_at(self.step)
        return 0.5 if level is None else level


def scene_of(*, songs: int, ratings: int, columns: int, seed: int, turn: int) -> Scene:
    """Return a new listener of the paper's kind with a catalogue of its own."""
    rng = np.random.default_rng([seed, songs, ratings, turn])
    history = PAPER.history(ratings, columns, rng)
    elapsed = np.full(songs, float(MONTH))
    heard = rng.choice(songs, min(ratings, songs), replace=False)
    elapsed[heard] = rng.uniform(1.0, _LONGEST_AGO, len(heard))
    catalogue = Songs.of(
        features=PAPER.features(songs, columns, rng),
        elapsed=elapsed,
        diversity=rng.uniform(0.5, 1.5, songs),
    )
    return Scene(history=history, songs=catalogue, seed=seed)


def variational_prediction(scene: Scene) -> FactorPrediction:
    """Return what variational inference believes of every song."""
    engine = Variational(model=content_novelty(scene.history.columns))
    return engine.predict(engine.fit(scene.history), scene.songs)


def contenders(scene: Scene) -> dict[str, Callable[[], int]]:
    """Return for each contender how it finds the song to play; all have learnt already."""
    belief = variational_prediction(scene)
    return {
        **{name: _chooser(scene, name) for name in LABELS if name not in {SAMPLED, SOLVED, KEPT}},
        SAMPLED: partial(_best_of, scene, belief, _sampled),
        SOLVED: partial(_best_of, scene, belief, _solved),
        KEPT: _keeping(scene),
        MOMENTS: partial(_best_of, scene, belief, _moments_only),
    }


def _chooser(scene: Scene, name: str) -> Callable[[], int]:
    algorithm = algorithm_named(name)
    prior = PAPER.prior_for(scene.history.columns)
    engine: Engine[Any] = algorithm.engine_for(prior)
    if isinstance(engine, Mcmc):
        engine = Mcmc(prior=prior, effective_draws=scene.effective_draws)
    belief = engine.fit(scene.history, rng=np.random.default_rng([scene.seed, 1]))
    everything = np.arange(len(scene.songs), dtype=np.intp)

    def choose() -> int:
        rows = algorithm.policy.choose(
            engine.predict(belief, scene.songs),
            step=scene.step,
            rng=np.random.default_rng([scene.seed, 2]),
            count=1,
            allowed=everything,
        )
        return int(rows[0])

    return choose


def _keeping(scene: Scene) -> Callable[[], int]:
    """Return choices after one answer and then the next; the answers are learnt already."""
    history, engine = scene.history, Exact(prior=PAPER.prior_for(scene.history.columns))
    first = max(len(history) - _ANSWERS, 1)
    beliefs = [engine.fit(history.first(first))]
    for count in range(first + 1, len(history) + 1):
        beliefs.append(engine.update(beliefs[-1], history.first(count)))
    memory = engine.remember(scene.songs)
    everything = np.arange(len(scene.songs), dtype=np.intp)

    def choice_by(belief: ExactBelief) -> int:
        prediction = engine.predict(belief, scene.songs, memory=memory)
        return int(prediction.best_by_quantile(scene.level, 1, everything)[0])

    choice_by(beliefs[0])
    later = iter(beliefs[1:])
    return lambda: choice_by(next(later, beliefs[-1]))


def _best_of(
    scene: Scene,
    belief: FactorPrediction,
    scores: Callable[[Scene, FactorPrediction], Vector],
) -> int:
    # A copy, because a prediction keeps the moments that it has worked out.
    return int(np.argmax(scores(scene, replace(belief))))


def _sampled(scene: Scene, belief: FactorPrediction) -> Vector:
    rng = np.random.default_rng([scene.seed, 3])
    return monte_carlo_quantile(
        scene.level, belief.factor_means, belief.factor_deviations, DRAWS, rng
    )


def _solved(scene: Scene, belief: FactorPrediction) -> Vector:
    return product_normal_many.quantile(scene.level, belief.factor_means, belief.factor_deviations)


def _moments_only(scene: Scene, belief: FactorPrediction) -> Vector:
    """Return what every form of the variational prediction begins with."""
    del scene
    return product_normal_many.standard_deviation(belief.factor_means, belief.factor_deviations)
