"""Who meets what when: balanced over places and neighbours, and hidden from participants."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.store import studies
from bandstand.store.database.connection import Store
from bandstand.study.assignment import assigned_arms, draw_number, order, period
from bandstand.study.design import Design
from bandstand.study.service import StudyService
from tests.fixtures.study.participants import Person, Study, served

counts = st.integers(1, 13)
STUDY = "0123456789abcdef"
SQUARE = Design(least_songs=10)  # six algorithms: a square of six rows


@given(st.integers(0, 10_000), counts)
def test_every_participant_meets_everything_once(number: int, count: int) -> None:
    assert sorted(order(number, count)) == list(range(count))


@given(counts)
def test_over_a_period_every_place_is_balanced(count: int) -> None:
    rows = [order(number, count) for number in range(period(count))]
    assert order(period(count) + 1, count) == order(1, count)
    places = Counter((place, each) for row in rows for place, each in enumerate(row))
    assert set(places.values()) == {period(count) // count}


@given(st.integers(2, 13))
def test_over_a_period_every_neighbourhood_is_balanced(count: int) -> None:
    rows = [order(number, count) for number in range(period(count))]
    followed = Counter(pair for row in rows for pair in pairwise(row))
    assert len(followed) == count * (count - 1)
    assert set(followed.values()) == {period(count) // count}


@pytest.mark.parametrize("count", [3, 4])
def test_a_plain_rotation_would_not_balance_neighbours(count: int) -> None:
    """The check above can fail: shifting one row by one has the same neighbours in all rows."""
    rows = [tuple((number + step) % count for step in range(count)) for number in range(count)]
    followed = Counter(pair for row in rows for pair in pairwise(row))
    assert len(followed) < count * (count - 1)


@pytest.mark.parametrize(("number", "count"), [(-1, 4), (0, 0), (0, -2)])
def test_impossible_numbers_are_refused(number: int, count: int) -> None:
    with pytest.raises(InvalidInputError, match="must"):
        order(number, count)


@given(st.integers(1, 500), st.integers(0, 2**64 - 1))
def test_every_participant_is_assigned_every_algorithm(number: int, study: int) -> None:
    design = Design()
    parts = assigned_arms(design, f"{study:016x}", number)
    assert [part.place for part in parts] == [1, 2, 3, 4, 5, 6]
    assert sorted(part.algorithm for part in parts) == sorted(design.algorithms)
    assert len({part.seed for part in parts}) == len(parts)


def algorithms_of(design: Design, study: str, number: int) -> list[str]:
    return [part.algorithm for part in assigned_arms(design, study, number)]


def test_the_order_follows_from_the_seed_the_study_and_the_number() -> None:
    design = Design()
    assert algorithms_of(design, STUDY, 3) == algorithms_of(design, STUDY, 3)
    assert algorithms_of(design, STUDY, 4) != algorithms_of(design, STUDY, 3)
    other_studies = [algorithms_of(design, f"{study:016x}", 3) for study in range(5)]
    other_seeds = [algorithms_of(Design(seed=seed), STUDY, 3) for seed in range(5)]
    for others in (other_studies, other_seeds):
        assert len({tuple(one) for one in others}) > 1


def test_joining_again_repeats_none_of_the_draws() -> None:
    """Or else the same songs in the same part would say: this part does not learn."""
    first, again = (assigned_arms(Design(), STUDY, 3) for _ in range(2))
    assert {part.seed for part in first}.isdisjoint(part.seed for part in again)


def test_the_same_number_meets_something_else_in_another_study() -> None:
    """So that a number and a place do not give away an algorithm."""
    first = {assigned_arms(Design(), f"{study:016x}", 1)[0].algorithm for study in range(100)}
    assert first == set(Design().algorithms)


def test_a_period_of_participants_is_balanced_by_algorithm() -> None:
    design = Design()
    rows = [assigned_arms(design, STUDY, number) for number in range(1, 7)]
    places = Counter((part.place, part.algorithm) for row in rows for part in row)
    assert set(places.values()) == {1}


def seeds(person: Person) -> set[int]:
    return {row.seed for row in person.arms}


def joins_twice(person: Person) -> tuple[set[int], set[int]]:
    """Return the seeds of a person's arms, before and after they have withdrawn."""
    person.joins()
    before = seeds(person)
    person.service.withdraw(person.account).result()
    person.joins()
    return before, seeds(person)


def test_nothing_is_drawn_again(study: Study) -> None:
    before, after = joins_twice(study.person())
    assert before.isdisjoint(after)


def test_a_service_that_draws_the_same_is_noticed(study: Study) -> None:
    """The twin: what follows from the number, and the number is free again."""
    study.service = StudyService(study.store, study.radio, study.clock, draw=lambda _: 0)
    before, after = joins_twice(study.person())
    assert before == after


def test_earlier_rules_do_not_bind_a_person_who_comes_back(study: Study) -> None:
    person = study.participant()
    person.finishes(1)
    assert person.status.why == "too_soon"
    person.service.withdraw(person.account).result()
    person.joins()
    assert (person.status.state, person.status.place) == ("begin", 1)


def numbers(study: Study, people: int) -> list[int]:
    """Return the numbers of people, in the order in which they join."""
    found: list[int] = []
    for _ in range(people):
        study.person().joins()
        known = {one.number for one in study.service.progress()}
        found += known - set(found)
    return found


def test_a_square_is_filled_before_the_next_one_in_an_order_that_is_drawn(full: Store) -> None:
    with served(full, SQUARE) as study:
        study.service = StudyService(
            study.store, study.radio, study.clock, draw=lambda below: below - 1
        )
        assert numbers(study, 8) == [6, 5, 4, 3, 2, 1, 12, 11]


def test_a_number_that_is_free_again_comes_before_another_square(full: Store) -> None:
    with served(full, SQUARE) as study:
        people = [study.person() for _ in range(7)]
        for person in people:
            person.joins()
        (left,) = {1, 2, 3, 4, 5, 6} - _numbers_without(study, people[2])
        with study.store.writing() as connection:
            assert draw_number(connection, study.id, study.design) == left


def _numbers_without(study: Study, person: Person) -> set[int]:
    study.service.withdraw(person.account).result()
    with study.store.reading() as connection:
        return {row.number for row in studies.participants(connection, study.id)}
