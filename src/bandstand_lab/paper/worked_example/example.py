"""Two songs and one listener, with the numbers of the paper's Figure 1.

song  truth  believed   how it is known
B     1.3    1.2        by eight ratings, so it is known well
C     1.6    1.0        by one rating, so it may be anything

The beliefs are the exact engine's: each song has a feature of its own, so that an answer about
one tells nothing about the other but the noise, and both are as new as can be, so that novelty
plays no part, as in the paper's example. The ratings are such that the means come out
as they are in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.algorithms.registry import algorithm_named
from bandstand.domain import History, Songs
from bandstand.inference.exact import Exact
from bandstand.model.priors import radio_prior
from bandstand_lab.simulation.listener import SimulatedListener
from bandstand_lab.simulation.streams import stream

if TYPE_CHECKING:
    from bandstand.inference.exact import ExactBelief
    from bandstand_lab.report.study import Json

B, C = 0, 1
NAMES: Final = ("B", "C")
TRUTH: Final = (1.3, 1.6)
BELIEVED: Final = (1.2, 1.0)
NOISE: Final = 0.5  # standard deviation of an answer
SHOWN: Final = 10  # beliefs are kept after so many songs
GREEDY: Final = "greedy-cn-x"
BAYES_UCB: Final = "bayes-ucb-cn-x"
POLICIES: Final = (GREEDY, BAYES_UCB)
# Minutes since either song was heard: so many that 1 − exp(−t/s) is 1.
_NEW: Final = 1e30
# How the eight ratings of B lie around their mean.
_AROUND: Final = (-0.5, 0.5, -0.5, 0.5, -0.5, 0.5, -0.5, 0.5)
_PRIOR: Final = radio_prior(2, intercept=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What is believed about the two songs before one choice; p(U) is a Student t of each."""

    means: tuple[float, ...]
    standard_deviations: tuple[float, ...]
    quantiles: tuple[float, ...]
    level: float
    degrees_of_freedom: float

    def as_json(self) -> dict[str, Any]:
        """Return the numbers."""
        return {
            "means": list(self.means),
            "standard_deviations": list(self.standard_deviations),
            "quantiles": list(self.quantiles),
            "level": self.level,
            "degrees_of_freedom": self.degrees_of_freedom,
        }


@lru_cache(maxsize=1)
def known() -> History:
    """Return the ratings from which the example sets out."""
    songs = [B] * len(_AROUND) + [C]
    counts = (len(_AROUND), 1)
    # A prior with precision λ draws the mean of n ratings to n/(n + λ) of it.
    drawn = [count / (count + _PRIOR.preference.precision[0, 0]) for count in counts]
    means = [believed / share for believed, share in zip(BELIEVED, drawn, strict=True)]
    ratings = [means[B] + away for away in _AROUND] + [means[C]]
    return History.of(features=np.eye(2)[songs], elapsed=_NEW, ratings=ratings)


def belief_of(fitted: ExactBelief) -> Belief:
    """Return what is believed, and the quantile that Bayes-UCB would look at."""
    step = len(fitted.history) + 1
    level = 1 - 1 / step
    prediction = Exact(prior=_PRIOR).predict(fitted, _both())
    return Belief(
        means=_numbers(prediction.mean()),
        standard_deviations=_numbers(prediction.standard_deviation()),
        quantiles=_numbers(prediction.quantile(level)),
        level=level,
        degrees_of_freedom=fitted.freedom,
    )


def play(policy: str, *, run: int, steps: int, seed: int) -> tuple[list[int], list[Belief]]:
    """Return which song was played at each step, and what was believed at first and later.

    The noise of an answer depends on the run and the step alone, so both policies meet
    the same listener.
    """
    engine, chooser = Exact(prior=_PRIOR), algorithm_named(policy).policy
    listener = SimulatedListener(
        preference=np.array(TRUTH), recovery_time=1.0, noise_standard_deviation=NOISE
    )
    history, fitted = known(), engine.fit(known())
    beliefs, choices = [belief_of(fitted)], []
    for step in range(steps):
        (song,) = chooser.choose(
            engine.predict(fitted, _both()),
            step=len(history) + 1,
            rng=stream(seed, "radio", run, step),
            count=1,
            allowed=np.arange(2),
        )
        choices.append(int(song))
        said = listener.rate(_both().take([int(song)]), stream(seed, "answer", run, step))
        history = history.append(
            features=_both().features[song], elapsed=_NEW, rating=float(said[0])
        )
        fitted = engine.update(fitted, history)
        if len(choices) == SHOWN:
            beliefs.append(belief_of(fitted))
    return choices, beliefs


def play_runs(*, first: int, runs: int, steps: int, seed: int) -> Json:
    """Return the choices of both policies in some runs, and the beliefs of the first of them."""
    found: dict[str, Any] = {}
    for policy in POLICIES:
        played = [
            play(policy, run=run, steps=steps, seed=seed) for run in range(first, first + runs)
        ]
        found[policy] = {
            "choices": [choices for choices, _ in played],
            "before": played[0][1][0].as_json(),
            "after": played[0][1][-1].as_json(),
        }
    return found


def _both() -> Songs:
    return Songs.of(features=np.eye(2), elapsed=_NEW)


def _numbers(values: np.ndarray[Any, Any] | None) -> tuple[float, ...]:
    return () if values is None else tuple(float(value) for value in values)
