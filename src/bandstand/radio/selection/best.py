"""The best of the songs that may be played, and what it scores.

The dial may favour songs never heard, or those that were (see `dial`). Then the best of either
kind is found by itself, and the two are compared: the search for the best needs no scores of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.candidates import CandidateSet
from bandstand.core.random_streams import randomness
from bandstand.radio.selection.candidates import is_any, sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.core.model.prediction import Prediction
    from bandstand.core.playlist import PlanState
    from bandstand.core.policies import ScorePolicy
    from bandstand.radio.selection.learner import Learner

# Expected ratings that differ by less are the same, but for rounding.
_SAME: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Picker:
    """All that decides between songs at one moment of one listener."""

    learner: Learner
    scene: PlanState
    policy: ScorePolicy
    prediction: Prediction  # of all songs
    step: int
    seed: int
    favour: float  # stars, for songs never heard


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """A song, the prediction of it alone, and its score; None where there is none."""

    row: int
    prediction: Prediction
    score: float | None


def best_of(picker: Picker, songs: CandidateSet) -> Pick:
    """Return the best of `songs`, of which there are some."""
    picks = [_picked(picker, some, favour) for some, favour in _kinds(picker, songs)]
    return max(picks, key=lambda pick: -np.inf if pick.score is None else pick.score)


def share_better(picker: Picker, pick: Pick, songs: CandidateSet) -> float | None:
    """Return which share of `songs` is expected to get more than the one that was picked.

    Where there are many, it is that of some which stand for them.
    """
    learner, scene = picker.learner, picker.scene
    own, rows = pick.prediction.mean(), sample(songs)
    some = learner.catalogue.songs(scene.listening, scene.now).take(rows)
    expected = learner.engine.predict(scene.belief, some).mean()
    if own is None or expected is None:
        return None
    return float(np.mean(expected > own[0] + _SAME * (1 + abs(own[0]))))


def _kinds(picker: Picker, songs: CandidateSet) -> Iterator[tuple[CandidateSet, float]]:
    """Yield the songs by how the dial favours them."""
    if picker.favour == 0:
        yield songs, 0.0
        return
    heard = picker.scene.listening.heard_rows
    never, again = songs.without(heard), heard[songs.contains(heard)]
    if is_any(never):
        yield never, picker.favour
    if len(again):
        yield CandidateSet.only(again, songs.count), 0.0


def _picked(picker: Picker, songs: CandidateSet, favour: float) -> Pick:
    scene, learner, policy = picker.scene, picker.learner, picker.policy
    rng = randomness(picker.seed, scene.step, "choose")
    best = policy.choose(picker.prediction, step=picker.step, rng=rng, count=1, allowed=songs)
    row = int(best[0])
    song = learner.catalogue.song(row, scene.listening, scene.now)
    alone = learner.engine.predict(scene.belief, song)
    # The same randomness: what is drawn is a listener, whatever the songs.
    rng = randomness(picker.seed, scene.step, "choose")
    score = policy.preferences(alone, step=picker.step, rng=rng)
    return Pick(
        row=row, prediction=alone, score=None if score is None else float(score[0]) + favour
    )
