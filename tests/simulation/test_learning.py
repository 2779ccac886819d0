"""The window into a radio: it shows what the radio knows, and changes nothing."""

from __future__ import annotations

import pytest

from bandstand.algorithms.registry import ALGORITHMS
from bandstand.inference.engine import Summary
from bandstand.simulation.clock import EVERYDAY
from bandstand.simulation.learning import Glimpse, Reason, learning, watch
from bandstand.simulation.session import follow
from tests.simulation.worlds import star_world


def glimpses_of(algorithm: str = "bayes-ucb-cn-x", steps: int = 12) -> list[Glimpse]:
    radio, listener = star_world(algorithm=algorithm)
    return list(watch(radio, listener, steps=steps, clock=EVERYDAY, seed=0))


@pytest.mark.parametrize("algorithm", ["bayes-ucb-cn-x", "thompson-cn-x", "linucb-cn", "greedy-cn"])
def test_a_radio_that_is_watched_plays_what_it_would_have_played(algorithm: str) -> None:
    watched = [glimpse.step for glimpse in glimpses_of(algorithm)]
    radio, listener = star_world(algorithm=algorithm)
    assert watched == list(follow(radio, listener, steps=12, clock=EVERYDAY, seed=0))


def test_the_random_radio_alongside_is_the_random_algorithm() -> None:
    beside = [glimpse.random for glimpse in glimpses_of()]
    radio, listener = star_world(algorithm="random")
    assert beside == list(follow(radio, listener, steps=12, clock=EVERYDAY, seed=0))


@pytest.mark.parametrize(
    "algorithm", ["bayes-ucb-cn-x", "thompson-cn-x", "optimistic-cn-x", "greedy-cn-x", "linucb-c"]
)
def test_the_reason_is_what_the_song_was_chosen_by(algorithm: str) -> None:
    radio, listener = star_world(algorithm=algorithm)
    session = watch(radio, listener, steps=8, clock=EVERYDAY, seed=0)
    for number in range(1, 9):
        moment = EVERYDAY.moment(number)
        scores, means = radio.scores(at=moment), radio.predict(at=moment).mean()
        assert means is not None
        glimpse = next(session)
        row, reason = glimpse.step.row, glimpse.reason
        assert reason.expected_rating == pytest.approx(float(means[row]))
        if number == 1:
            assert reason.curiosity is None
        else:
            assert row == int(scores.argmax())
            assert reason.curiosity == pytest.approx(float(scores[row] - means[row]), abs=1e-9)


def test_liking_times_novelty_is_nearly_what_is_expected() -> None:
    reason = glimpses_of()[-1].reason
    assert reason.liking is not None
    assert reason.novelty is not None
    assert reason.expected_rating == pytest.approx(reason.liking * reason.novelty, rel=0.1)


def test_what_an_algorithm_does_not_know_is_absent() -> None:
    last = glimpses_of("random")[-1]
    assert last.reason == Reason()
    assert last.summary == Summary()
    assert last.uncertainty is None


def test_uncertainty_falls() -> None:
    values = [glimpse.uncertainty for glimpse in glimpses_of(steps=30)]
    assert values[0] is not None
    assert values[-1] is not None
    assert values[-1] < 0.3 * values[0]


def test_the_record_holds_what_is_learnt_beside_the_truth() -> None:
    radio, listener = star_world()
    glimpses = list(watch(radio, listener, steps=40, clock=EVERYDAY, seed=0))
    record = learning(radio, listener, glimpses)
    assert record.glimpses == tuple(glimpses)
    assert record.recovery_time == listener.recovery_time
    assert record.liking.tolist() == listener.liking(radio.catalogue.features).tolist()
    assert record.learnt_liking is not None
    spread = record.learnt_liking_standard_deviation
    assert spread is not None
    assert (abs(record.learnt_liking - record.liking) < 5 * spread).all()


@pytest.mark.parametrize("algorithm", ["bayes-ucb-cn-x", "random"])
def test_there_is_a_record_of_nothing(algorithm: str) -> None:
    radio, listener = star_world(algorithm=algorithm)
    record = learning(radio, listener, [])
    assert record.glimpses == ()
    assert (record.learnt_liking is None) == (algorithm == "random")


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm_can_be_watched(algorithm: str) -> None:
    assert len(glimpses_of(algorithm, steps=2)) == 2
