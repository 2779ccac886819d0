"""Shortlists within shortlists: each is made from the one around it, and only when it has to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand.inference.shortlist.anchor import Anchor
from bandstand.inference.shortlist.level import Heard, Level, shortlist
from bandstand.inference.shortlist.lookahead import Lookahead

if TYPE_CHECKING:
    from bandstand.domain import Songs
    from bandstand.inference.shortlist.outline import Asked, Expectation, View
    from bandstand.inference.song_table import SingleVector, SongTable
    from bandstand.model.allowed import Allowed
    from bandstand.types import Indices, Vector

__all__ = ["Counters", "Level", "Levels"]

# Songs that are asked what the best ones are like, before anything is known about the catalogue.
_SAMPLE: Final = 1_024
_BEST: Final = 32
# The outermost level is made larger where that is not enough, up to such a share of all songs.
_LARGEST_SHARE: Final = 0.05
# A level within another should serve for so many questions, or it is too short.
_SHORT_LIFE: Final = 6
# New levels are made ahead of time if only this share is left of what they were enough by, or what
# so many steps take; a large step is forgotten slowly.
_LITTLE: Final = 0.25
_FEW_STEPS: Final = 4.0
_FADING: Final = 0.8
# After so many questions it is tried again at the latest whether shortlists are enough.
_LONGEST_PAUSE: Final = 15


@dataclass(slots=True)
class Counters:
    """What it cost; the numbers only grow."""

    passes: int = 0  # over the whole matrix, or all songs of a filter
    passes_ahead: int = 0  # the same before anybody had to wait for it
    narrowings: int = 0  # of a shortlist to a shorter one
    looked_at: int = 0  # songs whose exact quantile was worked out


class Thinning(NamedTuple):
    """By how much shortlists were enough when they were new, last time, and what a step takes."""

    first: float = np.inf
    last: float = np.inf
    step: float = 0.0

    def after(self, slack: float, *, is_new: bool) -> Thinning:
        """Return the same after another question."""
        if is_new or self.last == np.inf:
            return Thinning(slack, slack)
        return Thinning(self.first, slack, max(_FADING * self.step, self.last - slack))

    @property
    def is_thin(self) -> bool:
        """Whether little is left, or no more than a few steps take."""
        return self.last < max(_LITTLE * self.first, _FEW_STEPS * self.step)


class _Prepared(NamedTuple):
    """Levels that were made before they were needed: for whatever the next answer was, or not."""

    levels: list[Level]
    is_expected: bool


class Levels:
    """The shortlists of one listener, the outermost first; brought up to date by `renew`."""

    def __init__(
        self,
        table: SongTable,
        sizes: tuple[int, ...],
        counters: Counters,
        allowed: Allowed | None = None,
    ) -> None:
        count = len(table) if allowed is None else allowed.most
        self.table, self.allowed, self.counters = table, allowed, counters
        self.sizes = tuple(size for size in sizes if 2 * size <= count) or (count,)
        self.levels: list[Level] = []
        # What no song of the catalogue exceeds in units of the first level, if that was just made.
        self.just_read: SingleVector | None = None
        self._most = max(_LARGEST_SHARE * count, self.sizes[0])
        self._needed = 0
        self._asked = 0
        self._pause = self._waits = 0  # questions until they are tried again
        self._made = [-_SHORT_LIFE] * len(self.sizes)
        self._thinning = Thinning()
        # For what new ones should be made, and what was made.
        self._foresight: tuple[Asked, Songs, float] | None = None
        self._prepared: _Prepared | None = None
        self._prepared_for: object = None
        self._lookahead = Lookahead()
        self._replaced: Level | None = None  # the outermost before what was prepared

    @property
    def nbytes(self) -> int:
        """The size of what is kept."""
        prepared, replaced = self._prepared, self._replaced
        others = [] if prepared is None else prepared.levels
        every = [*self.levels, *others, *([] if replaced is None else [replaced])]
        return sum(level.nbytes for level in every)

    def woken(self, view: View, songs: Songs, last: int) -> Indices:
        """Return the songs that the levels up to number `last` can leave out no longer."""
        woken = [level.woken(view, songs) for level in self.levels[: last + 1]]
        return np.unique(np.concatenate(woken))

    def count_question(self) -> None:
        """Remember that another question was asked: levels should serve for several."""
        self._asked += 1
        self._lookahead.count_question()

    def outside(self, view: View) -> list[float]:
        """Return for each level what no song that it leaves out exceeds."""
        return [level.outside(view) for level in self.levels]

    @property
    def are_worth_it(self) -> bool:
        """Whether there is a chance.

        Not if too many songs could have been chosen last time, nor soon after they were in vain.
        """
        return self._needed <= self._most and self._pause <= 0

    def count_pause(self) -> None:
        """Remember that a question was answered without them."""
        self._pause -= 1
        self._lookahead.count_question()

    def be_in_vain(self) -> None:
        """Remember that not even new ones were enough: it is not tried again for a while."""
        self._waits = min(2 * self._waits + 3, _LONGEST_PAUSE)
        self._pause = self._waits

    def be_of_use(self) -> None:
        """Remember that they were enough."""
        self._waits = self._pause = 0

    def learn(self, needed: int, number: int = 0) -> None:
        """Make a level longer that was too short: so many songs could have been chosen.

        One that would be no much shorter than that around it is left out.
        """
        if number == 0:
            self._needed, self._prepared_for = needed, None
            if not self.are_worth_it:
                return
        size = max(2 * needed, self.sizes[number] + 1)
        around = self.sizes[number - 1] if number else len(self.table)
        longer = (size,) if 2 * size <= around else ()
        inner = tuple(each for each in self.sizes[number + 1 :] if 2 * each <= size)
        self.sizes = (*self.sizes[:number], *longer, *inner) or self.sizes
        del self.levels[number:]

    def renew(
        self,
        view: View,
        first: int,
        songs: Songs | None = None,
        threshold: float = np.inf,
        *,
        is_asked: bool = True,
    ) -> None:
        """Make the level of number `first`, and all within it, anew for a belief.

        Of `songs`, those that were heard lately are left out as far as they are at rest. What
        reaches the threshold is bounded more closely, so that as little as can be remains outside.
        What is not asked, but thought of, says nothing of the next answer.
        """
        self._lengthen(first)
        if is_asked:
            self._foresight = None
            if first == 0 and self._asked - self._made[0] < _SHORT_LIFE:
                self._lookahead.begin()
        if first == 0:
            self._prepared_for = None
        self.counters.passes += first == 0
        self.counters.narrowings += len(self.sizes) - max(first, 1)
        self.levels, self.just_read = self._new(view, self.levels, first, songs, threshold)
        self._made[first : len(self.levels)] = [self._asked] * (len(self.levels) - first)

    def _new(
        self,
        view: Expectation,
        known: list[Level],
        first: int,
        songs: Songs | None,
        threshold: float,
        *,
        is_expected: bool = False,
    ) -> tuple[list[Level], SingleVector | None]:
        """Return new levels from number `first` on, within those before it; nothing is changed.

        And what no song of the catalogue exceeds, if all of it was read.
        """
        typical = None if is_expected else self._typical(view, known)
        anchor, made = Anchor.of(view, typical), known[:first]
        all_bounds: SingleVector | None = None
        sizes = self.sizes[first:]
        if is_expected:
            count = len(self.table) if self.allowed is None else self.allowed.most
            sizes = self._lookahead.sizes(self.sizes, count)
        for size in sizes:
            rows: Indices | None = None
            if made:
                rows = made[-1].rows
            elif self.allowed is not None:
                rows = self.allowed.rows()
            heard = None if songs is None else Heard.among(rows, songs, view)
            bounds = anchor.bounds(self.table, rows)
            if rows is None:
                all_bounds = bounds
            made.append(shortlist(self.table, anchor, bounds, size, rows, heard, threshold))
        return made, all_bounds

    # ── Reading all songs before it must be ──────────────────────────────────────────────

    def note(self, view: Asked, songs: Songs, threshold: float, needed: int) -> None:
        """Remember by how much they were enough, and whether they soon will not be.

        `needed` of their songs had to be looked at: if those are many, little was spared by them.
        """
        is_new = self._made[0] == self._asked
        self._lookahead.be_enough(needed)
        self._needed = needed
        self._thinning = self._thinning.after(
            threshold - self.levels[0].outside(view), is_new=is_new
        )
        soon = self._thinning.is_thin and self._asked - self._made[0] >= _SHORT_LIFE
        if self._replaced is not None and self._lookahead.looks_back:
            self._lookahead.look_back(is_spared=self._replaced.outside(view) < threshold)
        self._replaced = None
        self._foresight = (view, songs, threshold) if soon or self._lookahead.is_on else None

    def foresee(self, view: Asked, songs: Songs, threshold: float) -> None:
        """Remember that they were not enough: for the next answer they are made before it."""
        self._lookahead.begin()
        self._replaced = None
        self._foresight = (view, songs, threshold) if self._lookahead.is_on else None

    @property
    def are_worn(self) -> bool:
        """Whether `prepare` has something to do."""
        foresight = self._foresight
        return (
            foresight is not None
            and self._prepared is None
            and not (self._lookahead.is_on and foresight[0].expects == self._prepared_for)
        )

    def prepare(self) -> None:
        """Make new levels for the next question, if it is time to; on any thread."""
        foresight = self._foresight
        if foresight is None or not self.are_worn:
            return
        view, songs, threshold = foresight
        later = view.after_next() if self._lookahead.is_on else None
        if later is None and not self._thinning.is_thin:
            return  # nobody knows what will be answered
        # What is read here must not pass for what a question has read meanwhile.
        is_expected, known = later is not None, list(self.levels)
        made, _ = self._new(later or view, known, 0, songs, threshold, is_expected=is_expected)
        made[-1].widths(self.table)
        self.counters.passes_ahead += 1
        if self._foresight is foresight:  # nobody has asked meanwhile
            self._prepared, self._foresight = _Prepared(made, is_expected), None
            self._prepared_for = view.expects

    @property
    def is_prepared(self) -> bool:
        """Whether there is something to take."""
        return self._prepared is not None

    def take_prepared(self) -> None:
        """Go on with what was prepared; not in the middle of a question."""
        prepared, self._prepared = self._prepared, None
        self._replaced = None
        if prepared is not None:
            self._replaced = self.levels[0] if self.levels else None
            self.levels, self._lookahead.is_tried = prepared.levels, prepared.is_expected
            count = len(prepared.levels)
            self._made[:count] = [self._asked + 1] * count

    def _lengthen(self, number: int) -> None:
        """Make a level twice as long if the last one of its length has not lasted."""
        if 0 < number < len(self.sizes) and self._asked - self._made[number] < _SHORT_LIFE:
            longer = 2 * self.sizes[number]
            if 2 * longer <= self.sizes[number - 1]:
                self.sizes = (*self.sizes[:number], longer, *self.sizes[number + 1 :])

    def _typical(self, view: Expectation, known: list[Level]) -> Vector:
        """Return the mean features of songs that are among the best, as far as one knows."""
        if known:
            around, within = known[0].rows, known[-1].rows
            some = np.concatenate([within, around[:: 1 + len(around) // _SAMPLE]])
        else:
            some = np.linspace(0, len(self.table) - 1, 4 * _SAMPLE, dtype=np.intp)
        liking = self.table.single[some] @ view.centres.mean(axis=0).astype(np.float32)
        rows = some[np.argsort(-liking)[:_BEST]]
        mean: Vector = self.table.single[rows].mean(axis=0, dtype=np.float64)
        return mean
