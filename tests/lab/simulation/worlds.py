"""Small catalogues with a listener, for tests."""

from __future__ import annotations

import numpy as np

from bandstand.algorithms.recommender import Recommender
from bandstand_lab.simulation.listener import SimulatedListener, StarListener


def paper_world(
    seed: int = 0, *, songs: int = 30, columns: int = 4, algorithm: str = "bayes-ucb-cn-x"
) -> tuple[Recommender, SimulatedListener]:
    """Return a radio and a listener as in the paper's simulation."""
    rng = np.random.default_rng([seed, 77, 77, 77])
    features = rng.standard_normal((songs, columns))
    listener = SimulatedListener.drawn(columns, rng, noise_standard_deviation=0.5)
    return Recommender(features=features, raw=True, algorithm=algorithm, seed=seed), listener


def star_world(
    seed: int = 0, *, songs: int = 30, algorithm: str = "bayes-ucb-cn-x"
) -> tuple[Recommender, StarListener]:
    """Return a radio for real listeners and one who gives stars."""
    for_songs, for_listener = np.random.default_rng(seed).spawn(2)
    features = for_songs.standard_normal((songs, 4))
    radio = Recommender(features=features, algorithm=algorithm, seed=seed)
    return radio, StarListener.drawn(5, for_listener)
