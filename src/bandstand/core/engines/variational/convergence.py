"""The search for the top of the lower bound: sweeps, longer strides where they are slow, an end.

Where the bound has a long ridge, sweeps go along it in small steps of nearly the same
length. Then strides beyond a sweep are tried, each twice as long as the last one as long
as the bound rises (over-relaxation: Salakhutdinov and Roweis 2003). A stride after which
the bound would be lower is taken back, so the bound never falls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.core.engines.variational.ascent import Ascent, State
    from bandstand.types import Matrix

# Predictions are at rest when no song's expected rating will move by more than this part
# of its standard deviation any more.
_TOLERANCE: Final = 1e-6
# The slowest rate of convergence that is believed when what is left to go is estimated.
_SLOWEST: Final = 0.999
# Moves that shrink by less than this, so many times in a row, call for longer strides.
_SLOW: Final = 0.8
_PATIENCE: Final = 3
_LONGEST_STRIDE: Final = 4096.0
# No stride changes a precision by more than this factor, in logarithms.
_LARGEST_CHANGE: Final = 5.0
# Beyond this, products of three factors could overflow.
_LARGEST_SQUARE: Final = 1e60


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where the search is after a sweep."""

    state: State
    bound: float
    at_rest: bool  # whether predictions have stopped moving


def search(ascent: Ascent, start: State) -> Iterator[Progress]:
    """Yield the progress after each sweep, without end; the bound never falls."""
    before, after, bound = start, *_swept(ascent, start)
    last_move, rates, stride, slow = math.inf, (_SLOWEST, _SLOWEST), 1.0, 0
    while True:
        move = distance(before, after)
        if stride == 1:
            rates = (rates[1], min(move / last_move, _SLOWEST) if last_move > 0 else 0.0)
            slow = slow + 1 if rates[1] > _SLOW else 0
        # Moves shrink by a constant factor in the end, so what is left is a geometric series.
        at_rest = move <= _TOLERANCE * (1 - max(rates))
        yield Progress(state=after, bound=bound, at_rest=at_rest)
        last_move = move
        if stride > 1 or slow >= _PATIENCE:
            stride = min(2 * stride, _LONGEST_STRIDE)
            ahead = _stride(ascent, before, after, stride)
            if ahead is not None and ahead[2] >= bound:
                before, after, bound = ahead
                continue
            stride, slow = 1.0, 0
        before, (after, bound) = after, _swept(ascent, after)


def distance(before: State, after: State) -> float:
    """Return a bound, in standard deviations, on how far the expected rating of any song moved.

    |v'Δm| ≤ |L'Δm|·sd(v'β) for every v, and the same for a product of factors if the squares
    are added up (Cauchy–Schwarz). The noise counts by its relative change.
    """
    squares = math.log(after.noise_precision / before.noise_precision) ** 2
    for old, new in zip(before.blocks, after.blocks, strict=True):
        squares += float(np.sum((new.precision_root.T @ (new.mean - old.mean)) ** 2))
    return math.sqrt(squares)


def _swept(ascent: Ascent, state: State) -> tuple[State, float]:
    after = ascent.sweep(state)
    return after, ascent.bound(after)


def _stride(
    ascent: Ascent, before: State, after: State, stride: float
) -> tuple[State, State, float] | None:
    """Return the state beyond `after`, the one a sweep later, and the bound there."""
    far = _beyond(ascent, before, after, stride)
    return None if far is None else (far, *_swept(ascent, far))


def _beyond(ascent: Ascent, before: State, after: State, stride: float) -> State | None:
    """Return the state `stride` times as far from `before` as `after` is, if it is a sane one.

    The first factor is updated first and its start is never looked at; it stays.
    """
    pairs = list(zip(before.blocks, after.blocks, strict=True))[1:]
    change = math.log(after.noise_precision / before.noise_precision)
    largest = max(
        [abs(change), *(_log_change(old.precision_root, new.precision_root) for old, new in pairs)]
    )
    if largest > 0:
        stride = min(stride, _LARGEST_CHANGE / largest)
    if stride <= 1:
        return None
    means = [old.mean + stride * (new.mean - old.mean) for old, new in pairs]
    roots = [_extrapolated(old.precision_root, new.precision_root, stride) for old, new in pairs]
    first = after.blocks[0]
    far = ascent.warm_start(
        [first.mean, *means],
        [first.precision_root, *roots],
        before.noise_precision * math.exp(stride * change),
    )
    squares = [float(np.max(block.rows.square, initial=0.0)) for block in far.blocks]
    return far if max(squares) < _LARGEST_SQUARE else None


def _log_change(old: Matrix, new: Matrix) -> float:
    return float(np.abs(np.log(np.diagonal(new) / np.diagonal(old))).max())


def _extrapolated(old: Matrix, new: Matrix, stride: float) -> Matrix:
    """Return the root on the line through both, straight in its columns' shapes and log sizes."""
    old_sizes, new_sizes = np.diagonal(old), np.diagonal(new)
    shapes = old / old_sizes
    shapes = shapes + stride * (new / new_sizes - shapes)
    return np.asarray(shapes * (old_sizes * (new_sizes / old_sizes) ** stride))
