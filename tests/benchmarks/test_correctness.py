"""The comparison with brute force would notice an engine that is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bandstand.core.engines.exact.prediction import ExactPrediction
from bandstand.core.engines.variational.engine import FactorPrediction
from bandstand.core.model.candidates import CandidateSet
from bandstand.core.recommender import Recommender
from benchmarks.correctness import ENGINES, Question, compared, measure_correctness

VALUES = np.array([1.0, 3.0, 3.0, 2.0])


def measured(cases: int) -> dict[str, Any]:
    found = measure_correctness(cases=cases, seed=1, on_run=lambda _: None, workers=1)
    return {row["engine"]: row for row in found["rows"]}


def test_honest_engines_are_right_with_filters_and_in_playlists() -> None:
    found = measured(120)
    assert found.keys() == ENGINES.keys()
    for row in found.values():
        assert (row["cases"], row["wrong"]) == (60, 0)
        assert min(row["filtered"], row["in_playlists"]) > 0


@pytest.mark.parametrize(
    ("engine", "prediction"), [("exact", ExactPrediction), ("variational", FactorPrediction)]
)
def test_a_search_that_misses_the_best_song_is_counted(
    engine: str, prediction: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the second best song is put first."""
    honest = prediction.best_by_quantile  # type: ignore[attr-defined]

    def careless(self: Any, level: float, count: int, allowed: Any) -> Any:
        found = honest(self, level, count + 1, allowed)
        return found[1:] if len(found) > count else found

    monkeypatch.setattr(prediction, "best_by_quantile", careless)
    assert measured(40)[engine]["wrong"] > 0


def test_a_playlist_in_the_wrong_order_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the songs of a playlist change places."""
    honest = Recommender.playlist
    monkeypatch.setattr(
        Recommender, "playlist", lambda self, *n, **options: honest(self, *n, **options)[::-1]
    )
    assert all(row["wrong"] > 0 for row in measured(60).values())


@pytest.mark.parametrize(
    ("found", "right", "same"),
    [
        ([1, 2], True, True),
        ([2, 1], True, False),
        ([1, 3], False, False),
        ([1], False, False),
        ([0, 1], False, False),
    ],
)
def test_equal_songs_may_change_places_and_others_may_not(
    found: list[int],
    right: bool,
    same: bool,
) -> None:
    question = Question(level=0.9, count=2, allowed=CandidateSet.everything(4))
    outcome = compared(np.array(found), VALUES, question)
    assert (outcome.right, outcome.same_rows) == (right, same)


def test_a_song_that_is_not_allowed_is_wrong() -> None:
    question = Question(level=0.9, count=1, allowed=CandidateSet.everything(4).without([1]))
    assert not compared(np.array([1]), VALUES, question).right
    assert compared(np.array([2]), VALUES, question).right
    assert compared(np.empty(0, dtype=np.intp), None, question).right
    assert not compared(np.array([1]), None, question).right
