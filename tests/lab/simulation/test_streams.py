"""Every use of randomness has a stream of its own."""

from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest

from bandstand.core.listener_model import randomness
from bandstand.errors import InvalidInputError
from bandstand_lab.simulation.session import radio_seed, stream

SMALL = range(6)


def first_draws(streams: Iterable[np.random.Generator]) -> list[int]:
    return [int(rng.integers(2**63)) for rng in streams]


def radios() -> list[int]:
    """Return how the streams of small radios begin: what they choose and learn with."""
    keys = list(product(SMALL, SMALL))
    choosing = first_draws(randomness(seed, step, "choose") for seed, step in keys)
    return choosing + first_draws(randomness(seed, step, "learn") for seed, step in keys)


def coincidences(of_the_simulation: list[int]) -> int:
    """Return how many streams begin as another one does."""
    draws = of_the_simulation + radios()
    return len(draws) - len(set(draws))


def test_no_stream_is_that_of_another_use() -> None:
    answers = product(SMALL, SMALL, SMALL)
    draws = first_draws(stream(seed, "answer", run, step) for seed, run, step in answers)
    for use in ("songs", "listener", "radio"):
        draws += first_draws(stream(seed, use, run) for seed, run in product(SMALL, SMALL))
    assert coincidences(draws) == 0
    # Planted error: the noise of answers named as the radio names its own randomness.
    noise = [np.random.default_rng(list(key)) for key in product(SMALL, SMALL, SMALL)]
    assert coincidences(first_draws(noise)) > 50


def test_the_radio_of_a_run_has_the_same_seed_for_every_algorithm() -> None:
    assert radio_seed(3, 4) == radio_seed(3, 4)
    assert len({radio_seed(seed, run) for seed, run in product(SMALL, SMALL)}) == 36


@pytest.mark.parametrize(("seed", "run"), [(-1, 0), (0, -1)])
def test_numbers_below_zero_name_no_stream(seed: int, run: int) -> None:
    with pytest.raises(InvalidInputError, match="must not be negative"):
        stream(seed, "songs", run)
