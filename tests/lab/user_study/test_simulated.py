"""Simulated people: what was planted is there, the rules are kept, a seed says the same again."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError, RefusedError
from bandstand.study.design import Design
from bandstand.study.records import StudyData
from bandstand_lab.user_study.simulated import simulated_study
from tests.fixtures.study.playing import World, audit
from tests.fixtures.study.small import ONE, OTHER, THIRD


def simulated(people: int = 4, *, seed: int = 1, **settings_: Any) -> StudyData:
    design = Design(algorithms=(THIRD, ONE, OTHER), ratings_per_arm=45)
    given_ = {"effects": {}, "rng": np.random.default_rng(seed), **settings_}
    return simulated_study(design, people=people, **given_)


def lived(data: StudyData, person: int) -> World:
    """Return the world of a person to whom the records happen, as far as the rules allow it."""
    world = World(data.design)
    records = [record for record in data.records if record.participant == person]
    for record in sorted(records, key=lambda record: (record.place, record.number)):
        arm = record.place - 1
        world.now = record.offered_at
        if record.number == 1:
            world.begin(arm)
        world.offer(arm)
        world.now = record.rated_at
        played = record.played_seconds or 0.0
        world.rate(arm, record.number, known=False, played=played, song_seconds=200.0)
    return world


@given(
    st.integers(1, 4), st.sampled_from([0.0, 6.0]), st.integers(1, 30), st.sampled_from([0.0, 30.5])
)
@settings(max_examples=20)
def test_everybody_keeps_the_rules_of_the_design(
    arms_per_day: int, gap_hours: float, rest_after: int, listen: float
) -> None:
    design = Design(
        algorithms=(THIRD, ONE, OTHER),
        ratings_per_arm=25,
        arms_per_day=arms_per_day,
        gap_hours=gap_hours,
        rest_after=rest_after,
        listen_seconds=listen,
    )
    data = simulated_study(design, people=3, effects={}, rng=np.random.default_rng(1))
    for person in data.people:
        world = lived(data, person)
        audit(design, world)
        assert all(arm.finished for arm in world.arms)


def test_the_check_notices_who_does_not_rest() -> None:
    """The twin: the same times under a stricter design are refused."""
    data = simulated()
    with pytest.raises(RefusedError):
        lived(replace(data, design=replace(data.design, rest_seconds=244.0)), 1)


def test_places_are_those_of_the_latin_square() -> None:
    data = simulated(people=6)
    met = {(r.participant, r.place): r.algorithm for r in data.records}
    for place in (1, 2, 3):
        assert sorted(met[person, place] for person in range(1, 7)) == sorted(
            2 * list(data.design.algorithms)
        )


def test_ratings_are_whole_stars_of_songs_that_come_back() -> None:
    data = simulated()
    assert {record.stars for record in data.records} == {1, 2, 3, 4, 5}
    songs = [record.song for record in data.records if record.participant == 1]
    assert len(set(songs)) < 0.8 * len(songs)
    assert set(songs) <= set(data.catalogue.ids)
    assert (data.catalogue.features[:, -1] == 1.0).all()
    assert len(data.catalogue) == data.design.least_songs


def test_without_spread_everything_is_as_planted() -> None:
    data = simulated(effects={OTHER: 1.0}, person_sd=0.0, person_arm_sd=0.0, noise_sd=0.0)
    for record in data.records:
        exact = 3.0 + min(1.0, record.number / 40) * (record.algorithm == OTHER)
        assert record.stars == round(exact)


def test_the_same_seed_says_the_same_and_another_does_not() -> None:
    assert simulated() == simulated()
    assert simulated().records != simulated(seed=2).records


def test_it_says_that_nobody_of_them_exists() -> None:
    data = simulated(effects={OTHER: 0.5, ONE: 0.0})
    assert data.simulated
    assert "simulated" in data.remarks[0]
    assert data.remarks[1] == "Planted effects, in stars: bayes-ucb-cn-x +0.5."


@pytest.mark.parametrize(
    ("given_", "match"),
    [
        ({"people": 0}, "at least one simulated person, got 0"),
        ({"effects": {"thompson": 1.0}}, "effects must be of random, .*got one of thompson"),
        ({"effects": {ONE: float("nan")}}, "finite number of stars, got nan"),
        ({"noise_sd": -1.0}, "must be finite and not negative, got -1.0"),
        ({"person_sd": float("inf")}, "must be finite"),
    ],
)
def test_what_makes_no_sense_is_refused(given_: Any, match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        simulated(**given_)
