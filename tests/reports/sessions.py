"""Records of short sessions, for tests of what is made of them."""

from __future__ import annotations

from functools import cache

import numpy as np

from bandstand.algorithms.recommender import Recommender
from bandstand.simulation.catalogue import SyntheticCatalogue
from bandstand.simulation.clock import EVERYDAY
from bandstand.simulation.learning import Learning, learning, watch
from bandstand.simulation.listener import StarListener

SONGS = 30


def catalogue() -> SyntheticCatalogue:
    return SyntheticCatalogue.drawn(SONGS, 4, np.random.default_rng(1))


@cache
def record_of(algorithm: str = "bayes-ucb-cn-x", steps: int = 45) -> Learning:
    """Return what is learnt from that many songs."""
    radio = Recommender(features=catalogue().features, algorithm=algorithm, seed=1)
    listener = StarListener.drawn(5, np.random.default_rng(2))
    glimpses = list(watch(radio, listener, steps=steps, clock=EVERYDAY, seed=1))
    return learning(radio, listener, glimpses)
