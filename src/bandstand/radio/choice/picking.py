"""The best of the songs that may be played, and what it scores.

The dial may favour songs never heard, or those that were (see `dial`). Then the best of either
kind is found by itself, and the two are compared: the search for the best needs no scores of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand.algorithms.randomness import randomness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.algorithms.playlist import Scene
    from bandstand.arrays import Indices
    from bandstand.model.prediction import Prediction
    from bandstand.policies import ScorePolicy
    from bandstand.radio.choice.learner import Learner


@dataclass(frozen=True, slots=True, kw_only=True)
class Picker:
    """All that decides between songs at one moment of one listener."""

    learner: Learner
    scene: Scene
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


def best_of(picker: Picker, rows: Indices) -> Pick:
    """Return the best of the songs in `rows`, which are not empty."""
    picks = [_picked(picker, some, favour) for some, favour in _kinds(picker, rows)]
    return max(picks, key=lambda pick: -np.inf if pick.score is None else pick.score)


def _kinds(picker: Picker, rows: Indices) -> Iterator[tuple[Indices, float]]:
    """Yield the songs by how the dial favours them."""
    if picker.favour == 0:
        yield rows, 0.0
        return
    never = np.isneginf(picker.scene.listening.last_heard[rows])
    for some, favour in ((rows[never], picker.favour), (rows[~never], 0.0)):
        if len(some):
            yield some, favour


def _picked(picker: Picker, rows: Indices, favour: float) -> Pick:
    scene, learner, policy = picker.scene, picker.learner, picker.policy
    rng = randomness(picker.seed, scene.step, "choose")
    best = policy.choose(picker.prediction, step=picker.step, rng=rng, count=1, allowed=rows)
    row = int(best[0])
    song = learner.catalogue.song(row, scene.listening, scene.now)
    alone = learner.engine.predict(scene.belief, song)
    # The same randomness: what is drawn is a listener, whatever the songs.
    rng = randomness(picker.seed, scene.step, "choose")
    score = policy.preferences(alone, step=picker.step, rng=rng)
    return Pick(
        row=row, prediction=alone, score=None if score is None else float(score[0]) + favour
    )
