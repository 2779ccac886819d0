"""The songs that could be chosen, with one certificate for all others.

A list is made from the bounds of a whole pass over the songs (`screen`). In its metric a later
belief, one of more answers, raises no bound U by more than drift·√(x'Fx), so the list keeps the
songs of the smallest margins

    margin(x) = (reference − U(x)) / √(x'Fx)

and of all others it knows the smallest, `limit`. A song outside then has at most

    U(x) + drift·√(x'Fx) = reference − (margin(x) − drift)·√(x'Fx)
                         ≤ reference − (limit − drift)·√(x'Fx)

where √(x'Fx) lies between the narrowest and the widest outside: one number for all of them.

The drift. A component of the later belief in the cell c lies at most ρ_c from the line between two
knots of the screen, and its scale is at most width_c·√(x'Fx). With the reach of that group, ω,

    location + reach_c·scale ≤ U(x) + (ρ_c + bend_c − ω + reach_c·width_c)·√(x'Fx)

so the drift is the quantile, by its tail budget, of a mixture with these locations and widths.

The list can be thrown away at any time: the next pass makes another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.engines.exact.search.screen import distances
from bandstand.core.engines.exact.search.tail_budget import tail_budget
from bandstand.types import read_only

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.belief import ExactBelief
    from bandstand.core.engines.exact.search.metric import Metric
    from bandstand.core.engines.exact.search.mixture_cells import MixtureCells
    from bandstand.core.engines.exact.search.screen import Bounded, Groups, Screen
    from bandstand.core.model.candidates import CandidateSet
    from bandstand.types import AnyArray, Indices, Vector

# The reference is the bound of about the best eighth of those kept.
_BEST: Final = 8
# Songs that tell about how small a margin the list needs.
_SAMPLE: Final = 16_384
# Differences and quotients in single precision.
_ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CandidateList:
    """Some songs with their bounds as if never heard; values and lengths in units of the screen."""

    metric: Metric
    groups: Groups
    screen: Screen
    longest: float  # minutes that stand for never
    mask: AnyArray | None  # the songs that it is of, by identity, or all
    listed: Indices | None
    rows: Indices  # rising
    bounds: Bounded
    reference: float
    limit: float
    narrowest: float  # √(x'Fx) outside
    widest: float

    @classmethod
    def of(
        cls,
        cells: MixtureCells,
        groups: Groups,
        screen: Screen,
        allowed: CandidateSet,
        rows: Indices | None,
        bounds: Bounded,
        size: int,
    ) -> CandidateList:
        """Return the list of about `size` songs of smallest margins; `rows` are those bounded.

        How small a margin must be comes from a sample.
        """
        upper, widths = bounds
        sample = slice(None, None, max(len(upper) // _SAMPLE, 1))
        place = min(size / len(upper), 1.0)
        reference = float(np.quantile(upper[sample], 1 - place / _BEST))
        with np.errstate(over="ignore", under="ignore"):
            margins = (np.float32(reference) - upper) / widths
        is_inside = margins <= np.quantile(margins[sample], place)
        chosen, outside = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
        limit = float(margins[outside].min(initial=np.inf))
        return cls(
            metric=cells.metric,
            groups=groups,
            screen=screen,
            longest=cells.longest,
            mask=allowed.mask,
            listed=allowed.listed,
            rows=read_only(chosen.astype(np.int32) if rows is None else rows[chosen]),
            bounds=type(bounds)(read_only(upper[chosen]), read_only(widths[chosen])),
            reference=reference + _ROUNDING * abs(reference),
            limit=limit - _ROUNDING * abs(limit) if len(outside) else np.inf,
            narrowest=float(widths[outside].min(initial=np.inf)),
            widest=float(widths[outside].max(initial=0.0)),
        )

    def suits(self, belief: ExactBelief, longest: float, allowed: CandidateSet) -> bool:
        """Return whether it says something of all songs that are `allowed`, for a belief."""
        is_same = self.mask is allowed.mask and self.listed is allowed.listed
        is_for_all = self.mask is None and self.listed is None
        is_covering = (is_same or is_for_all) and longest == self.longest
        return is_covering and self.metric.suits(belief)

    def drift(self, cells: MixtureCells, tail: float) -> float:
        """Return by which multiple of √(x'Fx) a later belief may exceed the bounds; or ∞.

        `cells` are those of the belief in the list's metric.
        """
        groups, ends = self.groups, cells.belief.log_recovery_times[1:]
        group = np.searchsorted(groups.log_times[1:], ends)
        group = np.minimum(group, len(groups.reaches) - 1)
        is_live = groups.reaches[group] > -np.inf
        if not is_live.any():
            return np.inf
        first, last = groups.knots[group], groups.knots[group + 1]
        far = np.maximum(
            distances(self.metric, cells.centres[:-1], first, last),
            distances(self.metric, cells.centres[1:], first, last),
        )
        # A component of a group that was left out counts as a whole.
        left_out = float(cells.shares[~is_live].sum())
        locations = (far + cells.bends - groups.reaches[group])[is_live]
        shares, widths = cells.shares[is_live], cells.widths[is_live]
        budget = tail_budget(shares, locations, widths, tail - left_out, cells.belief.freedom)
        return np.inf if budget is None else budget.value

    def outside(self, drift: float) -> float:
        """Return what no song outside exceeds, if it was never heard."""
        screen = self.screen
        if self.limit == np.inf:
            return -np.inf
        margin = self.limit - drift * screen.width / screen.unit
        most = self.reference - margin * (self.narrowest if margin > 0 else self.widest)
        return screen.unit * (most + _ROUNDING * abs(most))

    def upper(self, drift: float) -> Vector:
        """Return what none of its songs exceeds, as if it were never heard: (n,)."""
        wider = drift * self.screen.width / self.screen.unit
        most = self.bounds.upper + wider * self.bounds.widths.astype(np.float64)
        return np.asarray(self.screen.unit * (most + _ROUNDING * np.abs(most)))

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        return int(
            self.rows.nbytes
            + 2 * self.bounds.upper.nbytes
            + self.screen.nbytes
            + self.metric.nbytes
        )
