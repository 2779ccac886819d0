"""One shortlist: the songs that could be chosen, and one number for all others.

A level keeps the songs of the smallest margins

    margin(x) = (reference − bound(x)) / |x|

`limit` is the smallest margin of all songs outside. A later outline raises no bound by more than
drift·|x|, so a song outside has at most

    bound(x) + drift·|x| = reference − (margin(x) − drift)·|x| ≤ reference − (limit − drift)·|x|

and |x| lies between the shortest and the longest outside: one number, however many songs there
are. Nor does any exceed the highest bound outside by more than drift times the longest |x|.

Songs at rest. A song heard lately has at most a fraction f of its bound, if that is positive. Most
of the best songs have been heard by somebody who listens a lot, so they are left outside by
f·bound in place of bound, and with each the largest f is kept for which its margin is still the
limit: f·(bound + drift·|x|) ≤ f·bound + drift·|x| as long as the drift is not negative. One whose
fraction has grown beyond has woken: it has to be looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np

from bandstand.types import frozen, read_only

if TYPE_CHECKING:
    from bandstand.domain import Songs
    from bandstand.inference.shortlist.anchor import Anchor
    from bandstand.inference.shortlist.outline import Expectation, View
    from bandstand.inference.song_table import SingleVector, SongTable
    from bandstand.types import Indices, Vector

# Songs per song kept whose bounds are worked out more closely before it is decided which to keep.
_CLOSER: Final = 3
# No more than this share of all songs, if there are many that could be chosen.
_MOST_CLOSER: Final = 0.25
# The reference is the bound of about the best eighth of those kept.
_BEST: Final = 8
# A song at rest should not wake within so many minutes.
_REST: Final = 60.0
# Centres so many times as far away as they were are not worth a product in single precision.
_FARTHEST: Final = 1e6
_NO_ROWS: Final = np.empty(0, dtype=np.intp)
_NO_VALUES: Final = np.empty(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Level:
    """Some songs, and what bounds all others; lengths and values in units of the anchor."""

    anchor: Anchor
    rows: Indices  # rising
    bounds: SingleVector  # of these songs, as if they had never been heard
    reference: float = 0.0
    limit: float = np.inf
    shortest: float = 0.0  # |x| outside
    longest: float = 0.0
    highest: float = np.inf  # bound outside
    resting: Indices = field(
        default_factory=lambda: _NO_ROWS
    )  # outside only because they were heard lately
    fractions: Vector = field(default_factory=lambda: _NO_VALUES)  # up to which that holds
    _comparisons: WeakKeyDictionary[View, tuple[float, float]] = field(
        default_factory=WeakKeyDictionary
    )
    _wide: list[SingleVector] = field(default_factory=list)

    def bounds_now(self, view: View, table: SongTable) -> Vector:
        """Return what none of its songs exceeds: bound + drift·|x|, as if never heard."""
        norms = table.norms[self.rows].astype(np.float64)
        # No drift moves a song without features, not even an infinite one.
        room = np.multiply(self._drift(view), norms, out=np.zeros_like(norms), where=norms > 0)
        return np.asarray(self.anchor.unit * (self.bounds + room))

    def closer_now(self, view: View, table: SongTable, places: Indices) -> Vector:
        """Return the same for the songs at some places, from a product of each with the centres.

        So the centres are where they are now, and only the spread is that of the anchor:
        max_k c_k'x + g·√(x'Fx) + slack·|x|.
        """
        unit, rows, grown = self.anchor.unit, self.rows[places], self._compared(view)[0]
        with np.errstate(under="ignore"):
            centres = view.centres / unit
            longest = float(np.sqrt(np.einsum("kp,kp->k", centres, centres).max()))
            if not (grown < _FARTHEST and longest < _FARTHEST):
                return np.full(len(places), np.inf)
            single = table.single[rows] @ np.ascontiguousarray(centres.T, dtype=np.float32)
            off = view.slack / unit + 2 * self.anchor.rounding * longest + 1e-9
            wide = self.widths(table)[places].astype(np.float64)
            room = off * table.norms[rows].astype(np.float64)
            return np.asarray(unit * (single.max(axis=1) + grown * wide + room))

    def widths(self, table: SongTable) -> SingleVector:
        """Return what none of its songs' √(x'Fx) exceeds, worked out when first asked for."""
        if not self._wide:
            self._wide.append(read_only(self.anchor.widths(table, self.rows)))
        return self._wide[0]

    def outside(self, view: View) -> float:
        """Return what no song outside exceeds that has not woken; −∞ if there are none."""
        if self.limit == np.inf:
            return -np.inf
        drift = self._drift(view)
        margin = self.limit - (max(drift, 0.0) if len(self.resting) else drift)
        length = self.shortest if margin > 0 else self.longest
        most = min(self.reference - margin * length, self.highest + max(drift, 0.0) * self.longest)
        return self.anchor.unit * most

    def _drift(self, view: View) -> float:
        """Return the anchor's drift, which is worked out once for each question."""
        return self._compared(view)[1]

    def _compared(self, view: View) -> tuple[float, float]:
        """Return how far the spread has grown, and the drift."""
        if (known := self._comparisons.get(view)) is None:
            grown = view.growth(self.anchor)
            known = self._comparisons[view] = (grown, self.anchor.drift(view, grown))
        return known

    def woken(self, view: View, songs: Songs) -> Indices:
        """Return the songs that have recovered too far since to be left outside."""
        if not len(self.resting):
            return self.resting
        return self.resting[view.recovered(songs.elapsed_of(self.resting)) > self.fractions]

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        at_rest = self.resting.nbytes + self.fractions.nbytes
        wide = sum(each.nbytes for each in self._wide)
        return self.rows.nbytes + self.bounds.nbytes + at_rest + wide + self.anchor.nbytes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heard:
    """Songs of a list that were heard: their places in it, and what fraction to count with."""

    places: Indices
    fractions: Vector

    @classmethod
    def among(cls, rows: Indices | None, songs: Songs, view: Expectation) -> Heard:
        """Return those of `rows`, or of all songs, that were heard."""
        heard = songs.heard
        places = heard
        if rows is not None:
            places = np.minimum(np.searchsorted(rows, heard), len(rows) - 1)
            found = rows[places] == heard
            heard, places = heard[found], places[found]
        later = np.minimum(songs.elapsed_of(heard) + _REST, songs.longest)
        return cls(places=places, fractions=view.recovered(later))


