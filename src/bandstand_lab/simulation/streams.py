"""Randomness of experiments: one stream for every use, and no stream for two.

A stream is named by the experiment's seed, what it is for, and the numbers of the run and the
step. The radio's own choices are drawn from `default_rng([seed, step, purpose])` (see
`algorithms.randomness`), and short lists of numbers can name the same stream there: [7, 1, 0] is
[7, 1]. Spawn keys are mixed in after a full block of entropy, so that what is named here
meets neither those streams nor another of its own.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import numpy as np

from bandstand.errors import InvalidInputError

Use: TypeAlias = Literal["songs", "listener", "answer", "radio", "people"]
_USES: Final = ("songs", "listener", "answer", "radio", "people")
# Seeds of radios are drawn below this.
_SEEDS: Final = 2**63


def stream(seed: int, use: Use, *numbers: int) -> np.random.Generator:
    """Return the randomness for one use in one run or step.

    >>> stream(7, "songs", 1).random() == stream(7, "songs", 1).random()
    True
    >>> stream(7, "songs", 1).random() == stream(7, "songs", 1, 0).random()
    False
    """
    if min(seed, *numbers, 0) < 0:
        msg = f"seeds and numbers of runs must not be negative, got {seed} and {numbers}"
        raise InvalidInputError(msg)
    key = (_USES.index(use), *numbers)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def radio_seed(seed: int, run: int) -> int:
    """Return the seed of the radios of one run, the same for every algorithm."""
    return int(stream(seed, "radio", run).integers(_SEEDS))
