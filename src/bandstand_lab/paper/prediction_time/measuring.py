"""The jobs of the study: prediction times over S songs, and accuracy against time."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.model import product_normal_many
from bandstand_lab.paper.prediction_time.contenders import (
    contenders,
    scene_of,
    variational_prediction,
)
from bandstand_lab.paper.prediction_time.quantiles import (
    monte_carlo_quantile,
    quadrature_quantile,
)
from bandstand_lab.speed.timing import in_turn, timed_again, undisturbed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.types import Matrix, Vector
    from bandstand_lab.report.study import Json

_WARM_UP_SONGS: Final = 60


def predict(*, songs: int, ratings: int, turn: int, seed: int, columns: int) -> Json:
    """Return the seconds that each contender needs to find the song to play; a job."""
    scene = scene_of(songs=songs, ratings=ratings, columns=columns, seed=seed, turn=turn)
    # Everything runs once before, so that nobody pays for loading a library.
    small = replace(scene, songs=scene.songs.take(slice(_WARM_UP_SONGS)), effective_draws=100)
    for choose in contenders(small).values():
        choose()
    ready = contenders(scene)
    seconds = {}
    for name in in_turn(list(ready), turn):
        with undisturbed():
            seconds[name] = timed_again(ready[name]).seconds
    return seconds


def accuracy(
    *,
    songs: int,
    ratings: int,
    turn: int,
    seed: int,
    columns: int,
    draws: Sequence[int],
    checked: int,
) -> Json:
    """Return time and error of the deterministic quantile and of Monte Carlo; a job.

    Errors are in standard deviations of the song's own p(U | D). Those of Monte Carlo are
    against the deterministic quantile, and that one's against adaptive quadrature, for the
    first `checked` songs.
    """
    scene = scene_of(songs=songs, ratings=ratings, columns=columns, seed=seed, turn=turn)
    belief = variational_prediction(scene)
    means, deviations = belief.factor_means, belief.factor_deviations
    spread = belief.standard_deviation()
    solve = partial(product_normal_many.quantile, scene.level, means, deviations)
    with undisturbed():
        seconds, solved = timed_again(solve)
    off = _quadrature_errors(scene.level, means[:, :checked], deviations[:, :checked], solved)
    return {
        "level": scene.level,
        "solved": {"seconds": seconds, "largest_error": float(np.max(off / spread[:checked]))},
        "sampled": [
            {
                "draws": count,
                **_sampled(scene.level, means, deviations, solved, spread, count, [seed, turn]),
            }
            for count in draws
        ],
    }


def _quadrature_errors(level: float, means: Matrix, deviations: Matrix, solved: Vector) -> Vector:
    return np.array(
        [
            abs(
                quadrature_quantile(
                    level,
                    (float(mean[0]), float(mean[1])),
                    (float(deviation[0]), float(deviation[1])),
                    float(value),
                )
                - value
            )
            for mean, deviation, value in zip(means.T, deviations.T, solved, strict=False)
        ]
    )


def _sampled(
    level: float,
    means: Matrix,
    deviations: Matrix,
    solved: Vector,
    spread: Vector,
    draws: int,
    seed: Sequence[int],
) -> dict[str, Any]:
    """Return time, root mean square error, and what the choice by Monte Carlo loses."""
    with undisturbed():
        seconds, found = timed_again(
            lambda: monte_carlo_quantile(
                level, means, deviations, draws, np.random.default_rng([*seed, draws])
            )
        )
    chosen, best = int(np.argmax(found)), int(np.argmax(solved))
    return {
        "seconds": seconds,
        "error": math.sqrt(float(np.mean(((found - solved) / spread) ** 2))),
        "same_song": chosen == best,
        "loss": float((solved[best] - solved[chosen]) / spread[best]),
    }
