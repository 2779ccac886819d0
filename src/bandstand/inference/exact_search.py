"""The songs with the largest exact quantiles, without looking at all of them.

Shortlists (`shortlist/levels.py`) hold all songs that could be chosen, and one number bounds all
others. Of the shortest one a few songs are computed exactly; if the last of those to be returned
beats that number, the answer is certain. Otherwise shortlists are made anew, from the inside out,
and if that is not enough, as with filters that leave few songs, every song is bounded once.

Heard songs. u(t) only grows with t, so each component's quantile is at most that of the same song
never heard, or 0 if that is negative. While the value to beat is positive, what holds for the
songs outside therefore holds for those that were heard as well; otherwise all of them are
looked at one by one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand.inference.exact_belief import Thought
from bandstand.inference.foresight import ForeseeingView
from bandstand.inference.found_songs import FIRST_LOOK, FoundSongs
from bandstand.inference.outlook import Outlook
from bandstand.inference.rough_look import RoughLook
from bandstand.inference.shortlist.anchor import Anchor
from bandstand.inference.span_look import SpanLook
from bandstand.model.allowed import is_among

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.inference.exact_prediction import ExactPrediction
    from bandstand.inference.search_memory import SearchMemory
    from bandstand.inference.shortlist.levels import Levels
    from bandstand.inference.song_table import SingleVector
    from bandstand.model.allowed import Allowed
    from bandstand.types import Indices, Vector

# So many songs of a shortlist should be allowed before it is tried.
_WORTH_TRYING: Final = 24
# With such a share of the shortest list's songs they are simply looked at.
_FEW: Final = 8
# Songs bounded more closely at a time, and of them those that are looked at first.
_CHUNK: Final = 2_048
_FIRST_CHUNK: Final = 32
_NEXT_CHUNK: Final = 256
_TOO_MANY: Final = 512
_SOON: Final = 12
# More songs are looked at roughly before; of this many times the shortest list most are excluded
# even before that, after a look at the likeliest.
_MANY: Final = 64
_CROWD: Final = 4
_LIKELIEST: Final = 32
_WIDEST: Final = 1e100


def search(
    prediction: ExactPrediction, memory: SearchMemory, level: float, count: int, allowed: Allowed
) -> Indices | None:
    """Return the rows of the `count` largest quantiles among `allowed`, or None if not worth it."""
    if allowed.most <= 4 * (count + FIRST_LOOK) or count <= 0:
        return None
    if count == 1 and prediction.belief.freedom > 1:
        planned = _next_of_playlist(prediction, memory, level, allowed)
        if planned is not None:
            return planned
    view = ForeseeingView(prediction.belief, level, prediction.songs.longest)
    if prediction.belief.freedom <= 1 or not abs(view.reach) < _WIDEST:
        return None
    found = FoundSongs(prediction, memory, view, count, allowed)
    _Question(found, view).answer()
    best = found.best()
    view.next = _answered_next(prediction, best)
    return best


def _answered_next(prediction: ExactPrediction, best: Indices) -> Thought | None:
    """Return the song that will be rated next: the one that plays, or else the one chosen."""
    if prediction.belief.thoughts:
        return prediction.belief.thoughts[0]
    if len(best) != 1:
        return None
    features, elapsed = prediction.songs.features_of(best), prediction.songs.elapsed_of(best)
    return Thought(features=features[0], elapsed=float(elapsed[0]))


def _next_of_playlist(
    prediction: ExactPrediction, memory: SearchMemory, level: float, allowed: Allowed
) -> Indices | None:
    """Return the best song after others were heard in thought, if an outlook tells which it is."""
    if not memory.is_playlist(prediction.belief):
        return None
    outlook = memory.outlook
    if outlook is not None and outlook.covers(prediction, level, allowed):
        best = outlook.best(prediction, memory, level, allowed)
        if best is not None:
            memory.outlook = outlook.after(prediction.belief)
            return best
    memory.outlook = Outlook.of(
        prediction, memory, level, allowed, lambda found: _Question(found).answer()
    )
    if memory.outlook is None:
        return None
    return memory.outlook.best(prediction, memory, level, allowed)


class _List(NamedTuple):
    """Songs that are allowed, what none of them exceeds if never heard, and what says so closer."""

    rows: Indices
    bounds: Vector
    closer: Callable[[Indices], Vector]  # of the songs at some places


class _Question:
    """Which songs must be looked at, so that no other one could be returned."""

    def __init__(self, found: FoundSongs, asked: ForeseeingView | None = None) -> None:
        """Ask for what is found; `asked` is its view, if there will be another question."""
        self.found, self.view, self.memory = found, found.view, found.memory
        self._asked = asked
        self.allowed, self.songs = found.allowed, found.songs
        self._anchor: Anchor | None = None  # of this question, once there is one

    @cached_property
    def rough(self) -> RoughLook | None:
        """What bounds many songs quickly, where there is such a thing."""
        return RoughLook.of(self.view)

    def answer(self) -> None:
        """Look at songs until no other one could be returned."""
        if self._are_few():
            self.found.look(self.allowed.rows())
            return
        self.found.look_at_known()
        self._look_at_others()
        self.memory.among_all.just_read = None  # it would take as much room for every listener

    def _look_at_others(self) -> None:
        levels = self.memory.filtered(self.allowed, make=False) or self.memory.among_all
        if self.is_certain(levels):
            return
        if levels is self.memory.among_all:
            filtered = self.memory.filtered(self.allowed, make=True)
            if filtered is not None and self.is_certain(filtered):
                return
            levels = filtered or levels
        needed = self.look_at_all(levels)
        if self.found.threshold > -np.inf:
            levels.learn(needed)
            if self._asked is not None:
                levels.foresee(self._asked, self.songs, self.found.threshold)

    def _are_few(self) -> bool:
        """Return whether it is quicker to look at all songs that are allowed."""
        shortest, most = self.memory.sizes[-1], self.allowed.most
        is_filtered = self.allowed.mask is not None or self.allowed.listed is not None
        return most <= (2 * shortest if is_filtered else shortest // _FEW)

    def is_certain(self, levels: Levels) -> bool:
        """Look at the songs of shortlists; return whether no other one could be returned."""
        if not self._take_up(levels):
            return False
        made_now = len(levels.levels)  # the levels from this number on
        if made_now < len(levels.sizes):
            self._renew(levels, made_now)
        while True:
            looked_at, some = self._shortest_list(levels)
            hopeful = self._hopeful(some)
            if len(hopeful[0]) > _TOO_MANY or self.found.threshold == -np.inf:
                self._look_at_first(some, hopeful[0])
                hopeful = self._hopeful(some)
            needed, failed = len(hopeful[0]), self._failed(levels, looked_at)
            # A list that has failed already is not worth many looks, if a new one can be made.
            if not failed or failed[0] >= made_now or needed <= _TOO_MANY:
                needed = self._look_by(some, *hopeful)
                self.look(levels.woken(self.view, self.songs, looked_at))
                failed = self._failed(levels, looked_at)
            if not failed:
                levels.be_of_use()
                self._note(levels, needed)
                self.look_at_heard()
                # If many of its songs had to be looked at, it is made anew the next time.
                if needed > _TOO_MANY and 0 < looked_at < made_now:
                    del levels.levels[looked_at:]
                return True
            if failed[0] < made_now:
                made_now = failed[0]
                self._renew(levels, made_now)
            elif failed[0] == 0:
                self._anchor = levels.levels[0].anchor
                levels.be_in_vain()
                return False
            else:
                around, made = levels.levels[failed[0] - 1 : failed[0] + 1]
                needed = self.look_in_order(self._allowed(around.rows), made.anchor)
                levels.learn(needed, failed[0])
                self._note(levels, needed)
                self.look_at_heard()
                return True

    def _take_up(self, levels: Levels) -> bool:
        """Return whether shortlists are worth a try, with what was prepared for this question."""
        is_asked = self._asked is not None
        if not (levels.are_worth_it or (is_asked and levels.is_prepared)):
            levels.count_pause()
            return False
        if is_asked:
            levels.take_prepared()
        levels.count_question()
        return True

    def _renew(self, levels: Levels, first: int) -> None:
        is_asked = self._asked is not None
        levels.renew(self.view, first, self.songs, self._reached, is_asked=is_asked)

    def _note(self, levels: Levels, needed: int) -> None:
        if self._asked is not None:
            levels.note(self._asked, self.songs, self.found.threshold, needed)

    @property
    def _reached(self) -> float:
        """What a song must reach to be returned, or infinity as long as that is not known."""
        threshold = self.found.threshold
        return threshold if threshold > -np.inf else np.inf

    def _failed(self, levels: Levels, last: int) -> list[int]:
        """Return the levels up to `last` that leave out songs which could be returned."""
        outside = levels.outside(self.view)[: last + 1]
        # What is not known to be below, not even as a number, has failed.
        return [number for number, value in enumerate(outside) if not value < self.found.threshold]

    def _shortest_list(self, levels: Levels) -> tuple[int, _List]:
        """Return the number and the songs of the shortest list in which enough are allowed."""
        for number in range(len(levels.levels) - 1, -1, -1):
            level = levels.levels[number]
            places = np.flatnonzero(self.allowed.holds(level.rows))
            if len(places) >= self.found.count + _WORTH_TRYING or number == 0:
                break
        bounds = level.bounds_now(self.view, self.memory.table)[places]

        def closer(some: Indices) -> Vector:
            return level.closer_now(self.view, self.memory.table, places[some])

        return number, _List(level.rows[places], bounds, closer)

    def look(self, rows: Indices) -> None:
        """Look at those of some songs that are allowed."""
        self.found.look(self._allowed(rows))

    def look_at_heard(self) -> None:
        """Look at the songs that were heard, unless what holds for the others covers them."""
        if self.found.threshold <= 0:
            self.look(self.songs.heard)

    def look_at_all(self, levels: Levels) -> int:
        """Bound every allowed song once, look at those that could be returned; return how many."""
        rows, anchor = self.allowed.rows(), self._anchor
        if anchor is not None and levels.just_read is not None:
            return self.look_in_order(rows, anchor, levels.just_read[rows])
        self.memory.counters.passes += 1
        return self.look_in_order(rows, anchor or Anchor.of(self.view))

    def look_in_order(
        self, rows: Indices, anchor: Anchor, known: SingleVector | None = None
    ) -> int:
        """Look at those that could be returned, and return how many they were.

        Those with the highest bound of `anchor` come first; it must be that of this question, and
        may be known already.
        """
        single = anchor.bounds(self.memory.table, rows) if known is None else known
        bounds = anchor.unit * single.astype(np.float64)

        def closer(some: Indices) -> Vector:
            close = anchor.close_bounds(self.memory.table, rows[some])
            return np.asarray(anchor.unit * close.astype(np.float64))

        some = _List(rows, bounds, closer)
        if self.found.threshold == -np.inf:
            self._look_at_first(some, self._hopeful(some)[0])
        return self._look_by(some, *self._hopeful(some)) + len(self.found.settled)

    def _at_rest(self, rows: Indices, bounds: Vector) -> Vector:
        """Return bounds, of songs heard lately the fraction that they have recovered."""
        elapsed = self.songs.elapsed_of(rows)
        heard = np.flatnonzero(elapsed < self.songs.longest)
        if len(heard):
            recovered = self.view.recovered(elapsed[heard])
            # One that has not recovered at all is worth nothing, however loose its bound is.
            of_heard = np.where(recovered > 0, bounds[heard], 0.0)
            bounds[heard] = np.maximum(recovered * of_heard, 0.0)
        return bounds

    def _hopeful(self, some: _List) -> tuple[Indices, Vector]:
        """Return the places of songs that could be returned, and the bounds: the highest first."""
        # Nobody is worth more for having been heard, unless that is less than nothing.
        places = np.flatnonzero(np.maximum(some.bounds, 0.0) >= self.found.threshold)
        places = places[~is_among(some.rows[places], self.found.settled)]
        if len(places) > _CROWD * self.memory.sizes[-1]:
            places = self._thinned(some.rows, places)
        threshold = self.found.threshold
        bounds = self._at_rest(some.rows[places], some.bounds[places])
        order = np.argsort(-bounds)
        order = order[: np.count_nonzero(bounds >= threshold)]
        return places[order], bounds[order]

    def _thinned(self, rows: Indices, places: Indices) -> Indices:
        """Return those of many songs that could be returned, after a look at the likeliest."""
        value, table = self.found.threshold, self.memory.table
        coarse = SpanLook.of(self.view) if value > 0 else None
        if coarse is None:
            return places
        above = coarse.above(table, rows[places], value)
        likely = places[np.argsort(-above)[:_LIKELIEST]]
        self.found.look(np.sort(rows[likely]))
        left = places[above >= coarse.least]
        may = coarse.finer().may_reach(table, rows[left], self.found.threshold)
        return np.asarray(left[may])

    def _look_at_first(self, some: _List, places: Indices) -> None:
        """Look at a few songs of the highest bounds, so that others need no look."""
        places = places[:_NEXT_CHUNK]
        close = self._at_rest(some.rows[places], some.closer(places))
        first = np.argsort(-close)[:_FIRST_CHUNK]
        first = first[close[first] >= self.found.threshold]
        self.found.look(some.rows[np.sort(places[first])])

    def _look_by(self, some: _List, places: Indices, bounds: Vector) -> int:
        """Look at those whose bounds allow them to be returned, and return how many they were."""
        start, size, needed = 0, _NEXT_CHUNK, 0
        while start < len(places) and bounds[start] >= self.found.threshold:
            part = slice(start, start + size)
            chosen = places[part][bounds[part] >= self.found.threshold]
            rows = some.rows[chosen]
            if len(chosen) > _MANY and self.rough is not None:
                close = self.rough.upper(self.memory.table, rows, self.found.threshold)
            else:
                close = some.closer(chosen)
            close = self._at_rest(rows, close)
            count = int(np.count_nonzero(close >= self.found.threshold))
            # With a few that must be looked at come those that soon will have to be.
            more = count + _SOON if 0 < count <= _SOON else count
            self.found.look(np.sort(rows[np.argsort(-close)[:more]]))
            start, size, needed = start + size, min(2 * size, _CHUNK), needed + count
        return needed

    def _allowed(self, rows: Indices) -> Indices:
        return np.asarray(rows[self.allowed.holds(rows)])
