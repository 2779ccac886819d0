"""The service of a study, on both databases: all its rules, from consent to withdrawal."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from bandstand.errors import NotFoundError, RefusedError
from bandstand.store import studies
from bandstand.store.database.connection import Store
from bandstand.store.events import events
from bandstand.study.queries import Membership
from bandstand.study.service import StudyService
from tests.fixtures.study.participants import HOUR, Clock, Study, served, short_design


def refused(act: Callable[[], Any]) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        act()
    return caught.value


def test_an_unknown_arm_is_refused_in_the_words_of_anothers(study: Study) -> None:
    person, other = study.person(), study.person()
    person.joins()
    other.joins()
    theirs = other.status.arms[0].id
    acts: list[Callable[[str], object]] = [
        lambda arm: person.service.next(person.account, arm),
        lambda arm: person.service.begin(person.account, arm).result(),
        lambda arm: person.rates(arm, 1),
    ]
    for act in acts:
        no, unknown = (refused(partial(act, arm)) for arm in (theirs, "0" * 16))
        assert (no.code, no.message, no.until) == (unknown.code, unknown.message, unknown.until)


def test_a_closed_study_takes_nothing_more_but_lets_people_go(study: Study) -> None:
    person, arm = study.listening()
    shown = person.asks(arm)
    study.clock.now = shown.may_rate_at
    study.close()
    assert refused(lambda: person.rates(arm, 1)).code == "closed"
    assert refused(lambda: person.service.next(person.account, arm)).code == "closed"
    assert refused(lambda: person.service.begin(person.account, arm).result()).code == "closed"
    assert refused(lambda: study.person().joins()).code == "closed"
    assert person.service.status(person.account) is None
    assert person.service.membership(person.account) == Membership(only=False, joined=True)
    assert (person.service.answer_seconds(), person.service.progress()) == (0.0, [])
    assert person.service.withdraw(person.account).result() is False
    assert person.arms == []
    assert person.service.membership(person.account) is None


def test_whoever_was_made_for_a_study_does_not_become_a_listener_when_it_ends(study: Study) -> None:
    invited = study.invited()
    study.close()
    assert study.service.membership(invited.account) == Membership(only=True, joined=False)


def test_an_arm_of_an_earlier_study_is_closed(full: Store) -> None:
    with served(full, short_design()) as first:
        person = first.person()
        person.joins()
        arm = person.begins()
        first.close()
    with served(full, short_design(title="Second")) as second:
        service = second.service
        assert refused(lambda: service.next(person.account, arm)).code == "closed"


def test_a_store_without_a_study_has_none(full: Store) -> None:
    with served(full, short_design()) as study:
        study.close()
        person = study.person()
        assert study.service.status(person.account) is None
        assert refused(lambda: study.service.join(person.account).result()).code == "closed"
        assert refused(lambda: study.service.withdraw(person.account).result()).code == "no_consent"


def test_joining_and_beginning_again_change_nothing(study: Study) -> None:
    person = study.participant()
    before = person.arms
    person.joins()
    assert person.arms == before
    person.begins()
    before = person.arms
    study.clock.now += HOUR
    person.begins()
    assert person.arms == before


# ── Blindness ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("late", "offered"), [(0, 3_000), (400, 3_000), (9_000, 9_000)])
def test_a_song_counts_as_offered_when_it_is_shown_however_quick_the_choice(
    study: Study, late: int, offered: int
) -> None:
    person, arm = study.listening()
    asked = study.clock.now
    study.clock.now += late
    shown = person.service.next(person.account, arm, asked=asked)
    assert shown.offered_at == asked + offered
    assert shown.may_rate_at == shown.offered_at + 30_000


def test_no_song_is_seen_before_it_is_shown(study: Study) -> None:
    person, arm = study.listening()
    before = person.status
    shown = person.service.next(person.account, arm)
    assert person.status == before
    assert refused(lambda: person.rates(arm, 1, known=True)).code == "not_offered"
    study.clock.now = shown.offered_at
    assert person.status.pending == shown


def test_nothing_that_is_answered_names_an_algorithm(study: Study) -> None:
    person, arm = study.listening()
    shown = person.hears(arm)
    said = repr(
        (dataclasses.asdict(person.status), dataclasses.asdict(shown), study.service.progress())
    )
    for row in person.arms:
        assert row.algorithm not in said
        assert str(row.seed) not in said
    assert study.id not in said  # from which, with a number, the order would follow


# ── Songs ────────────────────────────────────────────────────────────────────────────────


def test_a_song_whose_file_is_gone_is_replaced_under_its_number(study: Study) -> None:
    person, arm = study.listening()
    person.hears(arm)
    gone = person.asks(arm)
    study.loses(gone.song.id)
    assert person.status.pending is None
    instead = person.asks(arm)
    assert instead.number == gone.number
    assert instead.song.id != gone.song.id
    assert [row.number for row in person.songs(arm)] == [1, 2]
    study.clock.now = instead.may_rate_at
    person.rates(arm, 2)


def test_songs_that_are_gone_are_not_chosen_but_stay_learned(full: Store) -> None:
    with served(full, short_design(ratings_per_arm=100, rest_seconds=0)) as study:
        person, arm = study.listening()
        heard = person.hears(arm).song.id
        study.loses(heard)
        study.radio.refresh()
        for _ in range(8):
            assert person.hears(arm).song.id != heard
        assert person.songs(arm)[0].song == heard


def test_a_study_whose_songs_are_all_gone_says_so(study: Study) -> None:
    person, arm = study.listening()
    for song in study.radio.catalogue.ids:
        study.loses(song)
    with pytest.raises(NotFoundError, match="one of the study's 30 songs must be there, got none"):
        person.asks(arm)
    study.radio.refresh()
    with pytest.raises(NotFoundError, match="one of the study's 30 songs must be there, got none"):
        person.asks(arm)


def test_the_radio_learns_nothing_from_the_study(study: Study) -> None:
    person = study.participant()
    person.hears(person.begins())
    with study.store.reading() as connection:
        assert list(events.after(connection, person.account)) == []
    assert study.radio.ledger(person.account).seq == 0


# ── People ───────────────────────────────────────────────────────────────────────────────


def test_whoever_was_invited_keeps_their_number(study: Study) -> None:
    first, second = study.invited(), study.invited()
    walked_in = study.person()
    for person in (walked_in, second, first):
        person.joins()
    with study.store.reading() as connection:
        numbers = {row.account: row.number for row in studies.participants(connection, study.id)}
    assert numbers.pop(walked_in.account) in {3, 4}  # of the second square
    assert numbers == {first.account: 1, second.account: 2}


def test_progress_is_that_of_all_participants(study: Study) -> None:
    person = study.person()
    study.invited()
    joined_at = study.clock.now
    person.joins()
    person.finishes(1)
    one, two = study.service.progress()
    assert (one.number, one.joined_at, one.ratings, one.last_at) == (1, None, 0, None)
    assert (two.number, two.joined_at, two.arms_done, two.arms) == (2, joined_at, 1, 2)
    assert (two.ratings, two.last_at) == (4, study.clock.now)


def test_a_clock_that_goes_back_breaks_nothing(study: Study) -> None:
    person, arm = study.listening()
    person.hears(arm)
    study.clock.now -= 10_000
    shown = person.asks(arm)
    person.rates(arm, shown.number, known=True)
    first, second = person.songs(arm)
    assert second.offered_at < (first.rated_at or 0)
    assert second.rated_at == first.rated_at  # what is learned must be in order
    study.clock.now = person.status.until or 0
    assert person.asks(arm).number == 3


def test_a_new_service_continues_where_the_last_one_stopped(study: Study) -> None:
    person, arm = study.listening()
    person.hears(arm)
    shown = person.asks(arm)
    study.service = StudyService(study.store, study.radio, Clock(study.clock.now))
    assert person.status.pending == shown
    assert person.asks(arm) == shown
