"""The parts of a choice add up to its score, and say what they mean."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bandstand.core.engines.exact.engine import Exact, ExactBelief
from bandstand.core.engines.exact.posterior.covariance_stack import CovarianceStack
from bandstand.core.engines.exact.posterior.recovery_grid import RecoveryGrid
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import radio_prior
from bandstand.core.registry import ALGORITHMS
from bandstand.music.catalogue.design import Columns
from bandstand.radio.explain.why import (
    OTHER,
    SOUND,
    Why,
    as_json,
    explained,
    preference_of,
)
from bandstand.radio.selection.filters import Station
from bandstand.radio.selection.select import Learned
from bandstand.types import frozen
from tests.fixtures.radio.catalogues import song_id
from tests.fixtures.radio.tastes import listened, model, now_after, projected, selection
from tests.music.audio.test_loadings import made_by_hand

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.music.audio.projection import Projection
    from bandstand.radio.selection.select import RadioListener, Selection

TOLERANCE = 1e-9
PROJECTION, _ = projected()
EXACT = [name for name in ALGORITHMS if name.endswith("-x")]


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
    learned = Learned(answers=1, repeats=1, noise=0.8)
    return explained(chosen, preference_of(engine, belief, 3), Columns(made_by_hand()), learned)


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


def test_nothing_is_said_of_recovery_before_a_song_came_again() -> None:
    engine, belief = one_node()
    songs = Songs.of(features=[[2.0, 1.0, 1.0]], elapsed=100 * math.log(2))
    chosen = selection(
        situation=songs, prediction=engine.predict(belief, songs), minutes_since_heard=70.0
    )
    preference = preference_of(engine, belief, 3)
    before, after = (
        explained(chosen, preference, None, Learned(answers=30, repeats=repeats))
        for repeats in (0, 1)
    )
    assert before.novelty is None
    assert after.novelty == pytest.approx(0.5)
    assert "fresh" not in before.sentence
    assert "fresh" in after.sentence
    assert before.staleness == after.staleness


def test_the_doubt_of_a_rating_is_that_of_its_mean_and_its_noise() -> None:
    why = by_hand()
    assert why.standard_deviation is not None
    assert why.rating_deviation == pytest.approx(math.hypot(why.standard_deviation, 0.8))


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


def why_of(listener: RadioListener, chosen: Selection, projection: Projection | None) -> Why:
    preference = None
    if len(listener.history):
        columns = listener.history.columns
        preference = preference_of(listener.engine, listener.belief, columns)
    return explained(chosen, preference, Columns(projection), listener.learned)


def explanations(
    plays: int,
    *,
    algorithm: str = "bayes-ucb-cn-x",
    count: int = 10,
    dial: float = 0.0,
    projection: Projection | None = PROJECTION,
    **options: Any,
) -> list[Why]:
    """Return the explanations of a playlist for a listener who has heard some songs."""
    ledger = listened(plays, seed=plays)
    listener = model(ledger, algorithm=algorithm, **options)
    with np.errstate(all="raise"):
        playlist = listener.playlist(count, now=now_after(ledger), dial=dial)
        return [why_of(listener, chosen, projection) for chosen in playlist]


def test_the_parts_add_up_for_hundreds_of_choices() -> None:
    runs = [("bayes-ucb-cn-x", dial) for dial in (-1.0, 0.0, 1.0)]
    runs += [(name, 0.0) for name in (*EXACT, "mixed-effects") if name != "bayes-ucb-cn-x"]
    found = [
        why
        for name, dial in runs
        for plays in (2, 20, 60)
        for why in explanations(plays, algorithm=name, count=40, dial=dial)
    ]
    assert len(found) >= 500
    for why in found:
        check_sums(why)
        assert why.liking is not None
        assert why.novelty is None or 0 <= why.novelty <= 1
        assert abs(why.groups[OTHER]) < 1e-9
        assert why.sentence.endswith(".")
    assert sum(why.minutes_since_heard is not None for why in found) > 150
    assert any(why.mainly_to_learn for why in found)


@pytest.mark.parametrize("dial", [-0.4, 0.7])
@pytest.mark.parametrize("intercept", [True, False])
def test_without_an_intercept_the_base_is_nothing(dial: float, intercept: bool) -> None:
    for why in explanations(60, dial=dial, intercept=intercept):
        check_sums(why)
        assert (why.base == 0) is not intercept


@pytest.mark.parametrize("projection", [None, made_by_hand()])
def test_features_that_cannot_be_told_apart_are_one_part(projection: Projection | None) -> None:
    for why in explanations(10, projection=projection):
        check_sums(why)
        assert list(why.groups) == [SOUND]
        assert why.base is None


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_explains_what_it_has_and_nothing_else(algorithm: str) -> None:
    for why in explanations(25, algorithm=algorithm, count=8):
        check_sums(why)
        json.dumps(as_json(why), allow_nan=False)
        assert (why.expected is None) == (algorithm == "random")
        assert (why.novelty is None) == (algorithm in {"random", "linucb-c", "linucb-cn"})
        assert (why.staleness is None) == (algorithm in {"random", "linucb-c"})
        assert (why.exploration is None) == (why.score is None)
        if algorithm.startswith("greedy"):
            assert why.exploration == pytest.approx(0.0, abs=1e-9)
        if algorithm == "random":
            assert why.sentence == "The algorithm draws this song at random."
        else:
            assert abs(why.groups[OTHER]) < 1e-9


def test_of_somebody_who_has_said_nothing_nothing_is_known() -> None:
    drawn = selection(how="random", note="the first song is drawn at random")
    why = explained(drawn, None, Columns(made_by_hand()))
    assert as_json(why) == {
        "score": None,
        "expected": None,
        "standard_deviation": None,
        "rating_deviation": None,
        "exploration": None,
        "liking": None,
        "base": None,
        "groups": {},
        "tags": {},
        "staleness": None,
        "novelty": None,
        "minutes_since_heard": None,
        "mainly_to_learn": False,
        "answers": 0,
        "sentence": "The first song is drawn at random.",
    }


def test_an_unanalysed_library_says_so() -> None:
    ledger = listened(10)
    listener = model(ledger, analysed=False)
    why = why_of(listener, listener.next(now=now_after(ledger)), None)
    assert why.expected is None
    assert why.sentence == ("The library is still being analysed: this song is drawn at random.")


def test_a_song_that_was_asked_for_says_so_and_has_its_parts() -> None:
    ledger = listened(30)
    listener = model(ledger)
    chosen = listener.next(now=now_after(ledger), station=Station(song=song_id(7)))
    why = why_of(listener, chosen, projected()[0])
    assert chosen.song == song_id(7)
    assert why.sentence.startswith("It is what you asked for; ")
    assert why.expected is not None
    check_sums(why)
