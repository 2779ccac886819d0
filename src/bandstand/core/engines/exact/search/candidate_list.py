"""The songs that could be chosen, with one certificate for all others.

A list is made from the bounds of a whole pass over the songs (`screen`). In its metric a later
belief, one of more answers, raises no bound U by more than drift·√(x'Fx), so the list keeps the
songs of the smallest margins

    margin(x) = (reference − U(x)) / √(x'Fx)

and of all others it knows the smallest, `limit`. Most of the songs whose bounds are below the limit
fall out again when √(x'Fx) is computed in full. A song outside then has at most

    U(x) + drift·√(x'Fx) = reference − (margin(x) − drift)·√(x'Fx)
                         ≤ reference − (limit − drift)·√(x'Fx)

where √(x'Fx) lies between the narrowest and the widest outside: one number for all of them.

The drift. A component of the later belief in the cell c lies at most ρ_c from the line between two
knots of the screen, and its scale is at most width_c·√(x'Fx). With the reach of that group, ω,

    location + reach_c·scale ≤ U(x) + (ρ_c + bend_c − ω + reach_c·width_c)·√(x'Fx)

so the drift is the quantile, by its tail budget, of a mixture with these locations and widths.

The push. The song that was chosen is rated next, and the rating of a song z moves every centre
almost exactly along d = Fz/√(z'Fz). So margins leave room for U(x) + δ·d'x with any δ between two
ends, and only what a centre has moved by beside that counts as drift.

The list can be thrown away at any time: the next pass makes another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand.core.engines.exact.search.mixture_cells import DIFFERENCE_ROUNDING, rounded_lengths
from bandstand.core.engines.exact.search.screen import Bounded, from_line
from bandstand.core.engines.exact.search.tail_budget import tail_budget
from bandstand.types import read_only

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.belief import ExactBelief
    from bandstand.core.engines.exact.search.answered_songs import KnownVariances
    from bandstand.core.engines.exact.search.mixture_cells import Metric, MixtureCells
    from bandstand.core.engines.exact.search.screen import Groups, Screen
    from bandstand.core.engines.exact.search.shortlist import Shortlist
    from bandstand.core.engines.song_table import SingleVector, SongTable
    from bandstand.core.model.candidates import CandidateSet
    from bandstand.types import AnyArray, Indices, Vector

# A rating moves the centre along its song by this many of its standard deviations: mostly down,
# since the song was chosen for what was hoped of it.
_MOST_DOWN: Final = -1.2
_MOST_UP: Final = 0.2
# The reference lies below the value to beat by this share, since that mostly falls.
_FALL: Final = 0.03
# Songs that tell about how small a margin the list needs.
_SAMPLE: Final = 16_384
# Differences and quotients in single precision.
_ROUNDING: Final = 1e-6


class Push(NamedTuple):
    """Where the rating of one song moves the centres: along d = Fz/√(z'Fz), of length 1."""

    direction: Vector
    low: float
    high: float

    @classmethod
    def of(cls, metric: Metric, song: Vector, noise: float) -> Push:
        """Return the room for a rating of `song`, whose error has the scale noise·√(1 + z'Fz)."""
        towards = metric.form @ song
        variance = float(song @ towards)
        if not variance > 0:
            return cls(towards, 0.0, 0.0)
        scale = noise * (variance / (1 + variance)) ** 0.5
        return cls(towards / variance**0.5, _MOST_DOWN * scale, _MOST_UP * scale)

    @staticmethod
    def room(noise: float) -> float:
        """Return how long a push is at most."""
        return noise * max(-_MOST_DOWN, _MOST_UP)


class Drift(NamedTuple):
    """What centres have moved by along the push, and beyond that, in lengths of the metric."""

    beyond: float
    low: float
    high: float


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
    push: Push
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
        push: Push,
        allowed: CandidateSet,
        rows: Indices | None,
        bounds: Bounded,
        threshold: float,
        cache: SearchCache,
    ) -> CandidateList:
        """Return the list of the songs of smallest margins; `rows` are those bounded.

        How small a margin must be comes from a sample.
        """
        table, count = cache.table, len(bounds.upper)
        reference = (threshold - _FALL * abs(threshold)) / screen.unit
        margins = _margins(bounds, screen, push, reference)
        share, sample = min(cache.list_size / count, _MAX_SHARE), margins[:: -(-count // _SAMPLE)]
        limit = float(np.quantile(sample, share, method="lower"))
        if limit < 0:  # then songs outside could be returned now
            limit = 0.0
        chosen = np.flatnonzero(margins <= np.float32(limit))
        here, closer = chosen if rows is None else rows[chosen], bounds.at(chosen)
        if not screen.quadratic.is_tight:  # then most are no better than songs outside
            closer = closer.least(screen.bounds(table, here, closer=True))
            margins = _margins(closer, screen, push, reference)
            left = np.flatnonzero(margins <= np.float32(limit))
            here, closer = here[left], closer.at(left)
        return cls(
            metric=cells.metric,
            groups=groups,
            screen=screen,
            push=push,
            longest=cells.longest,
            mask=allowed.mask,
            listed=allowed.listed,
            rows=read_only(here.astype(np.int32)),
            bounds=closer,
            reference=reference + _ROUNDING * abs(reference),
            limit=limit - _ROUNDING * abs(limit),
            narrowest=float(min(bounds.widths.min(), closer.widths.min(initial=np.inf))),
            widest=float(bounds.widths.max()),
        )

    def suits(self, belief: ExactBelief, longest: float, allowed: CandidateSet) -> bool:
        """Return whether it says something of all songs that are `allowed`, for a belief."""
        is_same = self.mask is allowed.mask and self.listed is allowed.listed
        is_for_all = self.mask is None and self.listed is None
        is_covering = (is_same or is_for_all) and longest == self.longest
        return is_covering and self.metric.suits(belief)

    def drift(self, cells: MixtureCells, tail: float) -> Drift:
        """Return how far a later belief may exceed the bounds.

        `cells` are those of the belief in the list's metric.
        """
        groups, ends = self.groups, cells.belief.log_recovery_times[1:]
        group = np.searchsorted(groups.log_times[1:], ends)
        group = np.minimum(group, len(groups.reaches) - 1)
        is_live = groups.reaches[group] > -np.inf
        if not is_live.any():
            return Drift(np.inf, 0.0, 0.0)
        knots, centres = self.metric.whitened(groups.knots), cells.whitened_centres
        push, ends_of = self.push, (knots[group], knots[group + 1])
        across = self.metric.whitened(push.direction[np.newaxis])[0]
        rest = np.stack([from_line(each, *ends_of, across) for each in (centres[:-1], centres[1:])])
        shifts = np.clip(rest @ across, push.low, push.high)
        rest -= shifts[:, :, np.newaxis] * across
        far = rounded_lengths(rest.reshape(-1, len(across))).reshape(2, -1).max(axis=0)
        far += DIFFERENCE_ROUNDING * float(rounded_lengths(centres).max())
        # A component of a group that was left out counts as a whole.
        left_out = float(cells.shares[~is_live].sum())
        locations = (far + cells.bends - groups.reaches[group])[is_live]
        shares, widths = cells.shares[is_live], cells.widths[is_live]
        budget = tail_budget(shares, locations, widths, tail - left_out, cells.belief.freedom)
        beyond = np.inf if budget is None else max(budget.value, 0.0)
        shifts = shifts[:, is_live]
        return Drift(beyond, min(float(shifts.min()), 0.0), max(float(shifts.max()), 0.0))

    def outside(self, drift: Drift) -> float:
        """Return what no song outside exceeds, if it was never heard."""
        screen = self.screen
        if not drift.beyond < np.inf:
            return np.inf
        margin = self.limit - drift.beyond * screen.width / screen.unit
        most = self.reference - margin * (self.narrowest if margin > 0 else self.widest)
        return screen.unit * (most + _ROUNDING * abs(most))

    def upper(self, drift: Drift) -> Vector:
        """Return what none of its songs exceeds, as if it were never heard: (n,)."""
        beyond = drift.beyond if drift.beyond < np.inf else 0.0  # it then is no bound
        wider = beyond * self.screen.width / self.screen.unit
        pushed = _pushed(self.bounds, self.screen, drift.low, drift.high)
        most = pushed + wider * self.bounds.widths.astype(np.float64)
        return np.asarray(self.screen.unit * (most + _ROUNDING * np.abs(most)))

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        return int(
            self.rows.nbytes
            + 3 * self.bounds.upper.nbytes
            + self.screen.nbytes
            + self.metric.nbytes
        )


# What one listener's searches share between two questions.


_LIST_SIZE: Final = 65_536
_MAX_SHARE: Final = 1 / 2


class SearchCache:
    """The songs, and at most one list of candidates; used by one thread at a time."""

    def __init__(
        self, table: SongTable, *, kinds: Indices | None = None, list_size: int = _LIST_SIZE
    ) -> None:
        """Make lists of about `list_size` songs; songs of one of `kinds` have the same features."""
        self.table, self.kinds, self.list_size = table, kinds, list_size
        self.candidates: CandidateList | None = None  # can be dropped at any time
        self.shortlist: Shortlist | None = None  # of the last belief
        self.best: int | None = None  # the row of the song that was best last
        self.answered: KnownVariances | None = None  # of songs whose artists have answers
        self.passes = 0  # over all songs, or all of a filter
        self.evaluated = 0  # exact quantiles

    @property
    def nbytes(self) -> int:
        """The size of what is kept for this listener alone."""
        kept = (self.candidates, self.shortlist)  # a thread that searches may drop them meanwhile
        answered = 0 if self.answered is None else self.answered.rows.nbytes * 2
        return answered + sum(each.nbytes for each in kept if each is not None)


def _margins(bounds: Bounded, screen: Screen, push: Push, reference: float) -> SingleVector:
    """Return what is left below the reference after the push, per √(x'Fx): (n,)."""
    with np.errstate(over="ignore", under="ignore"):
        margins = _pushed(bounds, screen, push.low, push.high)
        np.subtract(np.float32(reference), margins, out=margins)
        margins /= bounds.widths
    return margins


def _pushed(bounds: Bounded, screen: Screen, low: float, high: float) -> SingleVector:
    """Return the bounds of songs after a push between `low` and `high`: (n,)."""
    unit = screen.width / screen.unit
    down, up = np.float32(low * unit), np.float32(high * unit)
    most: SingleVector = np.maximum(down * bounds.along, up * bounds.along)
    most += bounds.upper
    return most
