"""Randomness that depends on the seed, the number of the step and the purpose, on nothing else."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import numpy as np

Purpose: TypeAlias = Literal["choose", "learn"]
_PURPOSES: Final = ("choose", "learn")


def randomness(seed: int, number: int, purpose: Purpose) -> np.random.Generator:
    """Return the randomness of a step; choosing and learning do not share it.

    >>> randomness(7, 1, "choose").random() == randomness(7, 1, "choose").random()
    True
    """
    return np.random.default_rng([seed, number, _PURPOSES.index(purpose)])
