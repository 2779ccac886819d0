"""Cross-validated errors of one rater, with the same folds for every predictor."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand_lab.content.predictors import PREDICTORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.types import Indices, Matrix, Vector
    from bandstand_lab.content.predictors import Predictor
    from bandstand_lab.content.ratings import Rater


class Fold(NamedTuple):
    """Which ratings are learnt from, and which are predicted."""

    training: Indices
    test: Indices


def folds(count: int, parts: int, rng: np.random.Generator) -> list[Fold]:
    """Return a random partition of `count` ratings into `parts` tests of nearly equal size.

    >>> [len(fold.test) for fold in folds(10, 4, np.random.default_rng(1))]
    [3, 3, 2, 2]
    """
    if not 2 <= parts <= count:
        msg = f"there must be 2 to {count} folds for {count} ratings, got {parts}"
        raise InvalidInputError(msg)
    everything = np.arange(count)
    tests = [np.sort(part) for part in np.array_split(rng.permutation(count), parts)]
    return [
        Fold(training=np.setdiff1d(everything, test, assume_unique=True), test=test)
        for test in tests
    ]


DEFAULT_FOLDS: Final = 10
_FOLDS, _PREDICTIONS = 0, 1  # what is drawn, each from a stream of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterErrors:
    """How far predictions of one rater's ratings were off, by the predictor's name."""

    name: str
    count: int
    mean: float  # of the ratings
    standard_deviation: float  # of the ratings, around their mean
    rmse: Mapping[str, float]

    @property
    def expected_random_rmse(self) -> float:
        """What a draw of the same distribution is off by: √2 standard deviations.

        The variance of a difference of two independent ratings is the sum of their variances.
        """
        return math.sqrt(2) * self.standard_deviation

    def as_json(self) -> dict[str, Any]:
        """Return the errors, ready to be written."""
        return {
            "rater": self.name,
            "ratings": self.count,
            "mean": self.mean,
            "standard_deviation": self.standard_deviation,
            "expected_random_rmse": self.expected_random_rmse,
            "rmse": dict(self.rmse),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RaterErrors:
        """Return what `as_json` gave."""
        return cls(
            name=value["rater"],
            count=value["ratings"],
            mean=value["mean"],
            standard_deviation=value["standard_deviation"],
            rmse=dict(value["rmse"]),
        )


class Task(NamedTuple):
    """One rater to be cross-validated, as it travels to a process."""

    own: Matrix  # the features of the rated items, row by row
    rater: Rater
    parts: int
    seed: int


def rater_errors(task: Task) -> RaterErrors:
    """Return the errors of all predictors for one rater."""
    return cross_validate(task.own, task.rater, parts=task.parts, seed=task.seed)


def cross_validate(
    own: Matrix,
    rater: Rater,
    *,
    parts: int = DEFAULT_FOLDS,
    seed: int = 0,
    predictors: Mapping[str, Predictor] = PREDICTORS,
) -> RaterErrors:
    """Return the root of the mean squared error over all ratings, each predicted without itself.

    `own` are the features of the rated items, in the order of the ratings.
    Folds and draws depend on the seed and the rater's name alone, so that neither other raters
    nor the order of a file matter.
    """
    split = folds(len(rater), parts, _stream(seed, rater, _FOLDS))
    squares = {name: np.empty(len(rater)) for name in predictors}
    draws = _stream(seed, rater, _PREDICTIONS)
    for fold in split:
        for name, predict in predictors.items():
            predicted = predict(
                own[fold.training], rater.ratings[fold.training], own[fold.test], rng=draws
            )
            squares[name][fold.test] = np.square(predicted - rater.ratings[fold.test])
    return RaterErrors(
        name=rater.name,
        count=len(rater),
        mean=float(rater.ratings.mean()),
        standard_deviation=float(rater.ratings.std()),
        rmse={name: _root(each) for name, each in squares.items()},
    )


def _root(squares: Vector) -> float:
    return math.sqrt(float(squares.mean()))


def _stream(seed: int, rater: Rater, use: int) -> np.random.Generator:
    key = (use, zlib.crc32(rater.name.encode()))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
