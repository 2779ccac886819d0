"""The parts of a choice add up to its score, and say what they mean."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bandstand.core.engines.exact.engine import Exact, ExactBelief
from bandstand.core.engines.exact.posterior.covariance_stack import CovarianceStack
from bandstand.core.engines.exact.posterior.recovery_grid import RecoveryGrid
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import radio_prior
from bandstand.core.registry import ALGORITHMS
from bandstand.radio.explain.why import OTHER, SOUND, Why, as_json, explained, preference_of
from bandstand.types import frozen
from tests.fixtures.radio.choices import choices, projected, selection
from tests.music.audio.test_loadings import made_by_hand

if TYPE_CHECKING:
    from collections.abc import Callable

TOLERANCE = 1e-9
PROJECTION, _ = projected()
EXACT = [name for name in ALGORITHMS if name.endswith("-x")]
SLOW = {"bayes-ucb-cn": 2, "bayes-ucb-cn-v": 12, "bayes-ucb-cnd-v": 12}


def one_node() -> tuple[Exact, ExactBelief]:
    """Return a belief that is sure of a recovery time of 100 minutes."""
    engine = Exact(prior=radio_prior(3))
    belief = ExactBelief(
        prior=engine.prior,
        history=History.of(features=[[0.0, 0.0, 1.0]], elapsed=1e5, ratings=[3.0]),
        shape=3.0,
        grid=RecoveryGrid(centre=math.log(100.0), scale=1.0, places=frozen([0.0])),
        means=frozen([[0.5, -0.2, 3.0]]),
        learned=CovarianceStack.of(np.eye(3)[np.newaxis]),
        log_determinants=frozen([0.0]),
        rates=frozen([1.0]),
    )
    return engine, belief


def by_hand(**changes: object) -> Why:
    """Return why a song with a novelty of ½ and a score of 2.5 was chosen."""
    engine, belief = one_node()
    features = np.array([2.0, 1.0, 1.0])
    songs = Songs.of(features=features[np.newaxis], elapsed=100 * math.log(2))
    parts = {
        "score": 2.5,
        "situation": songs,
        "prediction": engine.predict(belief, songs),
        "share_better": 0.05,
        "minutes_since_heard": 100 * math.log(2),
    }
    chosen = selection(**{**parts, **changes})
    return explained(chosen, preference_of(engine, belief, 3), made_by_hand())


def test_the_parts_of_a_choice_made_by_hand() -> None:
    why = by_hand()
    assert why.base == pytest.approx(3.0)
    expected = {"tempo": 1.0, "brightness": -0.1, "harmony": 0, "timbre": -0.1, "movement": 0}
    assert why.groups == pytest.approx({**expected, OTHER: 0.0}, abs=1e-15)
    assert why.liking == pytest.approx(3.8)
    assert why.novelty == pytest.approx(0.5)
    assert why.expected == pytest.approx(1.9)
    assert why.staleness == pytest.approx(-1.9)
    assert why.exploration == pytest.approx(0.6)
    assert why.score == 2.5
    assert not why.mainly_to_learn


@pytest.mark.parametrize(
    ("better", "score", "learns"),
    [(0.1, 2.5, True), (0.099, 2.5, False), (0.5, 1.5, False), (None, 2.5, False)],
)
def test_a_song_is_for_learning_if_a_tenth_promises_more_and_doubt_speaks_for_it(
    better: float | None,
    score: float,
    learns: bool,
) -> None:
    assert by_hand(share_better=better, score=score).mainly_to_learn is learns


def check_sums(why: Why) -> None:
    if why.liking is not None:
        base = why.base or 0.0
        assert abs(base + math.fsum(why.groups.values()) - why.liking) <= TOLERANCE
    if why.liking is not None and why.expected is not None:
        assert abs(why.liking + (why.staleness or 0.0) - why.expected) <= TOLERANCE
    if why.expected is not None and why.score is not None:
        assert why.exploration is not None
        assert abs(why.expected + why.exploration - why.score) <= TOLERANCE


def forgets_a_group(why: Why) -> Why:
    return replace(why, groups={**why.groups, "timbre": 0.0})


def counts_staleness_twice(why: Why) -> Why:
    return replace(why, staleness=2 * (why.staleness or 0.0))


def takes_a_rounded_score(why: Why) -> Why:
    return replace(why, score=round(why.score or 0.0, 3))


@pytest.mark.parametrize(
    "mistake", [forgets_a_group, counts_staleness_twice, takes_a_rounded_score]
)
def test_sums_that_are_wrong_are_noticed(mistake: Callable[[Why], Why]) -> None:
    why = by_hand(score=2.51234)
    check_sums(why)
    with pytest.raises(AssertionError):
        check_sums(mistake(why))


def test_the_parts_add_up_for_a_thousand_choices() -> None:
    runs = [("bayes-ucb-cn-x", dial, 160) for dial in (-1.0, 0.0, 1.0)]
    runs += [(name, 0.0, 130) for name in EXACT if name != "bayes-ucb-cn-x"]
    explanations = []
    for seed, (name, dial, count) in enumerate(runs):
        for choice in choices(name, count=count, seed=seed, dial=dial):
            with np.errstate(all="raise"):
                explanations.append(choice.why(PROJECTION))
    assert len(explanations) == 1_000
    for why in explanations:
        check_sums(why)
        assert why.liking is not None
        assert why.novelty is not None
        assert 0 <= why.novelty <= 1
        assert abs(why.groups[OTHER]) < 1e-9
        assert why.sentence.endswith(".")
    heard = [why for why in explanations if why.minutes_since_heard is not None]
    assert len(heard) > 300
    assert any(why.mainly_to_learn for why in explanations)


@pytest.mark.parametrize("name", EXACT)
def test_the_score_is_the_one_by_which_the_song_was_chosen_among_all(name: str) -> None:
    for choice in choices(name, count=15):
        scores = choice.scores()
        why = choice.why(PROJECTION)
        if scores is None:
            assert why.score is None
        else:
            assert why.score == pytest.approx(scores[choice.selection.row], abs=1e-9)


def test_what_is_liked_loses_by_not_being_fresh() -> None:
    """Liking and recovery are believed together, so it holds where all of the belief likes it."""
    certain = 0
    for choice in choices("bayes-ucb-cn-x", count=120, seed=5):
        why = choice.why(PROJECTION)
        assert why.staleness is not None
        if (choice.model.belief.means @ choice.features).min() >= 0:
            assert why.staleness <= 1e-12
            certain += 1
    assert certain > 60
    for choice in choices("greedy-cn-map", count=60, seed=5):
        why = choice.why(PROJECTION)
        assert why.liking is not None
        assert why.staleness is not None
        assert why.staleness * why.liking <= 1e-12


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_says_what_it_has_and_nothing_else(name: str) -> None:
    for choice in choices(name, count=SLOW.get(name, 30)):
        with np.errstate(all="raise"):
            why = choice.why(PROJECTION)
        check_sums(why)
        assert (why.score is None) == (choice.selection.score is None)
        assert (why.expected is None) == (name == "random")
        assert (why.novelty is None) == (name in {"random", "linucb-c", "linucb-cn"})
        assert (why.staleness is None) == (name in {"random", "linucb-c"})
        assert bool(why.groups) == (name != "random")
        assert (why.exploration is None) == (why.score is None)
        json.dumps(as_json(why), allow_nan=False)


@pytest.mark.parametrize("name", ["greedy-cn", "greedy-cn-x", "greedy-cn-map"])
def test_greedy_algorithms_do_not_explore(name: str) -> None:
    for choice in choices(name, count=20):
        why = choice.why(PROJECTION)
        assert why.exploration is None or abs(why.exploration) < 1e-9


def test_the_dial_moves_what_exploring_adds() -> None:
    explored = {}
    for dial in (-1.0, 1.0):
        found = [each.why(PROJECTION) for each in choices("bayes-ucb-cn-x", count=40, dial=dial)]
        explored[dial] = [why.exploration for why in found if why.exploration is not None]
    assert max(explored[-1.0][3:]) < min(explored[1.0][3:])
    assert min(explored[1.0][3:]) > 0


def test_without_an_intercept_the_base_is_nothing() -> None:
    for choice in choices("bayes-ucb-cn-x", count=10, intercept=False):
        why = choice.why(PROJECTION)
        check_sums(why)
        assert why.base == 0


def test_features_that_cannot_be_told_apart_are_one_part() -> None:
    projection, _ = projected("fourier")
    for choice in choices("bayes-ucb-cn-x", count=10, feature_map="fourier"):
        why = choice.why(projection)
        check_sums(why)
        assert list(why.groups) == [SOUND]
        assert why.base is not None


def test_features_of_another_projection_are_one_part() -> None:
    (choice,) = choices("bayes-ucb-cn-x", count=1)
    for projection in (None, made_by_hand()):
        why = choice.why(projection)
        check_sums(why)
        assert list(why.groups) == [SOUND]
        assert why.base is None


def test_of_somebody_who_has_said_nothing_nothing_is_known() -> None:
    drawn = selection(how="random", note="the first song is drawn at random")
    why = explained(drawn, None, made_by_hand())
    assert as_json(why) == {
        "score": None,
        "expected": None,
        "standard_deviation": None,
        "exploration": None,
        "liking": None,
        "base": None,
        "groups": {},
        "staleness": None,
        "novelty": None,
        "minutes_since_heard": None,
        "mainly_to_learn": False,
        "answers": 0,
        "sentence": "The first song is drawn at random.",
    }
