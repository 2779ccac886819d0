"""In which order each participant meets the algorithms: a Latin square after Williams (1949).

Over the participants of one period every algorithm comes equally often in every place, and
equally often directly after every other one, so that neither tiredness nor what an algorithm
leaves behind (paper: "the carryover effect") favours any of them.
"""

from __future__ import annotations

from bandstand.errors import InvalidInputError


def order(number: int, count: int) -> tuple[int, ...]:
    """Return the order of `count` algorithms for participant `number`: one row of the square.

    >>> [order(number, 4) for number in range(4)]
    [(0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1)]
    """
    row, is_mirrored = _place(number, count)
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


def _place(number: int, count: int) -> tuple[int, bool]:
    """Return the row of a participant, and whether it is read backwards."""
    if number < 0:
        msg = f"the number of a participant must not be negative, got {number}"
        raise InvalidInputError(msg)
    row = number % period(count)
    # An order and its mirror are neighbours: whoever stops early has both of most.
    return (row, False) if count % 2 == 0 else (row // 2, row % 2 == 1)


def _zigzag(count: int) -> list[int]:
    """Return 0, 1, −1, 2, −2, … modulo `count`: neighbours differ by each number once."""
    return [(step + 1) // 2 if step % 2 else (-step // 2) % count for step in range(count)]
