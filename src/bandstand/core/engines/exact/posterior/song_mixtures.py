"""Mixtures of Student t distributions of songs (13), each on a grid that is fine enough for it.

code         maths              shape   meaning
`content`    x'm_g              (n, G)  expected liking of the content given s_g; with effects
                                        y'm_g + c
`variance`   x'Λ_g⁻¹x           (n, G)  its variance in units of the noise variance; with effects
                                        y'Λ_g⁻¹y + v
`locations`  u_g x'm_g          (n, G)  centre of each component
`scales`     u_g √(B_g/A · …)   (n, G)  width of each component

Where the data fix the preferences but not the recovery time, the components are narrower than
their distance and the mixture would be spiky. The functions of s between the nodes are smooth, so
such songs are computed on a grid 2, 4, 8, … times as fine, by interpolation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from bandstand.core.engines.exact.posterior import recovery_grid
from bandstand.core.engines.exact.posterior.belief import ExactBelief
from bandstand.core.model import interpolation, student_mixture
from bandstand.core.model.history import Songs
from bandstand.core.model.novelty import novelty
from bandstand.types import AnyArray, Indices, Matrix, Vector

# Neighbouring components may be this many scales apart; the sum is then right to about 1e-10.
_WIDEST_STEP: Final = 0.5
# Components this light do not call for a finer grid.
_LIGHT: Final = 1e-10
# A finer grid has at most about this many nodes; beyond, components are widened a little:
# to this share of the steps between them.
_MAX_NODES: Final = 16_384
WIDENED: Final = 0.5
# No grid is made finer than by this factor; every factor is a power of two that divides it.
FINEST: Final = 1_024
# More than a tail may be off by.
_TAIL_ERROR: Final = 1e-7


class Given(NamedTuple):
    """Songs given the recovery time of each node: (n, G), (n, G), and elapsed minutes (n,)."""

    content: Matrix
    variance: Matrix
    elapsed: Vector

    @classmethod
    def of(cls, belief: ExactBelief, songs: Songs, rows: Indices) -> Given:
        """Return the songs in `rows` as a belief sees them."""
        features, groups = songs.features_of(rows), songs.groups_of(rows)
        return cls(
            belief.contents_of(features, groups),
            belief.variances_of(features, groups),
            songs.elapsed_of(rows),
        )

    def at(self, part: AnyArray) -> Given:
        """Return some of the songs."""
        return Given(self.content[part], self.variance[part], self.elapsed[part])


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """The mixtures of some songs: (n, G) each, weights (G,)."""

    locations: Matrix
    scales: Matrix
    weights: Vector


def quantiles(belief: ExactBelief, given: Given, level: float) -> Vector | None:
    """Return the quantile of each song."""
    values = np.empty(len(given.elapsed))
    for part, some in _mixtures(belief, given):
        found = student_mixture.quantile(
            level, some.locations, some.scales, some.weights, belief.freedom
        )
        if found is None:
            return None
        values[part] = found
    return values


def may_reach(belief: ExactBelief, given: Given, level: float, value: float) -> AnyArray:
    """Return which songs have a quantile that is not below `value`, or only by rounding: (n,)."""
    reached = np.ones(len(given.elapsed), dtype=np.bool_)
    below = float(np.nextafter(value, -np.inf))  # a point mass at the value has reached it
    for part, some in _mixtures(belief, given):
        above = student_mixture.survival(
            below, some.locations, some.scales, some.weights, belief.freedom
        )
        reached[part] = above >= (1 - level) * (1 - _TAIL_ERROR)
    return reached


def components(belief: ExactBelief, given: Given, factor: int = 1) -> Components:
    """Return the mixtures on a grid `factor` times as fine as the belief's."""
    content, variance, elapsed = given
    times, rates, weights = belief.recovery_times, belief.rates, belief.weights
    if factor > 1:
        finer = interpolation.refinement(len(times), factor)
        content, variance = content @ finer.T, _between(variance, variance @ finer.T)
        log_times, density = belief.grid.refined(belief.log_density, factor)
        times, rates = recovery_grid.times(log_times), rates_between(finer, np.log(rates))
        weights = recovery_grid.weights(density)
    curves = novelty(elapsed[:, np.newaxis], times)
    scales = curves * np.sqrt(rates / belief.shape * variance)
    locations = curves * content
    if factor > 1 and factor >= finest(len(belief.weights)):
        scales = np.maximum(scales, WIDENED * steps(locations))
    return Components(locations=locations, scales=scales, weights=weights)


def _mixtures(belief: ExactBelief, given: Given) -> Iterator[tuple[AnyArray | slice, Components]]:
    """Yield which songs share a grid that is fine enough for them, and their mixtures."""
    base = components(belief, given)
    factors = _refinements(base)
    if (factors == 1).all():
        yield slice(None), base
        return
    for factor in np.unique(factors):
        part = factors == factor
        yield part, components(belief, given.at(part), int(factor))


def _refinements(base: Components) -> AnyArray:
    """Return for each song how much finer a grid it needs: a power of two."""
    matter = base.weights > _LIGHT
    gaps, scales = steps(base.locations)[:, matter], base.scales[:, matter]
    if not (gaps > _WIDEST_STEP * scales).any():
        return np.ones(len(scales), dtype=np.intp)
    with np.errstate(over="ignore"):
        ratio = np.divide(gaps, scales, out=np.zeros_like(gaps), where=scales > 0)
    ratio[(scales == 0) & (gaps > 0)] = np.inf
    widest = np.clip(ratio.max(axis=1) / _WIDEST_STEP, 1, finest(len(base.weights)))
    return np.asarray(2 ** np.ceil(np.log2(widest)), dtype=np.intp)


def finest(nodes: int) -> int:
    """Return by what factor a grid may be made finer: a power of two.

    >>> finest(25), finest(3)
    (512, 1024)
    """
    return min(int(2 ** np.floor(np.log2(_MAX_NODES / nodes))), FINEST)


def steps(locations: Matrix) -> Matrix:
    """Return how far each component is from its farther neighbour: (n, G).

    >>> steps(np.array([[0.0, 1.0, 3.0]])).tolist()
    [[1.0, 2.0, 2.0]]
    """
    gaps = np.abs(np.diff(locations, axis=1))
    farther = np.empty_like(locations)
    farther[:, 0], farther[:, -1] = gaps[:, 0], gaps[:, -1]
    np.maximum(gaps[:, :-1], gaps[:, 1:], out=farther[:, 1:-1])
    return farther


def _between(nodes: Matrix, fine: Matrix) -> Matrix:
    """Return variances on a finer grid, nowhere beyond those at the two nodes around.

    x'Λ⁻¹x rises with s, so that what an interpolant has beyond is wrong.
    """
    factor = (fine.shape[1] - 1) // (nodes.shape[1] - 1)
    ends = np.stack([nodes[:, :-1], nodes[:, 1:]])
    low, high = ends.min(axis=0), ends.max(axis=0)
    inner = np.clip(fine[:, :-1], low.repeat(factor, axis=1), high.repeat(factor, axis=1))
    return np.append(inner, nodes[:, -1:], axis=1)


def rates_between(finer: Matrix, logs: Vector) -> Vector:
    """Return the rates on a finer grid; nowhere is one far beyond all that are known.

    Where weights of any size make neighbours differ by hundreds of powers of ten, a polynomial
    through them has no number.
    """
    return np.asarray(np.exp(np.clip(finer @ logs, logs.min() - 1, logs.max() + 1)))