def shortlist(
    table: SongTable,
    anchor: Anchor,
    bounds: SingleVector,
    size: int,
    rows: Indices | None = None,
    heard: Heard | None = None,
    threshold: float = np.inf,
) -> Level:
    """Return the songs of the catalogue, or those of `rows`, that could be best.

    `bounds` are the anchor's; some are made closer, in place: if it is known what songs must reach
    to be chosen, about as many as reach it.
    """
    count = len(table) if rows is None else len(rows)
    norms = table.norms if rows is None else table.norms[rows]
    if count <= size:
        every = np.arange(count) if rows is None else rows
        return Level(anchor=anchor, rows=read_only(every), bounds=read_only(bounds))
    reaching = int(np.count_nonzero(bounds >= threshold / anchor.unit))
    closer = _largest(bounds, max(_CLOSER * size, min(reaching, int(_MOST_CLOSER * count))))
    places = closer if rows is None else rows[closer]
    bounds[closer] = np.minimum(bounds[closer], anchor.close_bounds(table, places))
    now = _discounted(bounds, heard)
    reference = np.sort(now[closer])[-(1 + size // _BEST)]
    with np.errstate(over="ignore", under="ignore"):
        margins = (reference - now) / norms
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[np.argpartition(margins, size)[:size]] = True
    outside = ~chosen
    lengths = norms[outside]
    # A difference and a quotient in single precision are right to 2⁻²⁴ of themselves each.
    limit = float(margins[outside].min())
    limit -= 1e-6 * abs(limit)
    # So is what follows from them, but for their sum, which is rounded once more.
    room = 4e-7 * abs(float(reference))
    allowed = (float(reference) - room) - limit * norms
    resting, fractions = _at_rest(heard, outside, bounds, allowed)
    inside = np.flatnonzero(chosen)
    return Level(
        anchor=anchor,
        rows=read_only(inside if rows is None else rows[inside]),
        bounds=read_only(bounds[inside]),
        reference=float(reference),
        limit=limit,
        shortest=float(lengths.min()),
        longest=float(lengths.max()),
        highest=_rounded_up(float(np.minimum(bounds, allowed)[outside].max())) + 2 * room,
        resting=read_only(resting if rows is None else rows[resting]),
        fractions=frozen(fractions),
    )


def _rounded_up(value: float) -> float:
    return value + 1e-6 * abs(value)


def _discounted(bounds: SingleVector, heard: Heard | None) -> SingleVector:
    """Return the bounds, of songs heard lately only a fraction if that is less."""
    if heard is None or not len(heard.places):
        return bounds
    now = bounds.copy()
    of_heard = bounds[heard.places]
    now[heard.places] = np.where(of_heard > 0, heard.fractions * of_heard * (1 + 1e-6), of_heard)
    return now


def _at_rest(
    heard: Heard | None,
    outside: np.ndarray[tuple[int], np.dtype[np.bool_]],
    bounds: SingleVector,
    allowed: SingleVector,
) -> tuple[Indices, Vector]:
    """Return the places outside whose bounds are above what is allowed there, with fractions."""
    if heard is None or not len(heard.places):
        return _NO_ROWS, _NO_VALUES
    places = heard.places[outside[heard.places] & (bounds[heard.places] > allowed[heard.places])]
    fractions = allowed[places] / bounds[places].astype(np.float64) * (1 - 1e-6)
    return places, fractions


def _largest(values: SingleVector, count: int) -> Indices:
    """Return the places of the `count` largest values, rising."""
    if count >= len(values):
        return np.arange(len(values))
    return np.sort(np.argpartition(values, len(values) - count)[len(values) - count :])
