"""Prediction: finding the song to play among S, once all is learned; and quantiles two ways.

Quantiles of a product of two normals come by Monte Carlo and by adaptive quadrature. The first is
what the paper does: draw both factors of every song, multiply, and take the
empirical quantile. The second shares nothing with `model.product_normal` but the definition,
so it can tell how accurate that is:

    P(XY ≤ u) = ∫_{x>0} φ(x) Φ((u/x − μ_y)/σ_y) dx + ∫_{x<0} φ(x) Φ((μ_y − u/x)/σ_y) dx
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from scipy.special import ndtr

from bandstand.core.engines.engine import Engine
from bandstand.core.engines.exact.engine import Exact, ExactBelief
from bandstand.core.engines.mcmc.engine import Mcmc
from bandstand.core.engines.variational.engine import FactorPrediction, Variational
from bandstand.core.model import product_normal
from bandstand.core.model.factors import content_novelty
from bandstand.core.model.history import History, Songs
from bandstand.core.policies import BayesUcb
from bandstand.core.registry import algorithm_named
from bandstand.types import MONTH, Matrix, Vector
from bandstand_lab.report.study import Json
from bandstand_lab.speed.timing import in_turn, timed_again, undisturbed
from bandstand_lab.speed.training import PAPER

# Numbers held at a time: 16 MB, whatever the catalogue.
_TABLE: Final = 2_000_000
# Beyond this many standard deviations nothing is left: 1e-22.
_REACH: Final = 9.5


def monte_carlo_quantile(
    level: float, means: Matrix, deviations: Matrix, draws: int, rng: np.random.Generator
) -> Vector:
    """Return the empirical quantile of each product from `draws` draws of its factors: (S,)."""
    songs = means.shape[1]
    found = np.empty(songs)
    length = max(1, _TABLE // draws)
    for start in range(0, songs, length):
        rows = slice(start, start + length)
        product = np.ones((min(length, songs - start), draws))
        for mean, deviation in zip(means[:, rows], deviations[:, rows], strict=True):
            normals = rng.standard_normal(product.shape)
            product *= mean[:, np.newaxis] + deviation[:, np.newaxis] * normals
        found[rows] = np.quantile(product, level, axis=1, overwrite_input=True)
    return found


def quadrature_quantile(
    level: float, mean: Sequence[float], deviation: Sequence[float], near: float
) -> float:
    """Return the quantile of one product by adaptive quadrature, searched for around `near`.

    >>> round(quadrature_quantile(0.975, (3.2, 0.9), (0.4, 0.05), 3.6), 9)
    3.674284614
    """
    # Slow to import, and only this needs it.
    from scipy.optimize import brentq  # noqa: PLC0415

    spread = math.hypot(mean[0] * deviation[1], mean[1] * deviation[0], math.prod(deviation))
    return float(
        brentq(
            lambda value: _cdf(value, mean, deviation) - level,
            near - spread,
            near + spread,
            xtol=1e-13 * spread,
            rtol=1e-14,
        )
    )


def _cdf(value: float, mean: Sequence[float], deviation: Sequence[float]) -> float:
    from scipy.integrate import quad  # noqa: PLC0415

    # Over the factor that is narrower for its mean: then the other one makes no narrow step.
    if abs(mean[0]) * deviation[1] < abs(mean[1]) * deviation[0]:
        mean, deviation = mean[::-1], deviation[::-1]
    (mean_x, mean_y), (deviation_x, deviation_y) = mean, deviation

    def density_below(z: float) -> float:
        x = mean_x + deviation_x * z
        side = (value - x * mean_y) / (abs(x) * deviation_y) if x else math.copysign(40.0, value)
        return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) * float(ndtr(side))

    # The integrand may jump where x changes its sign.
    jump = min(max(-mean_x / deviation_x, -_REACH), _REACH)
    return sum(
        quad(density_below, low, high, epsabs=1e-13, epsrel=1e-11, limit=500)[0]
        for low, high in ((-_REACH, jump), (jump, _REACH))
    )


# ── What is timed ────────────────────────────────────────────────────────────────────────
# Nothing is remembered from an earlier choice, except by `KEPT`, which is the exact engine as it
# works in a radio: there it keeps bounds of all songs from one answer to the next, and brings them
# up to date. Bayes-UCB needs a quantile of every song; three ways to the variational one are timed:
# by Monte Carlo as in the paper, solved for every song, and solved for those that can be the best.


MOMENTS, SAMPLED, SOLVED, KEPT = "moments", "sampled", "solved", "kept"
SEARCHED: Final = "bayes-ucb-cn-v"
EXACT: Final = "bayes-ucb-cn-x"
LABELS: Final = {
    "random": "Random",
    "linucb-c": "LinUCB-C",
    "linucb-cn": "LinUCB-CN",
    "greedy-cn": "Greedy-CN",
    "bayes-ucb-cn": "Bayes-UCB-CN, MCMC",
    SAMPLED: "variational, Monte Carlo",
    SOLVED: "variational, every quantile solved",
    SEARCHED: "variational, only the best solved",
    EXACT: "exact, nothing kept",
    KEPT: "exact, as in the radio",
}
# The paper does not say how many; these give an error of about a tenth of a standard deviation.
USUAL_DRAWS: Final = 1_000
_ANSWERS: Final = 5  # whose choices are timed one after the other, where something is kept
_LONGEST_AGO: Final = 3_000.0  # minutes
_WARM_UP_SONGS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceProblem:
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


def problem_of(*, songs: int, ratings: int, columns: int, seed: int, turn: int) -> ChoiceProblem:
    """Return a new listener of the paper's kind with a catalogue of its own."""
    rng = np.random.default_rng([seed, songs, ratings, turn])
    history = PAPER.history(ratings, columns, rng)
    elapsed = np.full(songs, float(MONTH))
    heard = rng.choice(songs, min(ratings, songs), replace=False)
    elapsed[heard] = rng.uniform(1.0, _LONGEST_AGO, len(heard))
    catalogue = Songs.of(features=PAPER.features(songs, columns, rng), elapsed=elapsed)
    return ChoiceProblem(history=history, songs=catalogue, seed=seed)


