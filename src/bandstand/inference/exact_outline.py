"""What the exact engine's belief says about all songs at once (docs/model.md, "A whole catalogue").

Where a song's mixture (13) is a comb it is computed on a finer grid by interpolation. So that
bounds hold for every grid, they are made for the cells between neighbouring nodes, not for nodes:

    location  u(v) x'm(v) ≤ the larger u x'm at the ends of the cell + bend·|x|
    scale     u(v) n(v) √(x'Λ⁻¹x) ≤ u n √(1 + bend) · √(x'Λ_g⁻¹x),   g the cell's later end

u falls as s grows and m is a straight line plus what `interpolation_bounds` allows; with θ from 0
to 1 along the cell, the product of two straight lines is that of its ends plus θ(1−θ) Δu Δm, and
the two differ from straight lines by what is added for their bends. Three facts:

* a mixture's quantile is at most the largest of its components'; if some with a share π are left
  out, those others have to be taken at the level α/(1 − π);
* Λ_s = V₀⁻¹ + Σ w u(t; s)² xx' falls as s grows, so that x'Λ_s⁻¹x grows with s;
* but not faster than u² falls: u(t; s)/u(t; s') ≤ r(s, s') = the same at the shortest t in the
  history, for s < s', hence Λ_s ⪯ r²Λ_s' and x'Λ_s'⁻¹x ≤ r² x'Λ_s⁻¹x. It is at most s'/s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs
from scipy.special import stdtrit

from bandstand.inference import interpolation_bounds
from bandstand.inference.comb import WIDENED, finest
from bandstand.inference.covariance_base import Diagonal
from bandstand.inference.grid_facts import LARGEST_LOGARITHM, facts_of, log_novelty
from bandstand.inference.kept_nodes import kept_nodes, most_in_cells
from bandstand.inference.shortlist.outline import Outline
from bandstand.model.novelty import novelty

if TYPE_CHECKING:
    from bandstand.domain import History
    from bandstand.inference.exact import ExactBelief
    from bandstand.inference.grid_facts import GridFacts
    from bandstand.inference.shortlist.anchor import Anchor
    from bandstand.model.priors import ListenerPrior
    from bandstand.types import Indices, Matrix, Stack, Vector

# Of covariances, which rank-one updates have rounded many times.
_ROUNDING: Final = 1e-6
# Cells are bounded together as long as a bound grows by no more than this factor, in logarithms.
_LITTLE_LOSS: Final = 0.6
_LOSS_OF_GROUP: Final = 0.2
_MOST_GROUPS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Origin:
    """What a later belief is compared with."""

    prior: ListenerPrior
    history: History
    log_times: Vector  # y of some nodes, rising
    widths: Vector  # F is at least width²·Λ⁻¹ of each of them


class ExactView:
    """One question to the exact engine: the quantile of `level` of songs not heard for `longest`.

    code       maths    shape
    `first`, `last`             the nodes that are not left out
    `reach`    t_2A(α/(1 − π))  how many scales from its centre a component's quantile lies
    `noise`    √(B_g/A)  (G,)
    """

    def __init__(self, belief: ExactBelief, level: float, longest: float) -> None:
        self.belief, self.level, self.longest = belief, level, longest
        self._bend = interpolation_bounds.bend(len(belief.grid))
        self.first, self.last, self.left_out = kept_nodes(
            belief.grid, belief.log_density, belief.weights, 1 - level
        )
        self.reach = float(stdtrit(belief.freedom, min(level / (1 - self.left_out), 1.0)))
        self.noise = np.sqrt(belief.rates / belief.shape)
        self.nodes = slice(self.first, self.last + 1)
        self.cells = slice(self.first, self.last)

    @cached_property
    def facts(self) -> GridFacts:
        """What follows from the grid and the shortest time."""
        return facts_of(self.belief.grid, self.longest, self.shortest)

    @cached_property
    def shortest(self) -> float:
        """The shortest time after which a song was heard again, in fact or in thought."""
        thoughts = min((each.elapsed for each in self.belief.thoughts), default=np.inf)
        return min(_shortest(self.belief.history), thoughts)

    @property
    def curves(self) -> Vector:
        """Novelty of a song never heard at every node: u, (G,)."""
        return self.facts.curves

    @cached_property
    def centres(self) -> Matrix:
        """Return u m at the nodes that are kept: (K, p)."""
        centres: Matrix = self.curves[self.nodes, np.newaxis] * self.belief.means[self.nodes]
        return centres

    @cached_property
    def bends(self) -> Vector:
        """What m leaves the straight line by in each cell, at most: (G − 1,)."""
        second = np.diff(self.belief.means, 2, axis=0)
        return np.asarray(self._bend @ np.sqrt(np.einsum("gp,gp->g", second, second)))

    @cached_property
    def _lengths(self) -> Vector:
        """|m| at every node: (G,)."""
        return _lengths(self.belief.means)

    @cached_property
    def _steps(self) -> Vector:
        """|Δm| from each node to the next: (G − 1,)."""
        return _lengths(np.diff(self.belief.means, axis=0))

    @cached_property
    def slack(self) -> float:
        """What has to be added per |x|, in whatever cell."""
        return float(self.slack_of_cells.max())

    @cached_property
    def slack_of_cells(self) -> Vector:
        """The bends of each cell kept, and half a step where components are widened: per |x|."""
        lengths, curves = self._lengths, self.curves
        bent = curves[:-1] * self.bends + 0.25 * np.abs(np.diff(curves)) * self._steps
        bent += self.facts.bends_of_curves * np.maximum(lengths[:-1], lengths[1:])
        return np.asarray(bent[self.cells] + max(self.reach, 0.0) * self.widening)

    @cached_property
    def widening(self) -> float:
        """Half the largest step between neighbours on the finest grid, per |x|.

        u m changes from one to the next by at most u·(ratio·|Δm| + (ratio − 1)·|m|), where
        ratio bounds that of the two u.
        """
        size, ratio = len(self.belief.grid), self.facts.step_ratios
        step = interpolation_bounds.slope(size) @ self._steps / finest(size)
        longest = np.maximum(self._lengths[:-1], self._lengths[1:]) + self.bends
        each = self.curves[:-1] * (ratio * step + (ratio - 1) * longest)
        around = slice(max(self.first - 1, 0), self.last + 1)
        return WIDENED * float(each[around].max(initial=0.0))

    @property
    def recovery(self) -> Vector:
        """The logarithm of u at the shortest time heard or planned, up to a constant: (G,)."""
        return self.facts.recovery

    @property
    def variance_bends(self) -> Vector:
        """What x'Λ⁻¹x leaves the straight line by in each cell, as a share of its later end."""
        return self.facts.variance_bends

    @cached_property
    def noise_of_cells(self) -> Vector:
        """No noise that is interpolated within a cell is larger: (G − 1,)."""
        logs = 0.5 * np.log(self.belief.rates)
        bends = self._bend @ np.abs(np.diff(logs, 2))
        # No rate between nodes is taken to be more than e times the largest at any.
        most = np.minimum(np.maximum(logs[:-1], logs[1:]) + bends, logs.max() + 0.5)
        return np.asarray(np.exp(most) / np.sqrt(self.belief.shape) * (1 + 1e-12))

    @cached_property
    def shares_of_cells(self) -> Vector:
        """What the nodes of each cell that is kept weigh together at most, on any finer grid."""
        shares = most_in_cells(self.belief.grid, self.belief.log_density)[self.cells]
        # The last node kept is the first one of the next cell.
        shares[-1] += float(self.belief.weights[self.last])
        return np.asarray(shares)

    @cached_property
    def tops(self) -> Indices:
        """The last nodes of some groups of cells, whose covariances bound those of the groups.

        A group loses what u falls by within it, and what the variances may rise by: r.
        """
        loss = -np.log(self.curves[self.nodes]) - self.recovery[self.nodes]
        loss = loss - loss[0]
        if loss[-1] < _LITTLE_LOSS:
            return np.array([self.last])
        count = min(int(np.ceil(loss[-1] / _LOSS_OF_GROUP)), _MOST_GROUPS)
        tops = np.searchsorted(loss, loss[-1] * np.arange(1, count) / count)
        return np.unique(np.append(self.first + np.maximum(tops, 1), self.last))

    @cached_property
    def widths(self) -> Vector:
        """No quantile of a group's components is farther away than width·√(x'Λ⁻¹x) at its top.

        Below the median it is on the other side: nothing at all then bounds it from above.
        """
        if self.reach <= 0:
            return np.zeros(len(self.tops))
        starts = np.append(self.first, self.tops[:-1])
        return np.maximum.reduceat(self.widths_of_cells, starts - self.first)

    @cached_property
    def widths_of_cells(self) -> Vector:
        """The same for each cell that is kept, with the covariance of its later end."""
        wide = self.curves[:-1] * self.noise_of_cells * np.sqrt(1 + self.variance_bends)
        return np.asarray(self.reach * (1 + _ROUNDING) * wide[self.cells])

    def outline(self) -> Outline:
        """Return what no song exceeds, for the belief without songs heard in thought.

        Those make Λ larger, so the same bounds hold. Matrices of one basis are compared by their
        levels, and what answers have taken since only makes them smaller.
        """
        base = self.belief.learnt.base
        if isinstance(base, Diagonal):
            levels = self.widths[:, np.newaxis] ** 2 * base.levels[self.tops]
            most = levels.max(axis=0) * (1 + _ROUNDING)
            spread: Matrix = (base.modes * most) @ base.modes.T
            return Outline(centres=self.centres, spread=spread, slack=self.slack)
        forms = self.belief.learnt.at(self.tops) * self.widths[:, np.newaxis, np.newaxis] ** 2
        return Outline(centres=self.centres, spread=_dominating(forms), slack=self.slack)

    def recovered(self, elapsed: Vector) -> Vector:
        """Return what fraction of its bound a song heard so long ago has at most.

        u(t; s)/u(T; s) for t ≤ T falls as s grows: it is largest at the first node kept, or at the
        one before, from which a step on a finer grid may come.
        """
        place = max(self.first - 1, 0)
        first = self.belief.recovery_times[place]
        return np.asarray(novelty(elapsed, first) / self.curves[place] * (1 + 1e-9))

    def origin(self) -> Origin:
        """Return what `growth` needs to know."""
        belief = self.belief
        return Origin(
            prior=belief.prior,
            history=belief.history,
            log_times=belief.log_recovery_times[self.tops],
            widths=self.widths,
        )

    def growth(self, anchor: Anchor) -> float:
        """Return a g with F ⪯ g²·(the anchor's F).

        More answers only make Λ_s larger, at every s, so that g comes from the widths: that of
        each cell is compared with those of the anchor, times r where its node is later than theirs.
        After an answer was taken back the two forms are compared.
        """
        before, belief = anchor.origin, self.belief
        if belief.prior is before.prior and belief.history.continues(before.history):
            if self.reach <= 0:
                return 0.0
            if before.widths[-1] <= 0:
                return np.inf
            now = belief.log_recovery_times[self.first + 1 : self.last + 1, np.newaxis]
            shortest = _shortest(before.history)
            fall = log_novelty(shortest, before.log_times) - log_novelty(shortest, now)
            later = np.exp(np.clip(fall, 0.0, LARGEST_LOGARITHM))
            ratios = self.widths_of_cells[:, np.newaxis] / before.widths * later
            return float(ratios.min(axis=1).max())
        return anchor.growth(self.outline().spread)


def _dominating(forms: Stack) -> Matrix:
    """Return one form that is at least each of some: a multiple of one of them.

    κ² is the largest eigenvalue of L⁻¹ M L⁻ᵀ over all M, where LL' is the one that is chosen.
    """
    last: Matrix = forms[-1]
    if len(forms) == 1 or not forms.any():
        return last
    found = []
    for form in (forms[0], forms[-1]):
        root, failed = dpotrf(form, lower=1, clean=1)
        if failed:
            continue
        whitened = [dtrtrs(root, dtrtrs(root, each, lower=1)[0].T, lower=1)[0] for each in forms]
        most = max(float(np.linalg.eigvalsh(each)[-1]) for each in whitened)
        found.append(max(most, 1.0) * (1 + _ROUNDING) * form)
    if not found:
        return np.asarray(forms.sum(axis=0))
    return min(found, key=lambda each: float(np.trace(each)))


def _lengths(vectors: Matrix) -> Vector:
    return np.asarray(np.sqrt(np.einsum("gp,gp->g", vectors, vectors)))


def _shortest(history: History) -> float:
    """Return the shortest elapsed time of all answers; none of them is shorter than infinity."""
    return float(history.elapsed.min(initial=np.inf))
