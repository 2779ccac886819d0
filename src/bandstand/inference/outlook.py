"""The songs that a whole playlist can come from, found once and not for each of its songs.

Songs heard in thought only make Λ larger, while what is expected stays (`ExactBelief.thoughts`). So
for levels up to a `level`, and for the next hours, all that could be chosen is among the songs
that could reach some value now: `rows`. No other one reaches the `ceiling`. Of those rows each has
a bound that holds for all that is to come, so that few quantiles are computed for each song of a
playlist: those of the highest bounds, until one of them is above all bounds that are left.

A bound that holds when scales shrink: a component centred above a value may have all of its
weight above it, however wide it is. If none is, the quantile itself is such a bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.domain import Songs
from bandstand.inference.exact_outline import ExactView
from bandstand.inference.found_songs import FoundSongs, may_reach
from bandstand.inference.known_songs import Known, KnownSongs
from bandstand.inference.thinking import go_on
from bandstand.model.allowed import Allowed, is_among

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.domain import Rows
    from bandstand.inference.close_look import CloseLook, Some
    from bandstand.inference.exact_belief import ExactBelief, Thought
    from bandstand.inference.exact_prediction import ExactPrediction
    from bandstand.inference.search_memory import SearchMemory
    from bandstand.types import AnyArray, Indices, Vector

# It is made for so many minutes, and for the levels of so many songs more.
_MINUTES: Final = 300.0
_SONGS: Final = 64
# As many songs as that should reach the ceiling, and no more than these are kept.
_WANTED: Final = 72
_MOST: Final = 112
# Quantiles computed at a time.
_BATCH: Final = 8


class SongsLater(Songs):
    """The same songs some minutes later, none of them heard in the meantime."""

    def __init__(self, songs: Songs, minutes: float) -> None:
        object.__setattr__(self, "features", songs.features)
        self.__dict__.update(_songs=songs, _minutes=minutes, longest=songs.longest)
        self.__dict__["heard"] = songs.heard[self.elapsed_of(songs.heard) < songs.longest]

    _songs: Songs
    _minutes: float

    def elapsed_of(self, rows: Rows) -> Vector:
        """Return the minutes since each of the songs in `rows` was heard: (n,)."""
        return np.minimum(self._songs.elapsed_of(rows) + self._minutes, self.longest)


class SongsAbove(FoundSongs):
    """The songs that could reach a value, none of which is computed."""

    def __init__(self, *args: Any, ceiling: float) -> None:
        super().__init__(*args)
        self.threshold = ceiling
        self.uppers: Vector = np.empty(0)

    def look_at_known(self) -> None:
        """Look at none of them before others."""

    def look_as_new(self, known: KnownSongs) -> Some:
        """Return what is known of songs, as if they had never been heard."""
        every = np.full(len(known), self.view.longest)
        return self.close.look_at_known(
            every, known.features, known.content, known.variances, known.steps
        )

    def _settle(self, rows: Indices, some: Some, *_: Any, **__: Any) -> Vector:
        upper, sure = self.close.upper(some, self.threshold)
        hopeful = may_reach(self.close, some, upper, sure, self.threshold)
        self.rows = np.concatenate([self.rows, rows[hopeful]])
        self.uppers = np.concatenate([self.uppers, upper[hopeful]])
        return upper


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlook:
    """What was found for one belief; songs heard in thought may be added to it."""

    view: ExactView  # of the highest level
    allowed: Allowed  # what is marked or listed
    rows: Indices  # rising
    uppers: Vector  # as if they had never been heard, by their components
    may_shrink: AnyArray  # whether no component is centred above the quantile
    shrinking: Vector  # the same bounds, by the quantiles of those; made closer as thoughts go on
    ceiling: float
    witness: tuple[int, float] | None  # a song outside, and the minutes until which this holds
    close: CloseLook  # of that view, which thoughts leave as it is but for Λ
    thoughts: tuple[Thought, ...]  # of the last question: bounds hold for those that go on from it

    @classmethod
    def of(
        cls,
        prediction: ExactPrediction,
        memory: SearchMemory,
        level: float,
        allowed: Allowed,
        answer: Any,
    ) -> Outlook | None:
        """Return the outlook from here, or None; `answer` answers a question for songs found."""
        highest = 1 - 1 / (1 / (1 - level) + _SONGS)
        songs = SongsLater(prediction.songs, _MINUTES)
        view = ExactView(prediction.belief, highest, songs.longest)
        fixed = Allowed(count=allowed.count, mask=allowed.mask, listed=allowed.listed)
        ceiling = _ceiling(FoundSongs(prediction, memory, view, 1, fixed), songs)
        # Below zero a song heard lately is worth more than later, not less.
        if view.reach <= 0 or ceiling is None or ceiling <= 0:
            return None
        found = SongsAbove(prediction, memory, view, 1, fixed, ceiling=ceiling)
        found.songs = songs
        answer(found)
        return cls._kept(found, fixed)

    @classmethod
    def _kept(cls, found: SongsAbove, fixed: Allowed) -> Outlook | None:
        """Return the outlook of what was found; those songs are the ones known from now on."""
        rows, places = np.unique(found.rows, return_index=True)
        uppers, ceiling = found.uppers[places], found.threshold
        if len(rows) > _MOST:
            ceiling = max(ceiling, float(np.partition(uppers, -_MOST)[-_MOST]))
            rows = rows[uppers > ceiling]
        if not len(rows):
            return None
        known, view = found.memory.known, found.view
        get_to_know(found.prediction, known, rows)
        some = found.look_as_new(known)
        uppers, sure = found.close.upper(some)
        values = _quantiles_of_new(found.prediction, known, view)
        may_shrink = sure & ((view.curves * known.content).max(axis=1) < values)
        known.promise[:] = np.where(may_shrink, np.minimum(values, uppers), uppers)
        return cls(
            view=view,
            allowed=fixed,
            rows=rows,
            # Songs heard lately may need a finer grid than they do as new ones.
            uppers=found.close.upper_on_any_grid(some),
            may_shrink=may_shrink,
            shrinking=known.promise.copy(),
            ceiling=ceiling,
            witness=_witness(found.prediction.songs, rows),
            close=found.close,
            thoughts=found.prediction.belief.thoughts,
        )

    def covers(self, prediction: ExactPrediction, level: float, allowed: Allowed) -> bool:
        """Return whether it holds for a question."""
        same = self.allowed.mask is allowed.mask and self.allowed.listed is allowed.listed
        if not same or prediction.belief.learnt is not self.view.belief.learnt:
            return False
        if not go_on(self.thoughts, prediction.belief.thoughts):
            return False
        if not 0.5 < level <= self.view.level or prediction.songs.longest != self.view.longest:
            return False
        # Between the nodes of a grid variances bend the more the sooner songs are heard again.
        if min(each.elapsed for each in prediction.belief.thoughts) < self.view.shortest:
            return False
        if self.witness is None:
            return True
        row, until = self.witness
        return bool(prediction.songs.elapsed_of(np.array([row]))[0] <= until)

    def after(self, belief: ExactBelief) -> Outlook:
        """Return the outlook after a question: its bounds may have been brought down by it."""
        return replace(self, thoughts=belief.thoughts)

    def best(
        self, prediction: ExactPrediction, memory: SearchMemory, level: float, allowed: Allowed
    ) -> Indices | None:
        """Return the row of the largest quantile; None if another song might have a larger one."""
        known, songs = memory.known, prediction.songs
        known.follow(prediction.belief)
        places = np.flatnonzero(allowed.holds(self.rows))
        if not np.array_equal(known.rows, self.rows) or not len(places):
            return None
        elapsed = songs.elapsed_of(self.rows)
        bounds = self._bounds(elapsed)
        found = FoundSongs(prediction, memory, self.view, 1, allowed)

        def look(some: Indices) -> None:
            found.take(
                self.rows[some],
                prediction.quantile_given(
                    known.content[some], known.variances[some], elapsed[some], level
                ),
            )

        # Songs heard lately come last: their bounds are far above them, and they take long.
        is_heard = elapsed < self.view.longest
        order = places[np.lexsort([-bounds[places], is_heard[places]])]
        look(order[: 1 if is_heard[order[0]] else _BATCH])
        rest = order[~is_among(self.rows[order], np.sort(found.rows))]
        rest = rest[bounds[rest] >= found.threshold]
        if not is_heard[rest].all():
            self._bring_down(prediction, known)
            rest = rest[self._bounds(elapsed)[rest] >= found.threshold]
        if len(rest):
            self._look_one_by_one(found, known, elapsed, rest, level, look)
        return found.best() if self.ceiling < found.threshold else None

    def _look_one_by_one(
        self,
        found: FoundSongs,
        known: KnownSongs,
        elapsed: Vector,
        places: Indices,
        level: float,
        look: Callable[[Indices], None],
    ) -> None:
        """Look at those songs that could be best, the most likely first, until no other could.

        Bounds exclude most songs, and a test many of the others: whether enough of a mixture lies
        above a value is known at once, and its quantile only after several such looks.
        """
        prediction = found.prediction
        some = self.close.look_at_known(
            elapsed[places],
            known.features[places],
            known.content[places],
            known.variances[places],
            known.steps + len(prediction.belief.thoughts),
        )
        upper, sure = self.close.upper(some, found.threshold)
        left = np.flatnonzero(may_reach(self.close, some, upper, sure, found.threshold))
        order = left[np.argsort(-self.close.guess(some)[left])]
        left = places[order]
        while len(left):
            given = known.content[left], known.variances[left], elapsed[left]
            left = left[prediction.may_reach(found.threshold, *given, level)]
            look(left[:1])
            left = left[1:]

    def _bounds(self, elapsed: Vector) -> Vector:
        """Return what no song exceeds now that was heard so many minutes ago."""
        at_rest = np.maximum(self.view.recovered(elapsed) * self.uppers, 0.0)
        return np.where(elapsed < self.view.longest, at_rest, self.shrinking)

    def _bring_down(self, prediction: ExactPrediction, known: KnownSongs) -> None:
        """Make the bounds closer, from what the songs heard in thought since have taken."""
        values = _quantiles_of_new(prediction, known, self.view)
        lower = np.where(self.may_shrink, values, self.shrinking)
        np.minimum(self.shrinking, lower, out=self.shrinking)


def _ceiling(found: FoundSongs, songs: Songs) -> float | None:
    """Return a value that about as many songs reach as are wanted, if shortlists tell."""
    levels = found.memory.filtered(found.allowed, make=False) or found.memory.among_all
    if not levels.levels or len(levels.levels[-1].rows) < _WANTED:
        return None
    level = levels.levels[-1]
    bounds = level.bounds_now(found.view, found.memory.table)
    bounds = np.maximum(found.view.recovered(songs.elapsed_of(level.rows)) * bounds, 0.0)
    likely = np.sort(np.argsort(-bounds)[: 4 * _WANTED])
    found.songs = songs
    guess = np.sort(found.close.guess(found.close.look(level.rows[likely])))[::-1]
    outside = max(each.outside(found.view) for each in levels.levels[:1])
    return max(float(guess[min(_WANTED, len(guess)) - 1]), outside + 1e-9 * abs(outside))


def get_to_know(prediction: ExactPrediction, known: KnownSongs, rows: Indices) -> None:
    """Let those known be just the songs in `rows`, as the belief sees them."""
    belief = prediction.belief
    known.follow(belief)
    known.keep(rows)
    new = rows[~is_among(rows, known.rows)]
    if len(new):
        features = prediction.songs.features_of(new)
        content, variances = features @ belief.means.T, belief.learnt.variances_of(features)
        known.join(belief, Known(new, features, content, variances), np.zeros(len(new)))
    known.follow(belief)


def _quantiles_of_new(prediction: ExactPrediction, known: KnownSongs, view: ExactView) -> Vector:
    """Return the quantiles of those known as if they had never been heard, and a hair more."""
    every = np.full(len(known), view.longest)
    values = prediction.quantile_given(known.content, known.variances, every, view.level)
    if values is None:
        return np.full(len(known), np.inf)
    # Rounding is far less.
    return np.asarray(values + 1e-9 * np.abs(values))


def _witness(songs: Songs, rows: Indices) -> tuple[int, float] | None:
    """Return the song outside that was heard last, and when it will have waited long enough."""
    others = songs.heard[~is_among(songs.heard, rows)]
    if not len(others):
        return None
    elapsed = songs.elapsed_of(others)
    latest = int(np.argmin(elapsed))
    return int(others[latest]), float(elapsed[latest] + _MINUTES)
