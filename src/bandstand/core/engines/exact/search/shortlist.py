"""The songs that could be best under one posterior: bounded one by one, the best ones computed.

A question is answered once the value to beat is above the bounds of all songs that are not
computed, and above `outside`, which no other song exceeds.

Planned plays only make Λ larger, while m, B and the weights stay (`ExactBelief.with_planned_play`).
So all bounds hold for a whole playlist, as long as no song recovers for longer than assumed; of the
variances that are known each play takes the square of one product,

    x'Λ⁻¹x − (d'x)²        d = Λ⁻¹z / √(1 + z'Λ⁻¹z)
"""

from __future__ import annotations

from typing import Final, NamedTuple
from weakref import ref

import numpy as np

from bandstand.core.engines.exact.posterior.belief import ExactBelief
from bandstand.core.engines.exact.posterior.song_mixtures import WIDENED, Given
from bandstand.core.engines.exact.search.mixture_cells import (
    MixtureCells,
    constants_of,
    with_neighbours,
)
from bandstand.core.engines.exact.search.tail_budget import tail_budget
from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.history import Songs
from bandstand.core.model.novelty import novelty
from bandstand.core.model.student_mixture import StudentTail
from bandstand.types import MONTH, Indices, Matrix, Vector

# Bounds hold while songs recover for 360 minutes more, and for levels whose tail is not below
# this share, where plays are planned.
_MORE_MINUTES: Final = 360.0
_PLANNED_TAIL: Final = 0.9
# Of products in double precision.
_PRODUCT_ROUNDING: Final = 1e-9
_FARTHEST: Final = 1e6


class Shortlist:
    """Songs of a catalogue with their bounds; the first of them to be `known` are computed.

    code        shape   meaning
    `rows`      (n,)
    `upper`     (n,)    what no quantile exceeds
    `assumed`   (n,)    minutes since each was heard, at most, for the bounds to hold
    `places`    (m,)    of those that are known, among `rows`
    `features`  (m, p)  and their √(x'Fx), content and variance given each recovery time
    """

    def __init__(self, belief: ExactBelief, bounds: TightBounds, allowed: CandidateSet) -> None:
        self.bounds, self.outside = bounds, np.inf
        # Nothing of a belief is kept alive: plans are long chains of them.
        self._belief = ref(belief)
        self._mask, self._listed = allowed.mask, allowed.listed
        self.rows = self.places = np.empty(0, dtype=np.intp)
        self.upper = self.assumed = self.lengths = np.empty(0)
        self.features = np.empty((0, belief.means.shape[1]))
        self.content = self.variance = np.empty((0, len(belief.weights)))

    def suits(self, belief: ExactBelief, songs: Songs, allowed: CandidateSet, tail: float) -> bool:
        """Return whether its bounds hold; one more planned play is taken off what is known."""
        last = self._belief()
        if belief is not last:
            if last is None or belief.before is not last:
                return False
            (play,) = belief.spread.taken[-1:]
            self.variance = np.maximum(self.variance - (self.features @ play.T) ** 2, 0.0)
            self._belief = ref(belief)
        heard = self.assumed < songs.longest
        return (
            self._mask is allowed.mask
            and self._listed is allowed.listed
            and songs.longest == self.bounds.longest
            and tail >= self.bounds.tail
            and bool((songs.elapsed_of(self.rows[heard]) <= self.assumed[heard]).all())
        )

    def add(self, rows: Indices, songs: Songs) -> None:
        """Bound more songs."""
        assumed = np.minimum(songs.elapsed_of(rows) + _MORE_MINUTES, songs.longest)
        upper = self.bounds.upper(songs.features_of(rows), assumed)
        self.add_bounded(rows, upper, assumed)

    def add_bounded(self, rows: Indices, upper: Vector, assumed: Vector) -> None:
        """Add songs of which this is known; those without a bound (∞) are always computed."""
        self.rows = np.concatenate([self.rows, rows])
        self.upper = np.concatenate([self.upper, upper])
        self.assumed = np.concatenate([self.assumed, assumed])

    def unknown(self, threshold: float, size: int, allowed: CandidateSet) -> Indices:
        """Return the places of the highest bounds that reach a threshold and are not known."""
        is_open = self.upper >= threshold
        is_open[self.places] = False
        found = np.flatnonzero(is_open)
        found = found[allowed.contains(self.rows[found])]
        return found[np.argsort(-self.upper[found])[:size]]

    def compute(self, places: Indices, belief: ExactBelief, songs: Songs) -> Indices:
        """Make songs known; return where they are among those known."""
        given = Given.of(belief, songs, self.rows[places])
        features = songs.features_of(self.rows[places])
        self.features = np.concatenate([self.features, features])
        self.lengths = np.concatenate([self.lengths, self.bounds.lengths(features)])
        self.content = np.concatenate([self.content, given.content])
        self.variance = np.concatenate([self.variance, given.variance])
        self.places = np.concatenate([self.places, places])
        return np.arange(len(self.places) - len(places), len(self.places))

    def given(self, known: Indices, songs: Songs) -> tuple[Given, CellMixtures]:
        """Return songs that are known as they are now, and what their mixtures are at most."""
        elapsed = songs.elapsed_of(self.rows[self.places[known]])
        given = Given(self.content[known], self.variance[known], elapsed)
        return given, self.bounds.known(self.lengths[known], given)

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        return int(3 * self.rows.nbytes + self.features.nbytes + 2 * self.variance.nbytes)


