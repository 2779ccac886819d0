"""Whoever withdraws and joins again begins anew, and learns nothing from having been there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstand.store import studies
from bandstand.study.assignment import draw_number
from bandstand.study.design import Design
from bandstand.study.service import StudyService
from tests.fixtures.study.participants import served

if TYPE_CHECKING:
    from bandstand.store.database.connection import Store
    from tests.fixtures.study.participants import Person, Study

# Six algorithms: a square of six rows.
SQUARE = Design(least_songs=10)


def seeds(person: Person) -> set[int]:
    return {row.seed for row in person.arms}


def joins_twice(person: Person) -> tuple[set[int], set[int]]:
    """Return what the parts of somebody draw by, before and after they have withdrawn."""
    person.joins()
    before = seeds(person)
    person.service.withdraw(person.account).result()
    person.joins()
    return before, seeds(person)


def test_nothing_is_drawn_again(study: Study) -> None:
    before, after = joins_twice(study.person())
    assert before.isdisjoint(after)


def test_a_desk_that_draws_the_same_is_found_out(study: Study) -> None:
    """The twin: what follows from the number, and the number is free again."""
    study.service = StudyService(study.store, study.radio, study.clock, draw=lambda _: 0)
    before, after = joins_twice(study.person())
    assert before == after


def test_the_rules_of_before_do_not_bind_whoever_comes_back(study: Study) -> None:
    person = study.person()
    person.joins()
    person.finishes(1)
    assert person.status.why == "too_soon"
    person.service.withdraw(person.account).result()
    person.joins()
    assert (person.status.state, person.status.place) == ("begin", 1)


def numbers(study: Study, people: int) -> list[int]:
    """Return the numbers of so many people, in the order in which they join."""
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
