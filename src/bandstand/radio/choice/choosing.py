"""Which song one listener hears next: rules, wishes and the listener's algorithm together.

    ledger ─ told ─ belief ┐
    rules, spacing, wish ──┴─ choice, again and again on a simulated clock for a playlist

A model is a value: `follow` returns another one. All of it follows from the ledger, the shelf and
the listener's seed, so any choice can be made again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.algorithms.playlist import Scene
from bandstand.algorithms.randomness import randomness
from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.policies import BayesUcb
from bandstand.radio.choice import chosen as words
from bandstand.radio.choice import rules
from bandstand.radio.choice.chosen import Chosen, Glimpse
from bandstand.radio.choice.dial import FAVOUR, policy_with
from bandstand.radio.choice.evening import Evening
from bandstand.radio.choice.learner import Learner
from bandstand.radio.choice.learning import listening_of, minutes_at, nothing_known
from bandstand.radio.choice.picking import Picker, best_of
from bandstand.radio.choice.wishes import Wish, wanted
from bandstand.radio.clock import MILLISECONDS_PER_MINUTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bandstand.algorithms.situation import Listening
    from bandstand.arrays import Indices, Vector
    from bandstand.inference.engine import Engine
    from bandstand.policies import ScorePolicy
    from bandstand.radio.choice.chosen import How
    from bandstand.radio.choice.learning import FeaturesOf
    from bandstand.radio.choice.rules import Spacing
    from bandstand.radio.choice.shelf import Shelf
    from bandstand.radio.log.ledger import Ledger, Rule
    from bandstand.units import Minutes

MOST_SONGS: Final = 1_000  # in one playlist
# Expected ratings that differ by less are the same, but for rounding.
_SAME: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What holds for all songs of one request."""

    wish: Wish
    dial: float
    start: Minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Free:
    """What some rules leave, and how far apart it is to be kept."""

    active: tuple[Rule, ...]
    rows: Indices
    spacing: Spacing


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidates:
    """What the next song is chosen from, and what is to be said of it."""

    rows: Indices
    how: How
    note: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """One listener over one shelf."""

    shelf: Shelf
    ledger: Ledger
    made_for: tuple[str, bool]  # the algorithm's name, and whether there is an intercept
    seed: int
    learner: Learner | None  # None while no song has features
    listening: Listening

    @classmethod
    def begin(
        cls,
        shelf: Shelf,
        ledger: Ledger,
        *,
        algorithm: str,
        intercept: bool = True,
        seed: int,
        features_of: FeaturesOf = nothing_known,
    ) -> Model:
        """Return the model of a listener who has told what is in `ledger`."""
        columns = ledger.columns()
        learner = Learner.begin(
            shelf,
            columns,
            algorithm=algorithm,
            intercept=intercept,
            seed=seed,
            features_of=features_of,
        )
        recent = () if learner is None else learner.told.recent
        return cls(
            shelf=shelf,
            ledger=ledger,
            made_for=(algorithm, intercept),
            seed=seed,
            learner=learner,
            listening=listening_of(shelf, columns, recent),
        )

    def follow(self, ledger: Ledger) -> Model:
        """Return the model after a later ledger: the same as begun with it, only sooner."""
        columns = ledger.columns()
        learner = None if self.learner is None else self.learner.follow(columns)
        recent = () if learner is None else learner.told.recent
        listening = listening_of(self.shelf, columns, recent)
        return replace(self, ledger=ledger, learner=learner, listening=listening)

    @property
    def engine(self) -> Engine[Any] | None:
        """What learns; None while no song has features."""
        return None if self.learner is None else self.learner.engine

    @property
    def policy(self) -> ScorePolicy | None:
        """What chooses, with the dial in the middle; None while no song has features."""
        return None if self.learner is None else self.learner.policy

    @property
    def belief(self) -> Any:
        """What is believed of the listener; None while no song has features."""
        return None if self.learner is None else self.learner.belief

    @property
    def step(self) -> int:
        """The number of the next song, from 1."""
        return len(self.ledger.plays) + 1

    @property
    def nbytes(self) -> int:
        """About how much memory this listener takes, beside what all of them share."""
        own = self.listening.last_heard.nbytes
        return own if self.learner is None else own + self.learner.nbytes

    def choose(
        self, *, now: int, after: Sequence[str] = (), wish: Wish | None = None, dial: float = 0.0
    ) -> Chosen:
        """Return the song to play when those in `after`, now playing or queued, are over."""
        return self.playlist(1, now=now, after=after, wish=wish, dial=dial)[0]

    def playlist(
        self,
        count: int,
        *,
        now: int,
        after: Sequence[str] = (),
        wish: Wish | None = None,
        dial: float = 0.0,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> list[Chosen]:
        """Return the next songs, each chosen as if the ones before it had been heard.

        `is_wanted` is asked before each of them; once it says no there are no more.
        """
        if not 1 <= count <= MOST_SONGS:
            msg = f"a playlist must have between 1 and {MOST_SONGS} songs, got {count}"
            raise InvalidInputError(msg)
        asked = _Asked(wish=wish or Wish(), dial=dial, start=self._moment(now))
        songs = self._songs(self._evening(asked.start, after), asked)
        return [song for _ in range(count) if is_wanted() for song in islice(songs, 1)]

    def glimpse(self, song: str, *, now: int) -> Glimpse:
        """Return what is believed of a song, on the shelf or not."""
        if self.learner is None:
            return Glimpse()
        heard = self.ledger.last_heard.get(song)
        return self.learner.glimpse(
            song, since=None if heard is None else self._moment(now) - minutes_at(heard)
        )

    def expected(self, *, now: int) -> dict[str, float | None]:
        """Return the rating that is expected of each song that may be played now, in stars.

        None where nothing is known. What was heard lately is there, with what it loses by that.
        """
        moment = self._moment(now)
        rows = rules.unbanned(self.shelf, self.ledger.rules_at(now)).tolist()
        mean = self._mean(moment)
        if mean is None:
            return {self.shelf.ids[row]: None for row in rows}
        known, values = self.shelf.has_features, mean.tolist()
        return {self.shelf.ids[row]: values[row] if known[row] else None for row in rows}

    def _mean(self, moment: Minutes) -> Vector | None:
        learner = self.learner
        if learner is None or not len(learner.told.history):
            return None
        scene = Scene(belief=learner.belief, listening=self.listening, now=moment, step=self.step)
        return scene.prediction(learner.engine, learner.catalogue, memory=learner.memory).mean()

    def _moment(self, now: int) -> Minutes:
        """Return `now` in minutes, or the last play if the clock has been set back."""
        plays = self.ledger.plays
        return minutes_at(max(now, plays[-1].at) if len(plays) else now)

    def _songs(self, evening: Evening, asked: _Asked) -> Iterator[Chosen]:
        free: _Free | None = None
        while True:
            free = self._free(evening.scene.now, free)
            chosen = self._next(evening, free, asked)
            yield chosen
            evening = evening.after_planned(chosen.row)

    def _evening(self, now: Minutes, after: Sequence[str]) -> Evening:
        """Return where the listener stands when the songs in `after` are over."""
        row_of, recent = self.shelf.row_of, self.ledger.recent
        last = tuple(row_of[song] for song in recent[-rules.LONGEST_GAP :] if song in row_of)
        scene = Scene(belief=self.belief, listening=self.listening, now=now, step=self.step)
        evening = Evening(
            shelf=self.shelf,
            learner=self.learner,
            scene=scene,
            last=last,
            planned=tuple(row_of[song] for song in after if song in row_of),
        )
        for place, song in enumerate(after):
            row = row_of.get(song)
            if row is None:  # it has just left the library
                continue
            if place == 0 and recent[-1:] == (song,):
                evening = evening.played_on(row)  # its play is in the ledger already
            else:
                evening = evening.after(row)
        return evening

    def _free(self, now: Minutes, before: _Free | None) -> _Free:
        """Return what the rules leave at a moment; mostly the same as for the song before."""
        active = self.ledger.rules_at(round(now * MILLISECONDS_PER_MINUTE))
        if before is not None and before.active == active:
            return before
        rows = rules.unbanned(self.shelf, active)
        if not len(rows):
            why = "every song is banned or snoozed" if len(self.shelf) else "there are no songs yet"
            msg = f"nothing may be played: {why}"
            raise NotFoundError(msg)
        spacing = rules.Spacing.over(self.shelf, rows)
        return _Free(active=active, rows=rows, spacing=spacing)

    def _next(self, evening: Evening, free: _Free, asked: _Asked) -> Chosen:
        scene, found = evening.scene, self._wanted(evening, free, asked)
        learner, known = self.learner, found.rows[self.shelf.has_features[found.rows]]
        if learner is None:
            return self._drawn(scene, found, words.LIBRARY_NOT_ANALYSED, asked)
        if not len(known):
            return self._drawn(scene, found, words.SONGS_NOT_ANALYSED, asked)
        analysed = replace(found, rows=known)
        if not len(learner.told.history):
            why = words.FIRST_SONG if scene.step == 1 else words.NOTHING_LEARNT
            return self._drawn(scene, analysed, why, asked)
        return self._by_model(learner, scene, analysed, asked)

    def _wanted(self, evening: Evening, free: _Free, asked: _Asked) -> _Candidates:
        scene, rows, how, note = evening.scene, free.rows, "model", ""
        if asked.wish:
            found = wanted(self.shelf, asked.wish, rows, scene.listening, scene.now)
            rows, how, note = found.rows, "wish" if found.is_first else "model", found.note
        left = free.spacing.left(self.shelf, rows, evening.last, once=evening.planned)
        return _Candidates(rows=left, how="wish" if how == "wish" else "model", note=note)

    def _drawn(self, scene: Scene, found: _Candidates, why: str, asked: _Asked) -> Chosen:
        """Return a song drawn at random; what is wished for is no surprise."""
        rng = randomness(self.seed, scene.step, "choose")
        row = int(found.rows[rng.integers(len(found.rows))])
        drawn = replace(found, how="random", note=found.note or why)
        return self._chosen(scene, row, found if found.how == "wish" else drawn, asked)

    def _by_model(
        self, learner: Learner, scene: Scene, found: _Candidates, asked: _Asked
    ) -> Chosen:
        # Something is known, so that the first song is over.
        step = max(scene.step, 2)
        policy = policy_with(learner.policy, step=step, dial=asked.dial)
        level = policy.level_at(step) if isinstance(policy, BayesUcb) else None
        prediction = scene.prediction(learner.engine, learner.catalogue, memory=learner.memory)
        picker = Picker(
            learner=learner,
            scene=scene,
            policy=policy,
            prediction=prediction,
            step=step,
            seed=self.seed,
            favour=0.0 if level is None else FAVOUR * asked.dial,
        )
        best = best_of(picker, found.rows)
        if best.score is None:
            if found.how != "wish":
                found = replace(found, how="random", note=found.note or words.DRAWN)
            return replace(self._chosen(scene, best.row, found, asked), prediction=best.prediction)
        expected = prediction.mean()
        return replace(
            self._chosen(scene, best.row, found, asked),
            prediction=best.prediction,
            level=level,
            score=best.score,
            better=None
            if expected is None
            else _share_better(expected[found.rows], expected[best.row]),
        )

    def _chosen(self, scene: Scene, row: int, found: _Candidates, asked: _Asked) -> Chosen:
        since = float(scene.now - scene.listening.last_heard[row])
        seen = self.learner is not None and bool(self.shelf.has_features[row])
        return Chosen(
            row=row,
            song=self.shelf.ids[row],
            at=round(scene.now * MILLISECONDS_PER_MINUTE),
            minutes_from_now=float(scene.now - asked.start),
            step=scene.step,
            how=found.how,
            note=found.note,
            situation=self.learner.catalogue.song(row, scene.listening, scene.now)
            if self.learner is not None and seen
            else None,
            minutes_since_heard=max(since, 0.0) if np.isfinite(since) else None,
        )


def _share_better(expected: Any, own: float) -> float:
    return float(np.mean(expected > own + _SAME * (1 + abs(own))))
