"""Assignment of participants to orders of the algorithms: a Latin square after Williams (1949).

Over the participants of one period every algorithm comes equally often in every place, and
equally often directly after every other one, so that neither tiredness nor what an algorithm
leaves behind (paper: "the carryover effect") favours any of them.

Participants may learn their own number, which must not reveal the algorithms. So the numbers are
drawn, and every study assigns the algorithms to the symbols of the square at random, by the
design's seed and the study's id, which participants never see. The seeds of the algorithms are
drawn for each participant who joins, also for one who withdrew before.
"""

import secrets
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from sqlalchemy import Connection

from bandstand.errors import InvalidInputError
from bandstand.store import studies
from bandstand.study.design import Design

# Returns a whole number from 0 to below its argument.
Draw: TypeAlias = Callable[[int], int]

_SEEDS: Final = 2**32


def order(number: int, count: int) -> tuple[int, ...]:
    """Return the order of `count` algorithms for participant `number`: one row of the square.

    >>> [order(number, 4) for number in range(4)]
    [(0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1)]
    """
    if number < 0:
        msg = f"the number of a participant must not be negative, got {number}"
        raise InvalidInputError(msg)
    row = number % period(count)
    # An order and its mirror are neighbours, so that a study that stops early has both of most.
    row, is_mirrored = (row, False) if count % 2 == 0 else (row // 2, row % 2 == 1)
    steps = [(row + step) % count for step in _zigzag(count)]
    return tuple(reversed(steps)) if is_mirrored else tuple(steps)


def period(count: int) -> int:
    """Return after how many participants the orders of `count` algorithms begin again.

    An odd number of algorithms needs each order backwards as well.

    >>> period(6), period(5)
    (6, 10)
    """
    if count < 1:
        msg = f"there must be at least 1 algorithm to put in order, got {count}"
        raise InvalidInputError(msg)
    return count if count % 2 == 0 else 2 * count


def _zigzag(count: int) -> list[int]:
    """Return 0, 1, −1, 2, −2, … modulo `count`: neighbours differ by each number once."""
    return [(step + 1) // 2 if step % 2 else (-step // 2) % count for step in range(count)]


def assigned_arms(
    design: Design, study: str, number: int, *, draw: Draw = secrets.randbelow
) -> list[studies.NewArm]:
    """Return the arms of participant `number` of the study with an id in hexadecimal digits.

    >>> from bandstand.study.design import Design
    >>> arms = assigned_arms(Design(algorithms=("random", "greedy-cn")), "0123456789abcdef", 1)
    >>> [arm.place for arm in arms], sorted(arm.algorithm for arm in arms)
    ([1, 2], ['greedy-cn', 'random'])
    """
    count = len(design.algorithms)
    stands_for = np.random.default_rng([design.seed, int(study, 16)]).permutation(count)
    return [
        studies.NewArm(
            place=place, algorithm=design.algorithms[stands_for[symbol]], seed=draw(_SEEDS)
        )
        for place, symbol in enumerate(order(number, count), start=1)
    ]


def draw_number(
    connection: Connection, study: str, design: Design, *, draw: Draw = secrets.randbelow
) -> int:
    """Draw a free number for a participant, of the first square that is not complete.

    All rows of a square are given before any is given again, so that it stays balanced. The
    number stays free until the transaction ends, which must be one that writes.
    """
    least = studies.free_number(connection, study)  # first, since it locks the study
    taken = {one.number for one in studies.participants(connection, study)}
    rows = period(len(design.algorithms))
    first = least - (least - 1) % rows
    free = [number for number in range(first, first + rows) if number not in taken]
    return free[draw(len(free))]
