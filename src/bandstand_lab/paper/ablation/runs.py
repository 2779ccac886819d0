"""The jobs: radios that multiply and radios that add, for one listener of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.algorithms.recommender import Recommender
from bandstand.model.priors import paper_prior
from bandstand.types import frozen
from bandstand_lab.paper.ablation.additive import Additive
from bandstand_lab.paper.ablation.listeners import AddingListener
from bandstand_lab.simulation.clock import EVERYDAY
from bandstand_lab.simulation.listener import SimulatedListener, drawn_recovery_time
from bandstand_lab.simulation.session import follow
from bandstand_lab.simulation.streams import radio_seed, stream
from bandstand_lab.simulation.trace import Trace

if TYPE_CHECKING:
    from bandstand.inference.engine import Engine
    from bandstand_lab.report.study import Json
    from bandstand_lab.simulation.listener import Listener

PRODUCT: Final = "product"
SUM: Final = "sum"
KINDS: Final = (PRODUCT, SUM)
# New songs deserve 0 ± 1, and two answers to the same differ by about half of that.
_NOISE: Final = 0.5
# What novelty is worth to a listener who adds: as much as a favourite, three standard deviations
# above the rest, loses for one who multiplies.
_WORTH: Final = 3.0


def play(*, truth: str, songs: int, features: int, run: int, seed: int, steps: int) -> Json:
    """Return the regret after each step, and the share of repeats, of both kinds of radio."""
    table, listener = _meeting(truth, songs, features, run, seed)
    return {
        kind: _result(_radio(kind, table, radio_seed(seed, run)), listener, run, seed, steps)
        for kind in KINDS
    }


def _meeting(
    truth: str, songs: int, features: int, run: int, seed: int
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], Listener]:
    """Return songs whose last feature is a constant 1, and a listener of one kind.

    The constant is for the radios: with it the product, too, can say that all songs are liked.
    """
    drawn = stream(seed, "songs", run).standard_normal((songs, features)) / np.sqrt(features)
    rng = stream(seed, "listener", run)
    taste = rng.standard_normal(features)
    # Every listener's likings have the same spread, so that regrets can be averaged.
    taste *= np.sqrt(features) / np.linalg.norm(taste)
    multiplying = SimulatedListener(
        preference=frozen(np.append(taste, 0.0)),
        recovery_time=drawn_recovery_time(rng),
        noise_standard_deviation=_NOISE,
    )
    table = np.column_stack([drawn, np.ones(songs)])
    if truth == PRODUCT:
        return table, multiplying
    return table, AddingListener(like=multiplying, novelty_worth=_WORTH)


def _radio(kind: str, table: Any, seed: int) -> Recommender:
    """Return a Bayes-UCB radio on the product or on the sum, both exact."""
    radio = Recommender(features=table, algorithm="bayes-ucb-cn-x", raw=True, seed=seed)
    if kind == SUM:
        engine: Engine[Any] = Additive(prior=paper_prior(table.shape[1] + 1))
        radio.engine = engine
        radio.belief = engine.fit(radio.history, rng=np.random.default_rng(seed))
    return radio


def _result(radio: Recommender, listener: Listener, run: int, seed: int, steps: int) -> Json:
    played = follow(radio, listener, steps=steps, clock=EVERYDAY, seed=seed, number=run)
    trace = Trace.of("", run, played)
    return {
        "regret": trace.regret.tolist(),
        "repeat_share": 1 - len(np.unique(trace.rows)) / len(trace),
        "mean_rating": float(trace.expected.mean()),
    }
