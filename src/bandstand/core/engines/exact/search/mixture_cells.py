"""Cells of the posterior mixture, and the norm of F⁻¹ that bounds them for every song.

F is the covariance Λ⁻¹ of one node of a belief, so that for every vector d

    |d'x| ≤ length(d)·√(x'Fx),    length(d)² = d'F⁻¹d

and the covariances of all other nodes, and of all later beliefs, are multiples of F at most:

* Λ_s = V₀⁻¹ + Σ w u(t; s)² xx' falls as s grows, so that x'Λ_s⁻¹x grows with s;
* but not faster than u² falls: u(t; s)/u(t; s') ≤ r(s, s') = the same at the shortest t of all
  answers, for s < s', hence x'Λ_s'⁻¹x ≤ r² x'Λ_s⁻¹x;
* more answers, and planned plays, only make Λ larger.

A song of an artist without answers has the variance of its effects besides, the same at every node:
all of this holds for √(x'Fx + κ) in place of √(x'Fx) as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from bandstand.core.engines.exact.posterior.belief import ExactBelief
from bandstand.core.engines.exact.posterior.recovery_grid import RecoveryGrid, _normal
from bandstand.core.engines.exact.posterior.song_mixtures import WIDENED, finest
from bandstand.core.engines.exact.search import interpolation_bounds
from bandstand.core.model.history import History
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import ListenerPrior
from bandstand.types import AnyArray, Matrix, Vector

# Added in every direction, as a share of the largest: F then has an inverse of some digits.
_LEAST: Final = 1e-10
# Of covariances, which rank-one updates have rounded many times, and of lengths.
_ROUNDING: Final = 1e-6
# Of differences of whitened vectors, in lengths of the longest.
DIFFERENCE_ROUNDING: Final = 1e-9
_LARGEST_LOGARITHM: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """The metric of one node of a belief."""

    prior: ListenerPrior
    history: History
    log_time: float  # y of the node
    shortest: float  # elapsed time of all answers
    form: Matrix  # F
    root: Matrix  # lower triangle L, LL' = F

    @property
    def own(self) -> float:
        """The variance of a song's effects, which every √(x'Fx) is taken with."""
        return self.prior.effects.total

    def width(self, song: Vector) -> float:
        """Return √(x'Fx) of one song, with its effects."""
        return float(np.sqrt(song @ self.form @ song + self.own))

    @classmethod
    def of(cls, belief: ExactBelief, node: int) -> Metric | None:
        """Return the metric of a node without planned plays; None where it has no root."""
        form = belief.learned_at(node) * (1 + _ROUNDING)
        diagonal = form.reshape(-1)[:: len(form) + 1]
        diagonal += _LEAST * float(diagonal.max())
        root, failed = dpotrf(form, lower=1, clean=1)
        if failed or not np.isfinite(root).all():
            return None
        elapsed = belief.history.elapsed
        return cls(
            prior=belief.prior,
            history=belief.history,
            log_time=float(belief.log_recovery_times[node]),
            shortest=float(elapsed.min(initial=np.inf)),
            form=form,
            root=root,
        )

    def suits(self, belief: ExactBelief) -> bool:
        """Return whether it bounds the covariances of a belief: one of the same or more answers."""
        return belief.prior is self.prior and belief.history.continues(self.history)

    def whitened(self, vectors: Matrix) -> Matrix:
        """Return L⁻¹d of each row d, whose length is √(d'F⁻¹d): (n, p)."""
        whitened, _ = dtrtrs(self.root, vectors.T, lower=1)
        rows: Matrix = whitened.T
        return rows

    def growth(self, log_times: Vector) -> Vector:
        """Return how many times √(x'Fx) a covariance at y has at most: 1 before the node."""
        here, there = np.array([self.log_time]), log_times
        fall = log_novelty(self.shortest, here) - log_novelty(self.shortest, there)
        return np.asarray(np.exp(np.clip(fall, 0.0, _LARGEST_LOGARITHM)))

    @property
    def nbytes(self) -> int:
        """The size of what is kept beside the history."""
        return int(self.form.nbytes + self.root.nbytes)


# Constants of a grid that bounds need, whatever has been learned: the same after every answer.
#
# code               maths          shape
# `curves`           u(T; s_g)      (G,)    novelty of a song never heard
# `bends_of_curves`                 (G−1,)  how far u is from the straight line in each cell at most
# `step_ratios`                     (G−1,)  of u at neighbours on the finest grid, at most


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridConstants:
    """The constants of one grid for songs never heard."""

    curves: Vector
    bends_of_curves: Vector
    step_ratios: Vector


def constants_of(grid: RecoveryGrid, longest: float) -> GridConstants:
    """Return the constants, where `longest` minutes stand for never."""
    known: dict[float, GridConstants] = grid.notes.setdefault(GridConstants, {})
    found = known.get(longest)
    if found is None:
        found = known[longest] = GridConstants(
            curves=np.asarray(novelty(longest, grid.nodes)),
            bends_of_curves=_bends_of_curves(grid, longest),
            step_ratios=_step_ratios(grid, longest),
        )
    return found


def _bends_of_curves(grid: RecoveryGrid, longest: float) -> Vector:
    """Return h²/8 times the second derivative of u by v at most, where y = centre + scale·sinh v.

    As functions of y, with T/s = w, |u'| = w·e⁻ʷ ≤ 0.37 and |u''| = w·e⁻ʷ·|1 − w| ≤ 0.31; where
    never is ∞, u = 1.
    """
    if longest == np.inf:
        return np.zeros(len(grid) - 1)
    places, scale = grid.places, grid.scale
    slopes, bends = scale * np.cosh(places), scale * np.abs(np.sinh(places))
    second = 0.31 * np.maximum(slopes[:-1], slopes[1:]) ** 2
    second = second + 0.37 * np.maximum(bends[:-1], bends[1:])
    return np.asarray(np.minimum((places[1] - places[0]) ** 2 / 8 * second, 1.0))


def _step_ratios(grid: RecoveryGrid, longest: float) -> Vector:
    """Return s/s' of neighbours on the finest grid: in logarithms at most scale·cosh(v)·Δv."""
    if longest == np.inf:
        return np.ones(len(grid) - 1)
    ends = np.cosh(grid.places)
    spacing = grid.scale * (grid.places[1] - grid.places[0]) / finest(len(grid))
    return np.asarray(np.exp(np.minimum(spacing * np.maximum(ends[:-1], ends[1:]), 50.0)))


def rounded_lengths(whitened: Matrix) -> Vector:
    """Return the length of each row, rounded up: (n,)."""
    return np.asarray(np.sqrt(np.einsum("np,np->n", whitened, whitened)) * (1 + _ROUNDING))


def with_neighbours(each: AnyArray) -> AnyArray:
    """Return the largest of each cell and those next to it, along the last axis."""
    most = each.copy()
    np.maximum(most[..., 1:], each[..., :-1], out=most[..., 1:])
    np.maximum(most[..., :-1], each[..., 1:], out=most[..., :-1])
    return most


def log_novelty(elapsed: float, log_times: Vector) -> Vector:
    """Return log u(t; s) at each y = log s; as t → 0, up to a constant, −y."""
    if elapsed <= 0:
        return -log_times
    small = np.log(elapsed) - log_times if elapsed < np.inf else np.full_like(log_times, np.inf)
    ratio = np.exp(np.clip(small, -_LARGEST_LOGARITHM, _LARGEST_LOGARITHM))
    # u is about t/s where that is small.
    return np.where(small < -30, small, np.log(-np.expm1(-ratio)))


# Bounds of a song's mixture (13) cell by cell, where a cell lies between two nodes of the grid.
#
# Where a song's mixture is a comb it is computed on a finer grid by interpolation. So that a bound
# holds for every grid, it is made for the cells between neighbouring nodes, not for the nodes. In a
# metric (`Metric`) every component within a cell has
#
#     location ≤ the larger u x'm at the ends + bend·√(x'Fx)
#     scale    ≤ width·√(x'Fx)
#
# since u falls as s grows, x'Λ⁻¹x rises, and m is a straight line plus what `interpolation_bounds`
# allows; with θ from 0 to 1 along the cell, the product of two straight lines is that of its ends
# plus θ(1−θ) Δu Δm.
#
# code       maths  shape
# `curves`   u      (G,)    novelty of a song never heard
# `centres`  u m    (G, p)
# `shares`          (C,)    what the components of each cell weigh together at most, on any grid
# `bends`           (C,)
# `widths`          (C,)


# Cells at both ends that together have this share of the tail are left out.
_OMITTED_SHARE: Final = 0.02


class MixtureCells:
    """The cells of one belief in a metric, for songs never heard: `longest` stands for never."""

    def __init__(self, belief: ExactBelief, longest: float, metric: Metric) -> None:
        self.belief, self.longest, self.metric = belief, longest, metric
        self._bend = interpolation_bounds.bend(len(belief.grid))
        self._constants = constants_of(belief.grid, longest)

    @property
    def curves(self) -> Vector:
        """Novelty of a song never heard at every node: u, (G,)."""
        return self._constants.curves

    @cached_property
    def centres(self) -> Matrix:
        """Return u m at all nodes: (G, p)."""
        centres: Matrix = self.curves[:, np.newaxis] * self.belief.means
        return centres

    @cached_property
    def _whitened_means(self) -> Matrix:
        return self.metric.whitened(self.belief.means)

    @property
    def whitened_centres(self) -> Matrix:
        """Return L⁻¹ u m at all nodes: (G, p)."""
        return np.asarray(self.curves[:, np.newaxis] * self._whitened_means)

    @cached_property
    def _lengths(self) -> tuple[Vector, Vector, Vector]:
        """The lengths of m at the nodes, of Δm between them, and what m bends by in each cell."""
        means = rounded_lengths(self._whitened_means)
        room = DIFFERENCE_ROUNDING * float(means.max())
        steps = np.diff(self._whitened_means, axis=0)
        bends = self._bend @ (rounded_lengths(np.diff(steps, axis=0)) + room)
        return means, rounded_lengths(steps) + room, np.asarray(bends)

    @property
    def bends_of_means(self) -> Vector:
        """How far x'm may be from it, per √(x'Fx): (C,)."""
        return self._lengths[2] * (1 + _ROUNDING)

    @cached_property
    def bends(self) -> Vector:
        """What locations may be beyond those at the ends of a cell, per √(x'Fx): (C,)."""
        means, steps, bends = self._lengths
        bent = self.curves[:-1] * bends + 0.25 * np.abs(np.diff(self.curves)) * steps
        bent += self._constants.bends_of_curves * np.maximum(means[:-1], means[1:])
        return np.asarray(bent * (1 + _ROUNDING))

    @cached_property
    def widths(self) -> Vector:
        """No scale within a cell is above width·√(x'Fx): (C,)."""
        growth = self.metric.growth(self.belief.log_recovery_times[1:])
        return np.maximum(
            self.curves[:-1] * self.noise * growth * (1 + _ROUNDING), self.least_widths
        )

    @cached_property
    def least_widths(self) -> Vector:
        """What scales are widened to at most on the finest grid, per √(x'Fx): (C,).

        They are a share of the larger step of u m to a neighbour. From one to the next it changes
        by at most u·(ratio·|Δm| + (ratio − 1)·|m|), where ratio bounds that of the two u. The
        farther neighbour may be in the next cell.
        """
        each = self.curves[:-1] * self.finest_steps(self._constants.step_ratios)
        return np.asarray(WIDENED * with_neighbours(each) * (1 + _ROUNDING))

    def finest_steps(self, ratio: Vector) -> Vector:
        """Return that step over u, where u falls by no more than the factor `ratio`: (C,)."""
        (means, steps, bends), size = self._lengths, len(self.belief.grid)
        step = interpolation_bounds.slope(size) @ steps / finest(size)
        longest = np.maximum(means[:-1], means[1:]) + bends
        return np.asarray(ratio * step + (ratio - 1) * longest)

    def inside(self, tail: float) -> tuple[slice, float]:
        """Return the cells without those at both ends that hardly matter, and what those weigh."""
        part = 0.5 * _OMITTED_SHARE * tail
        first = int(np.searchsorted(np.cumsum(self.shares), part))
        last = len(self.shares) - int(np.searchsorted(np.cumsum(self.shares[::-1]), part))
        first = min(first, last - 1)
        return slice(first, last), float(self.shares[:first].sum() + self.shares[last:].sum())

    @cached_property
    def noise(self) -> Vector:
        """No noise that is interpolated within a cell is larger: (C,)."""
        logs = 0.5 * np.log(self.belief.rates)
        bends = self._bend @ np.abs(np.diff(logs, 2))
        # No rate between nodes is taken to be more than e times the largest at any.
        most = np.minimum(np.maximum(logs[:-1], logs[1:]) + bends, logs.max() + 0.5)
        noise = np.exp(most) / np.sqrt(self.belief.shape)
        return np.asarray(noise * (1 + _ROUNDING))

    @property
    def shares(self) -> Vector:
        """What the nodes within each cell weigh together at most, on any finer grid: (C,)."""
        notes, density = self.belief.grid.notes, self.belief.log_density
        known = notes.get(MixtureCells)
        if known is None or known[0] is not density:
            known = notes[MixtureCells] = density, _shares(self.belief)
        shares: Vector = known[1]
        return shares


def _shares(belief: ExactBelief) -> Vector:
    """Return what the nodes within each cell weigh together at most, on any finer grid: (C,).

    A node between two cells counts as one of the later cell; the last one of all is added.
    """
    grid, log_density = belief.grid, belief.log_density
    factor = finest(len(grid))
    rest = interpolation_bounds.between(log_density - _normal(grid.places), factor)
    spacing = grid.places[1] - grid.places[0]
    places = grid.places[:-1, np.newaxis] + spacing * np.arange(factor) / factor
    logs = rest + _normal(places) - log_density.max()
    density = np.exp(np.clip(logs, -_LARGEST_LOGARITHM, _LARGEST_LOGARITHM))
    # The nodes of a grid 2, 4, … times as fine are among those of the finest.
    strides = 2 ** np.arange(factor.bit_length())
    inside = density @ (np.arange(factor)[:, np.newaxis] % strides == 0).astype(np.float64)
    most = np.asarray((inside / inside.sum(axis=0)).max(axis=1))
    most[-1] += float(belief.weights[-1])
    return np.asarray(most * (1 + 1e-9))
