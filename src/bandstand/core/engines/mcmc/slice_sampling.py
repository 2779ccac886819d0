"""Draws from the density of one number by slice sampling (Neal 2003).

    level         log p(y) − Exponential(1): a uniform height below the density at y, as a log
    slice         every point whose log density reaches the level
    stepping out  a window of `width` falls at random around y and grows until both ends left
    shrinkage     uniform points of the window; one outside the slice becomes the nearer end

code             maths     meaning
`position`       y         where the chain is
`log_density`    log p(y)  up to a constant
`detail`                   what was worked out at `position` beside the density

The density of one number may be dear, and what it works out on the way is often wanted
at the accepted point; so it returns both, and the state keeps both. Any width gives the
right distribution, a poor one only costs evaluations. A chain is stepped alone: each
needs its own number of evaluations, and a density that is dear gains nothing from company.

Radford Neal, "Slice sampling", Annals of Statistics 31 (2003), figures 3 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np

DetailT = TypeVar("DetailT")

# The log density at a point, and whatever else was worked out there.
LogDensity: TypeAlias = Callable[[float], tuple[float, DetailT]]

# A window grows by at most this many widths: enough for a width that is a hundred
# times too small, and an end to the search where a density does not fall at all.
MOST_STEPS_OUT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceState(Generic[DetailT]):
    """Where one chain is."""

    position: float
    log_density: float
    detail: DetailT


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceInfo:
    """How one step went."""

    evaluations: int
    window: float  # length of the window after stepping out


def init(position: float, log_density: LogDensity[DetailT]) -> SliceState[DetailT]:
    """Return the state of a chain that starts at `position`, where the density must not be 0."""
    value, detail = log_density(position)
    if not math.isfinite(value):
        msg = f"the log density must be finite at the start, got {value} at {position}"
        raise InvalidInputError(msg)
    return SliceState(position=position, log_density=value, detail=detail)


def step(
    state: SliceState[DetailT],
    log_density: LogDensity[DetailT],
    *,
    width: float,
    rng: np.random.Generator,
    most_steps_out: int = MOST_STEPS_OUT,
) -> tuple[SliceState[DetailT], SliceInfo]:
    """Return the next state, drawn from a kernel that leaves the density as it is.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> def standard_normal(y: float) -> tuple[float, None]:
    ...     return -0.5 * y * y, None
    >>> state = init(0.0, standard_normal)
    >>> state, info = step(state, standard_normal, width=2.5, rng=rng)
    >>> state.log_density == standard_normal(state.position)[0]
    True
    """
    level = state.log_density - rng.standard_exponential()
    left, right, spent = _step_out(
        state.position, level, log_density, width=width, limit=most_steps_out, rng=rng
    )
    window = right - left
    while True:
        candidate = left + (right - left) * rng.random()
        value, detail = log_density(candidate)
        spent += 1
        # Reaching the level is enough: a window that has shrunk to the position itself
        # always ends the search.
        if value >= level:
            break
        if candidate < state.position:
            left = candidate
        else:
            right = candidate
    after = SliceState(position=candidate, log_density=value, detail=detail)
    return after, SliceInfo(evaluations=spent, window=window)


def _step_out(
    position: float,
    level: float,
    log_density: LogDensity[DetailT],
    *,
    width: float,
    limit: int,
    rng: np.random.Generator,
) -> tuple[float, float, int]:
    """Return the window's ends and the evaluations spent."""
    left = position - width * rng.random()
    # The limit is shared at random between the two sides: with a fixed share the
    # way back would not be as likely as the way there.
    leftward = int(rng.integers(limit + 1))
    right, spent_right = _grow(left + width, width, limit - leftward, level, log_density)
    left, spent_left = _grow(left, -width, leftward, level, log_density)
    return left, right, spent_left + spent_right


def _grow(
    end: float, stride: float, limit: int, level: float, log_density: LogDensity[DetailT]
) -> tuple[float, int]:
    """Return where an end of the window comes to rest, and the evaluations spent on it."""
    for strides in range(limit):
        if log_density(end)[0] < level:
            return end, strides + 1
        end += stride
    return end, limit
