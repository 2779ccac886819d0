"""Several devices, threads and processes at one study: nothing is lost, nothing is doubled."""

import multiprocessing
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from bandstand.errors import RefusedError
from bandstand.store import studies
from bandstand.store.database.connection import open_store
from bandstand.study import next_song as offering
from tests.fixtures.study.participants import Clock, Person, Study, add_songs, served, short_design
from tests.fixtures.study.requests import ask_apart

T = TypeVar("T")
DEVICES = 6


def all_at_once(acts: Sequence[Callable[[], T]]) -> list[T | RefusedError]:
    """Return what comes of acts that begin at the same moment, each in a thread."""
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], T]) -> T | RefusedError:
        start.wait(timeout=30)
        try:
            return act()
        except RefusedError as no:
            return no

    with ThreadPoolExecutor(len(acts)) as threads:
        return list(threads.map(run, acts))


@pytest.fixture
def two(place: str) -> Iterator[tuple[Study, Study]]:
    """The same study served by two that share nothing but the store, as two processes do."""
    clock = Clock()
    with open_store(place) as one, open_store(place) as other:
        add_songs(one)
        design = short_design(ratings_per_arm=50, rest_after=1, rest_seconds=0)
        with served(one, design, clock) as first, served(other, design, clock) as second:
            yield first, second


def at_both(two: tuple[Study, Study]) -> tuple[Person, Person]:
    """Return one participant, as seen by both servers, with an arm that is begun."""
    here = two[0].person()
    here.joins()
    here.begins()
    return here, Person(study=two[1], account=here.account)


def test_devices_that_ask_at_once_get_the_same_song(study: Study) -> None:
    person, arm = study.listening()
    shown = all_at_once([lambda: person.service.next(person.account, arm)] * DEVICES)
    assert len(set(map(repr, shown))) == 1
    assert [row.number for row in person.songs(arm)] == [1]


def test_two_servers_that_are_asked_at_once_show_the_same_song(two: tuple[Study, Study]) -> None:
    here, there = at_both(two)
    arm = here.status.arms[0].id
    for number in range(1, 6):
        shown = all_at_once([lambda: here.asks(arm), lambda: there.asks(arm)])
        assert repr(shown[0]) == repr(shown[1])
        assert [row.number for row in here.songs(arm)][-1] == number
        two[0].clock.now += 60_000
        there.rates(arm, number)


def test_a_song_that_another_server_offers_meanwhile_is_the_one(
    two: tuple[Study, Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = at_both(two)
    arm = here.status.arms[0].id
    was_chosen, theirs = threading.Event(), []
    choose = offering.SongChooser._chosen

    def slow(self: Any, *args: Any) -> Any:
        choice = choose(self, *args)
        if not was_chosen.is_set():
            was_chosen.set()
            theirs.append(there.asks(arm))
        return choice

    monkeypatch.setattr(offering.SongChooser, "_chosen", slow)
    assert here.asks(arm) == theirs[0]
    assert len(here.songs(arm)) == 1


def test_what_another_server_has_rated_meanwhile_is_learnt_before_the_next_song(
    two: tuple[Study, Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = at_both(two)
    arm = here.status.arms[0].id
    was_chosen = threading.Event()
    choose = offering.SongChooser._chosen

    def slow(self: Any, *args: Any) -> Any:
        choice = choose(self, *args)
        if not was_chosen.is_set():
            was_chosen.set()
            there.hears(arm)
        return choice

    monkeypatch.setattr(offering.SongChooser, "_chosen", slow)
    assert here.asks(arm).number == 2
    assert [row.number for row in here.songs(arm)] == [1, 2]


def test_ratings_sent_at_once_count_once(two: tuple[Study, Study]) -> None:
    here, there = at_both(two)
    arm = here.status.arms[0].id
    shown = here.asks(arm)
    two[0].clock.now = shown.may_rate_at
    told = all_at_once(
        [
            lambda device=device, stars=stars: device.rates(arm, 1, stars)  # type: ignore[misc]
            for stars in (1, 2, 3)
            for device in (here, there)
        ]
    )
    (row,) = here.songs(arm)
    refusals = [no for no in told if isinstance(no, RefusedError)]
    assert {no.code for no in refusals} == {"already_rated"}
    assert len(refusals) == 4  # both devices that sent the stars that count were told so
    assert row.stars in {1, 2, 3}
    assert [arm.rated for arm in here.arms] == [1, 0]


def test_devices_that_agree_at_once_join_once(two: tuple[Study, Study]) -> None:
    person = two[0].person()
    all_at_once(
        [lambda service=it.service: service.join(person.account).result() for it in two] * 3
    )
    assert len(person.arms) == 2
    assert len(two[0].service.progress()) == 1


def test_people_who_join_at_once_have_different_numbers(two: tuple[Study, Study]) -> None:
    people = [two[number % 2].person() for number in range(8)]
    told = all_at_once([person.joins for person in people])
    assert not [no for no in told if isinstance(no, RefusedError)]
    assert [one.number for one in two[0].service.progress()] == list(range(1, 9))


def test_whoever_withdraws_while_a_song_is_chosen_leaves_nothing(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    person, arm = study.listening()
    choose = offering.SongChooser._chosen

    def slow(self: Any, *args: Any) -> Any:
        choice = choose(self, *args)
        study.service.withdraw(person.account).result()
        return choice

    monkeypatch.setattr(offering.SongChooser, "_chosen", slow)
    with pytest.raises(RefusedError) as caught:
        person.asks(arm)
    assert caught.value.code == "no_consent"
    assert person.songs(arm) == []
    assert len(study.service._chooser._cache) == 0


def test_people_do_not_wait_for_each_other(study: Study) -> None:
    """One whose algorithm takes for ever keeps nobody else from their song."""
    slow, quick = study.person(), study.person()
    arms = []
    for person in (slow, quick):
        person.joins()
        arms.append(person.begins())
    with study.service._chooser._cache.locked(arms[0], slow.account):
        assert quick.asks(arms[1]).number == 1
        assert slow.status.state == "listen"  # and what they ask of the rest is answered


def test_two_real_processes_offer_and_rate_everything_once(place: str) -> None:
    """Each asks for and rates whatever is next, until all is rated."""
    clock = Clock()
    count = 12
    with open_store(place) as store:
        add_songs(store)
        design = short_design(
            ratings_per_arm=count, rest_seconds=0, listen_seconds=0, answer_seconds=0
        )
        with served(store, design, clock) as study:
            person = study.person()
            person.joins()
            arm = person.begins()
        context = multiprocessing.get_context("spawn")
        with context.Pool(2) as processes:
            counts = processes.starmap(ask_apart, [(place, person.account, arm)] * 2, chunksize=1)
        with store.reading() as connection:
            rows = studies.songs_of(connection, arm)
    assert [row.number for row in rows] == list(range(1, count + 1))
    assert all(row.stars is not None for row in rows)
    assert sum(counts) >= count
