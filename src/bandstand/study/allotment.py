"""Which algorithm a participant meets in which part, and with which randomness.

A participant may find out their own number. So that number and part do not give away the
algorithm, what stands for what in the Latin square is drawn anew for every study, from the
design's seed and the study's id, which participants never see. What the algorithms draw by is
drawn anew for everybody who joins: whoever withdraws and comes back meets none of it again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from bandstand.study.latin_square import order

if TYPE_CHECKING:
    from bandstand.study.design import Design

# Gives a whole number from 0 to below another.
Draw: TypeAlias = Callable[[int], int]

_SEEDS: Final = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class Allotted:
    """One part of one participant."""

    place: int  # from 1
    algorithm: str
    seed: int


def drawn(below: int) -> int:
    """Return a whole number from 0 to below another, which nobody can foresee.

    >>> drawn(1)
    0
    """
    return secrets.randbelow(below)


def allotted(
    design: Design, study: str, number: int, *, draw: Draw = drawn
) -> tuple[Allotted, ...]:
    """Return the parts of participant `number` of the study with an id in hexadecimal digits.

    >>> from bandstand.study.design import Design
    >>> parts = allotted(Design(algorithms=("random", "greedy-cn")), "0123456789abcdef", 1)
    >>> [part.place for part in parts], sorted(part.algorithm for part in parts)
    ([1, 2], ['greedy-cn', 'random'])
    """
    count = len(design.algorithms)
    stands_for = np.random.default_rng([design.seed, int(study, 16)]).permutation(count)
    return tuple(
        Allotted(place=place, algorithm=design.algorithms[stands_for[symbol]], seed=draw(_SEEDS))
        for place, symbol in enumerate(order(number, count), start=1)
    )
