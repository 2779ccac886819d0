"""Cross-validation: every rating is predicted once, by what was learnt without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from bandstand.types import Indices


class Fold(NamedTuple):
    """Which ratings are learnt from, and which are predicted."""

    training: Indices
    test: Indices


def folds(count: int, parts: int, rng: np.random.Generator) -> list[Fold]:
    """Return a random partition of `count` ratings into `parts` tests of nearly equal size.

    >>> [len(fold.test) for fold in folds(10, 4, np.random.default_rng(1))]
    [3, 3, 2, 2]
    """
    if not 2 <= parts <= count:
        msg = f"there must be 2 to {count} folds for {count} ratings, got {parts}"
        raise InvalidInputError(msg)
    everything = np.arange(count)
    tests = [np.sort(part) for part in np.array_split(rng.permutation(count), parts)]
    return [
        Fold(training=np.setdiff1d(everything, test, assume_unique=True), test=test)
        for test in tests
    ]
