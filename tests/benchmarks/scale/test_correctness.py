"""The comparison with brute force would notice an engine that is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bandstand.algorithms.playlist import Scene
from bandstand.inference.exact_prediction import ExactPrediction
from bandstand.inference.factor_prediction import FactorPrediction
from bandstand.inference.shortlist.level import Level
from bandstand.model.allowed import Allowed
from benchmarks.scale.correctness import (
    ENGINES,
    Question,
    Walk,
    compared,
    measure_correctness,
)

_CASES = 200


@pytest.fixture(scope="module")
def some() -> dict[str, Any]:
    """What honest engines are found to be."""
    return measure_correctness(cases=_CASES, seed=1)


def test_choices_come_from_lists_that_leave_songs_out(some: dict[str, Any]) -> None:
    for engine in some.values():
        assert engine["wrong"] == 0
        assert engine["cases"] > engine["songs_outside"] > engine["without_a_pass"] > 0
        assert engine["in_playlists"] > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_shortlists_that_forget_the_songs_outside_are_noticed(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted error: no song outside a list is ever thought to be better."""
    monkeypatch.setattr(Level, "outside", lambda *_: -np.inf)
    assert measure_correctness(cases=_CASES, seed=1)[engine]["wrong"] > 0


def test_a_playlist_whose_plan_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted error: the search goes on with what was believed before the first song."""
    honest, walk = Scene.prediction, Walk("exact", np.random.default_rng([1, 0, 0]))

    def stale(self: Scene, engine: Any, catalogue: Any, *, memory: Any) -> Any:
        scene = self if memory is None else walk.scene
        return honest(scene, engine, catalogue, memory=memory)

    question = Question(level=0.9, count=1, allowed=Allowed.everything(len(walk.catalogue)))
    assert all(one.right for one in walk._playlist(question))
    monkeypatch.setattr(Scene, "prediction", stale)
    assert not all(one.right for one in walk._playlist(question))


@pytest.mark.parametrize("prediction", [ExactPrediction, FactorPrediction])
def test_a_search_that_misses_the_best_song_is_counted(
    prediction: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted error: now and then the second best song is put first."""
    honest = prediction.best_by_quantile  # type: ignore[attr-defined]

    def careless(self: Any, level: float, count: int, allowed: Any) -> Any:
        found = honest(self, level, count + 1, allowed)
        return found[1:] if len(found) > count else found

    monkeypatch.setattr(prediction, "best_by_quantile", careless)
    found = measure_correctness(cases=40, seed=1)
    assert sum(engine["wrong"] for engine in found.values()) > 0


def test_cases_are_shared_between_the_engines() -> None:
    found = measure_correctness(cases=5, seed=1)
    assert {name: engine["cases"] for name, engine in found.items()} == dict(
        zip(ENGINES, (3, 2), strict=True)
    )
    assert [engine["wrong"] for engine in found.values()] == [0, 0]


def test_no_cases_are_no_mistakes() -> None:
    found = measure_correctness(cases=0, seed=1)
    assert [engine["wrong"] for engine in found.values()] == [0, 0]


VALUES = np.array([1.0, 3.0, 3.0, 2.0])


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
    right: bool,  # noqa: FBT001  (a value of the table above)
    same: bool,  # noqa: FBT001
) -> None:
    question = Question(level=0.9, count=2, allowed=Allowed.everything(4))
    outcome = compared(np.array(found), VALUES, question)
    assert (outcome.right, outcome.same_rows) == (right, same)


def test_a_song_that_is_not_allowed_is_wrong() -> None:
    question = Question(level=0.9, count=1, allowed=Allowed.everything(4).without([1]))
    assert not compared(np.array([1]), VALUES, question).right
    assert compared(np.array([2]), VALUES, question).right


def test_where_there_are_no_quantiles_nothing_may_be_found() -> None:
    question = Question(level=0.9, count=1, allowed=Allowed.everything(4))
    assert compared(np.empty(0, dtype=np.intp), None, question).right
    assert not compared(np.array([1]), None, question).right