class TightBounds:
    """Bounds of some songs in double precision, cell by cell, each with its own elapsed time.

    Of songs never heard only the cells are looked at that a tail budget leaves in: those from the
    node `first` on with a reach.
    """

    def __init__(self, cells: MixtureCells, tail: float, first: int, reaches: Vector) -> None:
        self.tail, self.longest, self._root = tail, cells.longest, cells.metric.root
        places = np.flatnonzero(reaches > -np.inf)
        live = first + places
        self._beyond = cells.bends[live] + reaches[places] * cells.widths[live]
        nodes = slice(int(live[0]), int(live[-1]) + 2)
        self._centres, self._places = cells.centres[nodes], live - nodes.start
        # No novelty in a cell falls short of never by less than at the node before it.
        self._before = np.maximum(live - 1, 0)
        self._times, self._curves = cells.belief.recovery_times, cells.curves
        # Of songs that were heard: these hold for any elapsed time.
        finite = constants_of(cells.belief.grid, MONTH)
        self._noise, self._shares = cells.noise, cells.shares
        self._bends = cells.bends_of_means, finite.bends_of_curves
        self._steps = cells.finest_steps(finite.step_ratios)
        self._own = cells.metric.own
        self._student = StudentTail.of(cells.belief.freedom)
        lengths = np.sqrt(np.einsum("gp,gp->g", cells.centres, cells.centres))
        self._rounding = _PRODUCT_ROUNDING * float(lengths.max())

    @classmethod
    def of(cls, cells: MixtureCells, typical: Vector, tail: float) -> TightBounds | None:
        """Return bounds with the tail budget of a typical song; None where there is none."""
        if cells.belief.has_planned_plays:  # others follow, whose level is a little higher
            tail *= _PLANNED_TAIL
        wide = cells.metric.width(typical)
        along = cells.centres @ typical
        locations = np.maximum(along[:-1], along[1:]) + cells.bends * wide
        inside, left_out = cells.inside(tail)
        budget = tail_budget(
            cells.shares[inside],
            locations[inside],
            cells.widths[inside] * wide,
            tail - left_out,
            cells.belief.freedom,
        )
        return None if budget is None else cls(cells, tail, inside.start, budget.reaches)

    def lengths(self, features: Matrix) -> Vector:
        """Return √(x'Fx) of songs: (n,)."""
        halves = features @ self._root
        lengths = np.sqrt(np.einsum("np,np->n", halves, halves) + self._own)
        return np.asarray(lengths * (1 + _PRODUCT_ROUNDING))

    def upper(self, features: Matrix, elapsed: Vector) -> Vector:
        """Return what no quantile exceeds of songs heard no longer ago than `elapsed`: (n,)."""
        most = _highest(features @ self._centres.T)[:, self._places]
        most += self._beyond * self.lengths(features)[:, np.newaxis]
        heard = np.flatnonzero(elapsed < self.longest)
        if len(heard):
            # u(t; s)/u(T; s) is largest where s is least.
            fresh = novelty(elapsed[heard, np.newaxis], self._times[self._before])
            ratios = fresh / self._curves[self._before] * (1 + _PRODUCT_ROUNDING)
            most[heard] = np.maximum(most[heard], 0.0) * ratios
        norms = np.sqrt(np.einsum("np,np->n", features, features))
        upper = most.max(axis=1) + self._rounding * norms
        return np.asarray(upper + _PRODUCT_ROUNDING * np.abs(upper))

    def known(self, lengths: Vector, given: Given) -> CellMixtures:
        """Return what mixtures are at most, of songs that are known at the nodes, with √(x'Fx).

        The product of u and x'm within a cell is at most the larger one at the ends, a quarter of
        that of both differences, and what either bends.
        """
        content, wide = given.content, lengths[:, np.newaxis]
        curves = novelty(given.elapsed[:, np.newaxis], self._times)
        first, (bend, bend_of_curve) = curves[:, :-1], self._bends
        locations = _highest(curves * content)
        locations += 0.25 * np.abs(np.diff(curves) * np.diff(content)) + bend * first * wide
        locations += bend_of_curve * (_highest(np.abs(content)) + bend * wide)
        scales = first * self._noise * np.sqrt(_highest(given.variance))
        # On the finest grid a component may be widened to its distance from its neighbours.
        np.maximum(scales, with_neighbours(WIDENED * first * self._steps * wide), out=scales)
        room = _PRODUCT_ROUNDING * (np.abs(locations) + np.abs(content).max(axis=1)[:, np.newaxis])
        return CellMixtures(locations + room, scales, self._shares, self._student)


class CellMixtures(NamedTuple):
    """Mixtures with one component for each cell, none of them smaller than those within: (n, C)."""

    locations: Matrix
    scales: Matrix
    shares: Vector
    student: StudentTail

    def about(self, reach: float) -> Vector:
        """Return what lies this many standard deviations above the mean, roughly: (n,)."""
        means = self.locations @ self.shares
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.square(self.scales) + np.square(self.locations - means[:, np.newaxis])
            return np.asarray(means + reach * np.sqrt(squares @ self.shares))

    def above(self, value: float) -> Vector:
        """Return what each mixture has above a value at most: (n,)."""
        away = value - self.locations
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            far = np.minimum(np.where(away >= 0, away, 0.0) / self.scales, _FARTHEST)
        far = np.where(self.scales > 0, far, _FARTHEST)
        beyond = np.where(away > 0, self.student.above(far), 1.0)
        return np.asarray(beyond @ self.shares)


def _highest(at_nodes: Matrix) -> Matrix:
    """Return the larger of what is at both ends of each cell: (n, C)."""
    return np.maximum(at_nodes[:, :-1], at_nodes[:, 1:])
