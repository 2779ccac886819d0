"""Novelty curves: how far a song has recovered from its last play.

`novelty` is the exact model's curve (2). Piecewise-linear ones are linear functions of a vector
(15). A curve with K bends can be written in two ways, which are the same curves:

    β'[(t−ξ1)+, …, (t−ξK)+, t, 1]      hinges: the paper's vector, K + 2 entries
    g'[h0(t), …, hK+1(t)]               hats: g is the curve at the nodes 0, ξ1 … ξK, cap

code       maths        meaning
`knots`    ξ1 … ξK      where the curve may bend, in minutes for elapsed time
`cap`                   the last node; the curve goes on straight beyond it
`hinges`                slope changes as coefficients: hinges of minutes span five decades and
                        are nearly collinear
`hats`                  values as coefficients: each t touches two of them, so equations stay
                        well conditioned; g = Bβ

A hinge coefficient is a difference of two slopes, and a slope is a difference of two values
over a length. So B⁻¹ is known in closed form, and a prior on β becomes the same prior on g
without an inversion: mean Bμ, precision B⁻ᵀE⁻¹B⁻¹.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from bandstand.errors import InvalidInputError
from bandstand.types import MONTH, AnyArray, Matrix, Vector


def novelty(elapsed: ArrayLike, recovery_time: ArrayLike) -> AnyArray:
    """Return Un = 1 − exp(−t/s) (2): 0 just after a play, close to 1 long after it.

    code             maths  unit     meaning
    `elapsed`        t      minutes  since the last play, ≥ 0
    `recovery_time`  s      minutes  after it 63 % of the novelty is back, ≥ 0

    The two broadcast. A recovery time of 0 means that a song is new again at once,
    but for t = 0, where novelty is always 0.

    >>> novelty([0.0, 300.0, 43_200.0], 300.0).round(3).tolist()
    [0.0, 0.632, 1.0]
    """
    t = np.asarray(elapsed, dtype=np.float64)
    s = np.asarray(recovery_time, dtype=np.float64)
    # Overflow to infinity and underflow to zero are the right limits here.
    with np.errstate(over="ignore", under="ignore"):
        if (s > 0).all():
            ratio = t / s
        else:
            t, s = np.broadcast_arrays(t, s)
            ratio = np.divide(t, s, out=np.where(t > 0, np.inf, 0.0), where=s > 0)
        # expm1 keeps every digit where t is small against s.
        return np.asarray(-np.expm1(-ratio))


# The paper's knots (section 5.2.1), 2^-3 … 2^11 minutes.
PAPER_KNOTS: Final = tuple(2.0**power for power in range(-3, 12))
# Real people come back to a song days later: only 35 % of repeats come within 2^11
# minutes, and 95 % within 2^17. That is the last node, and where a song never heard stands:
# of anything beyond it no play can tell.
RADIO_KNOTS: Final = tuple(2.0**power for power in range(-3, 17))


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecewiseLinearBasis:
    """The curves that bend at `knots` only.

    >>> basis = PiecewiseLinearBasis(knots=(1.0, 2.0), cap=4.0)
    >>> basis.hinges(np.array([3.0])).tolist()
    [[2.0, 1.0, 3.0, 1.0]]
    >>> basis.hats(np.array([3.0])).tolist()
    [[0.0, 0.0, 0.5, 0.5]]
    """

    knots: tuple[float, ...]
    cap: float

    def __post_init__(self) -> None:
        """Refuse nodes that do not ascend from 0."""
        nodes = self.nodes
        if not np.isfinite(nodes).all() or (np.diff(nodes) <= 0).any():
            msg = f"knots must be positive and ascend to the cap, got {self.knots}, {self.cap}"
            raise InvalidInputError(msg)

    @property
    def nodes(self) -> Vector:
        """Where the hat functions peak: 0, every knot, and the cap: (K + 2,)."""
        return np.array([0.0, *self.knots, self.cap])

    @property
    def dimension(self) -> int:
        """The length of either vector: K + 2."""
        return len(self.knots) + 2

    def hinges(self, t: Vector) -> Matrix:
        """Return the paper's vector [(t−ξ1)+, …, (t−ξK)+, t, 1] of each t: (N, K + 2)."""
        above = np.maximum(t[:, np.newaxis] - np.array(self.knots), 0.0)
        return np.column_stack([above, t, np.ones(len(t))])

    def hats(self, t: Vector) -> Matrix:
        """Return the hat functions of each t ≥ 0, linear beyond the cap: (N, K + 2)."""
        nodes = self.nodes
        piece = np.clip(np.searchsorted(nodes, t, side="right") - 1, 0, len(nodes) - 2)
        along = (t - nodes[piece]) / np.diff(nodes)[piece]
        row = np.arange(len(t))
        hats = np.zeros((len(t), len(nodes)))
        hats[row, piece] = 1.0 - along
        hats[row, piece + 1] = along
        return hats

    def values(self, coefficients: Vector) -> Vector:
        """Return g = Bβ, the curve with hinge `coefficients` at the nodes: (K + 2,)."""
        values: Vector = self.hinges(self.nodes) @ coefficients
        return values

    def coefficients(self) -> Matrix:
        """Return B⁻¹, which turns values at the nodes into hinge coefficients: β = B⁻¹g."""
        count = self.dimension
        slopes = np.diff(np.eye(count), axis=0) / np.diff(self.nodes)[:, np.newaxis]
        return np.vstack([np.diff(slopes, axis=0), slopes[:1], np.eye(1, count)])

    def precision_of_values(self, precision: Matrix) -> Matrix:
        """Return B⁻ᵀE⁻¹B⁻¹, the precision of g if the hinge coefficients have `precision` E⁻¹."""
        back = self.coefficients()
        mapped = back.T @ precision @ back
        # Rounding may differ on the two sides of the diagonal; a precision has only one.
        return np.asarray((mapped + mapped.T) / 2)


PAPER_BASIS: Final = PiecewiseLinearBasis(knots=PAPER_KNOTS, cap=MONTH)
RADIO_BASIS: Final = PiecewiseLinearBasis(knots=RADIO_KNOTS, cap=2.0**17)