def contenders(problem: ChoiceProblem) -> dict[str, Callable[[], int]]:
    """Return for each contender the function that finds the song; all have learned already."""
    belief = _variational(problem)

    def best(scores: Callable[[FactorPrediction], Vector]) -> int:
        # A copy, because a prediction keeps the moments that it has worked out.
        return int(np.argmax(scores(replace(belief))))

    def sampled(one: FactorPrediction) -> Vector:
        rng = np.random.default_rng([problem.seed, 3])
        means, deviations = one.factor_means, one.factor_deviations
        return monte_carlo_quantile(problem.level, means, deviations, USUAL_DRAWS, rng)

    def solved(one: FactorPrediction) -> Vector:
        return product_normal.quantile(problem.level, one.factor_means, one.factor_deviations)

    def moments(one: FactorPrediction) -> Vector:  # every variational form begins with them
        return product_normal.standard_deviation(one.factor_means, one.factor_deviations)

    return {
        **{name: _chooser(problem, name) for name in LABELS if name not in {SAMPLED, SOLVED, KEPT}},
        SAMPLED: partial(best, sampled),
        SOLVED: partial(best, solved),
        KEPT: _keeping(problem),
        MOMENTS: partial(best, moments),
    }


def _variational(problem: ChoiceProblem) -> FactorPrediction:
    engine = Variational(model=content_novelty(problem.history.columns))
    return engine.predict(engine.fit(problem.history), problem.songs)


def _chooser(problem: ChoiceProblem, name: str) -> Callable[[], int]:
    algorithm = algorithm_named(name)
    prior = PAPER.prior_for(problem.history.columns)
    engine: Engine[Any] = algorithm.engine_for(prior)
    if isinstance(engine, Mcmc):
        engine = Mcmc(prior=prior, effective_draws=problem.effective_draws)
    belief = engine.fit(problem.history, rng=np.random.default_rng([problem.seed, 1]))
    everything = np.arange(len(problem.songs), dtype=np.intp)

    def choose() -> int:
        rows = algorithm.policy.choose(
            engine.predict(belief, problem.songs),
            step=problem.step,
            rng=np.random.default_rng([problem.seed, 2]),
            count=1,
            allowed=everything,
        )
        return int(rows[0])

    return choose


def _keeping(problem: ChoiceProblem) -> Callable[[], int]:
    """Return choices after one answer and then the next; the answers are learned already."""
    history, engine = problem.history, Exact(prior=PAPER.prior_for(problem.history.columns))
    first = max(len(history) - _ANSWERS, 1)
    beliefs = [engine.fit(history.first(first))]
    for count in range(first + 1, len(history) + 1):
        beliefs.append(engine.update(beliefs[-1], history.first(count)))
    memory = engine.new_cache(problem.songs.features)
    everything = np.arange(len(problem.songs), dtype=np.intp)

    def choice_by(belief: ExactBelief) -> int:
        prediction = engine.predict(belief, problem.songs, memory=memory)
        return int(prediction.best_by_quantile(problem.level, 1, everything)[0])

    choice_by(beliefs[0])
    later = iter(beliefs[1:])
    return lambda: choice_by(next(later, beliefs[-1]))


def predict(*, songs: int, ratings: int, turn: int, seed: int, columns: int) -> Json:
    """Return the seconds that each contender needs to find the song to play; a job."""
    problem = problem_of(songs=songs, ratings=ratings, columns=columns, seed=seed, turn=turn)
    # Everything runs once before, so that no contender pays for loading a library.
    small = replace(problem, songs=problem.songs.take(slice(_WARM_UP_SONGS)), effective_draws=100)
    for choose in contenders(small).values():
        choose()
    ready = contenders(problem)
    seconds = {}
    for name in in_turn(list(ready), turn):
        with undisturbed():
            seconds[name] = timed_again(ready[name]).seconds
    return seconds


def accuracy(
    *, songs: int, ratings: int, turn: int, seed: int, columns: int, checked: int
) -> dict[str, Json]:
    """Return how far the deterministic quantile and Monte Carlo are off; a job.

    Errors are in standard deviations of the song's own p(U | D). Those of Monte Carlo are
    against the deterministic quantile, and that one's against adaptive quadrature, for the
    first `checked` songs.
    """
    problem = problem_of(songs=songs, ratings=ratings, columns=columns, seed=seed, turn=turn)
    belief, level = _variational(problem), problem.level
    means, deviations = belief.factor_means, belief.factor_deviations
    spread = belief.standard_deviation()
    solved = product_normal.quantile(level, means, deviations)
    true = [
        quadrature_quantile(level, mean, deviation, value)
        for mean, deviation, value in zip(
            means.T[:checked].tolist(), deviations.T.tolist(), solved.tolist(), strict=False
        )
    ]
    rng = np.random.default_rng([seed, turn, USUAL_DRAWS])
    sampled = monte_carlo_quantile(level, means, deviations, USUAL_DRAWS, rng)
    return {
        "solved": float((np.abs(true - solved[:checked]) / spread[:checked]).max()),
        "sampled": math.sqrt(float(np.mean(((sampled - solved) / spread) ** 2))),
        "same_song": int(np.argmax(sampled)) == int(np.argmax(solved)),
    }
