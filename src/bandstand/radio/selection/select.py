"""One choice: what a wish asks for, what spacing leaves of it, and the best of that.

free ─ wish ─ spacing ─ analysed? ─┬─ by the model, if it knows anything
                                   └─ at random, and it is said why
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bandstand._util.clock import MILLISECONDS_PER_MINUTE
from bandstand.core.policies import BayesUcb
from bandstand.core.random_streams import randomness
from bandstand.radio.selection import chosen as words
from bandstand.radio.selection.best import Picker, best_of, share_better
from bandstand.radio.selection.candidates import drawn, is_any
from bandstand.radio.selection.chosen import Chosen
from bandstand.radio.selection.exploration_dial import FAVOUR, policy_with

if TYPE_CHECKING:
    from bandstand.core.model.candidates import CandidateSet
    from bandstand.core.playlist import PlanState
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.selection.chosen import How
    from bandstand.radio.selection.filters import Free, Leeway
    from bandstand.radio.selection.learner import Learner
    from bandstand.radio.selection.plan_state import Evening
    from bandstand.radio.selection.stations import Wish
    from bandstand.types import Minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidates:
    """What the next song is chosen from, and what is to be said of it."""

    songs: CandidateSet
    how: How
    note: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decider:
    """What holds for all songs of one request of one listener."""

    shelf: Catalogue
    learner: Learner | None
    leeway: Leeway
    seed: int
    wish: Wish
    dial: float
    start: Minutes

    def next(self, evening: Evening, free: Free) -> Chosen:
        """Return the song that follows on an evening, of what the rules leave."""
        scene, found = evening.scene, self._wanted(evening, free)
        learner, known = self.learner, self.leeway.analysed(found.songs)
        if learner is None:
            return self._drawn(scene, found, words.LIBRARY_NOT_ANALYSED)
        if known is not found.songs and not is_any(known):
            return self._drawn(scene, found, words.SONGS_NOT_ANALYSED)
        analysed = replace(found, songs=known)
        if not len(learner.told.history):
            why = words.FIRST_SONG if scene.step == 1 else words.NOTHING_LEARNT
            return self._drawn(scene, analysed, why)
        return self._by_model(learner, scene, analysed)

    def _wanted(self, evening: Evening, free: Free) -> _Candidates:
        scene, songs, how, note = evening.scene, free.songs, "model", ""
        if self.wish.is_start:
            granting = self.leeway.granting(self.wish, free)
            found = granting.wanted(scene.listening, scene.now)
            songs, how, note = found.songs, "wish" if found.is_first else "model", found.note
        left = free.spacing.left(self.shelf, songs, evening.last, once=evening.planned)
        return _Candidates(songs=left, how="wish" if how == "wish" else "model", note=note)

    def _drawn(self, scene: PlanState, found: _Candidates, why: str) -> Chosen:
        """Return a song drawn at random; what is wished for is no surprise."""
        row = drawn(found.songs, randomness(self.seed, scene.step, "choose"))
        at_random = replace(found, how="random", note=found.note or why)
        return self._chosen(scene, row, found if found.how == "wish" else at_random)

    def _by_model(self, learner: Learner, scene: PlanState, found: _Candidates) -> Chosen:
        # Something is known, so that the first song is over.
        step = max(scene.step, 2)
        policy = policy_with(learner.policy, step=step, dial=self.dial)
        level = policy.level_at(step) if isinstance(policy, BayesUcb) else None
        picker = Picker(
            learner=learner,
            scene=scene,
            policy=policy,
            prediction=scene.prediction(learner.engine, learner.catalogue, memory=learner.memory),
            step=step,
            seed=self.seed,
            favour=0.0 if level is None else FAVOUR * self.dial,
        )
        best = best_of(picker, found.songs)
        if best.score is None:
            if found.how != "wish":
                found = replace(found, how="random", note=found.note or words.DRAWN)
            return replace(self._chosen(scene, best.row, found), prediction=best.prediction)
        return replace(
            self._chosen(scene, best.row, found),
            prediction=best.prediction,
            level=level,
            score=best.score,
            better=share_better(picker, best, found.songs),
        )

    def _chosen(self, scene: PlanState, row: int, found: _Candidates) -> Chosen:
        since = float(scene.now - scene.listening.last_heard_of([row])[0])
        seen = self.learner is not None and bool(self.shelf.has_features[row])
        return Chosen(
            row=row,
            song=self.shelf.ids[row],
            at=round(scene.now * MILLISECONDS_PER_MINUTE),
            minutes_from_now=float(scene.now - self.start),
            step=scene.step,
            how=found.how,
            note=found.note,
            situation=self.learner.catalogue.song(row, scene.listening, scene.now)
            if self.learner is not None and seen
            else None,
            minutes_since_heard=max(since, 0.0) if np.isfinite(since) else None,
        )
