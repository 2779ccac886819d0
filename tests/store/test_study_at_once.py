"""Devices and processes that do the same at once: it is done once, and the others are refused."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, text

from bandstand.errors import ConflictError, NotFoundError, StoreLockedError
from bandstand.store import accounts, studies
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.writer import GroupWriter
from bandstand.store.transfer.verify import verify
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.store.postgres_server import PostgresServer
from tests.fixtures.store.sample_store import NOW, add_account
from tests.fixtures.store.sample_store import rate as rate_in_log
from tests.fixtures.store.sample_study import add_study, begun, joined

RATING: dict[str, Any] = {"stars": 4, "known": False, "played_ms": 30_000, "now": NOW}


def at_once(stores: list[Store], work: Callable[[Connection], object]) -> list[str]:
    """Return what each of several threads was answered that do the same work at once."""
    start = threading.Barrier(len(stores))

    def attempt(store: Store) -> str:
        start.wait()
        try:
            with store.writing() as connection:
                work(connection)
        except ConflictError:
            return "conflict"
        return "done"

    with ThreadPoolExecutor(len(stores)) as pool:
        return sorted(pool.map(attempt, stores))


def test_devices_that_offer_and_rate_the_same_at_once_count_once(place: str) -> None:
    with open_store(place) as one, open_store(place) as two:
        study = begun(one)
        for number in range(1, 7):
            offer = partial(
                studies.offer,
                arm=study.arm,
                number=number,
                song=study.songs[number % 3],
                choose_ms=1,
                now=NOW + number,
            )
            rate = partial(studies.rate, arm=study.arm, number=number, **RATING)
            for work in (offer, rate):
                assert at_once([one, two, one, two], work) == [*["conflict"] * 3, "done"]
        with one.reading() as connection:
            kept = studies.songs_of(connection, study.arm)
        assert [it.number for it in kept] == list(range(1, 7))
        assert verify(one).is_whole


def test_an_arm_is_begun_once_and_numbers_are_given_once(place: str) -> None:
    with ExitStack() as opened:
        stores = [opened.enter_context(open_store(place)) for _ in range(4)]
        study = begun(stores[0])
        with stores[0].writing() as connection:
            later = studies.arms(connection, study.id, study.account)[1].id
            people = iter([add_account(connection, f"P{number}").id for number in range(4)])
        assert at_once(stores, lambda it: studies.begin(it, later, NOW)) == [
            *["conflict"] * 3,
            "done",
        ]
        assert at_once(stores, lambda it: joined(it, study.id, next(people))) == ["done"] * 4
        with stores[0].reading() as connection:
            everybody = studies.participants(connection, study.id)
        assert [it.number for it in everybody] == [1, 2, 3, 4, 5]


def test_a_study_is_opened_once(place: str) -> None:
    with ExitStack() as opened:
        stores = [opened.enter_context(open_store(place)) for _ in range(4)]
        titles = iter("abcd")
        assert at_once(stores, lambda it: add_study(it, next(titles))) == [
            *["conflict"] * 3,
            "done",
        ]


def test_what_was_read_after_a_claim_stays_true(place: str) -> None:
    """Two devices begin two arms at once, each after it has seen that none is begun."""
    with open_store(place) as one, open_store(place) as two:
        study = begun(one)
        with one.writing() as connection:
            bob = add_account(connection, "Bob").id
            arms = iter([it.id for it in joined(connection, study.id, bob)])

        def begin_if_none_is(connection: Connection) -> None:
            studies.claim(connection, study.id, bob)
            if any(it.begun_at for it in studies.arms(connection, study.id, bob)):
                msg = "one arm at a time was expected, got another"
                raise ConflictError(msg)
            studies.begin(connection, next(arms), NOW)

        assert at_once([one, two, one, two], begin_if_none_is) == [*["conflict"] * 3, "done"]


def test_who_withdraws_while_a_song_is_offered_is_gone(place: str) -> None:
    with open_store(place) as one, open_store(place) as two:
        study = begun(one)
        start = threading.Barrier(2)
        offering: dict[str, Any] = {"number": 1, "song": study.songs[0], "choose_ms": 1, "now": NOW}

        def offer() -> None:
            start.wait()
            with suppress(NotFoundError), one.writing() as connection:
                studies.offer(connection, study.arm, **offering)

        def withdraw() -> None:
            start.wait()
            with two.writing() as connection:
                studies.withdraw(connection, study.id, study.account)

        with ThreadPoolExecutor(2) as pool:
            for running in [pool.submit(offer), pool.submit(withdraw)]:
                running.result()
        with one.reading() as connection:
            assert list(studies.rows(connection, study.id)) == []
        assert verify(one).is_whole


def test_one_that_is_refused_in_a_group_harms_no_other(store: Store) -> None:
    study = begun(store)
    offering: dict[str, Any] = {"song": study.songs[0], "choose_ms": 1, "now": NOW}
    with GroupWriter(store) as writer:
        answers = [
            writer.submit(partial(studies.offer, arm=study.arm, number=number, **offering))
            for number in (1, 1, 2)
        ]
        assert answers[0].exception(timeout=60) is None
        for refused in answers[1:]:
            assert isinstance(refused.exception(timeout=60), ConflictError)


def test_without_the_claim_two_arms_would_be_begun(postgres: PostgresServer) -> None:
    place = postgres.new_schema()
    with open_store(place) as one, open_store(place) as two:
        study = begun(one)
        with one.writing() as connection:
            bob = add_account(connection, "Bob").id
            arms = iter([it.id for it in joined(connection, study.id, bob)])
        have_read = threading.Barrier(2)

        def begin_if_none_is(connection: Connection) -> None:
            assert not any(it.begun_at for it in studies.arms(connection, study.id, bob))
            have_read.wait()
            studies.begin(connection, next(arms), NOW)

        assert at_once([one, two], begin_if_none_is) == ["done", "done"]


def in_the_way(store: Store, other: Future[Any]) -> bool:
    """Return whether a connection waits for a lock before `other` is done."""
    waiting = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    deadline = time.monotonic() + PATIENCE
    while not other.done() and time.monotonic() < deadline:
        with store.reading() as connection:
            if connection.scalar(waiting):
                return True
        time.sleep(0.02)
    return False


def written(store: Store, work: Callable[[Connection], object]) -> str:
    """Return what came of a transaction: "done", or which error."""
    try:
        with store.writing() as connection:
            work(connection)
    except (ConflictError, NotFoundError, StoreLockedError) as problem:
        return type(problem).__name__
    return "done"


def claimed_and_removed(place: str) -> list[str]:
    """Return what comes of a claim with an event after it, and of the account's removal between."""
    with open_store(place) as one, open_store(place) as two, ThreadPoolExecutor(1) as pool:
        study = begun(one)

        def listen(connection: Connection) -> None:
            studies.offer(
                connection, study.arm, number=1, song=study.songs[0], choose_ms=1, now=NOW
            )
            removing.append(
                pool.submit(written, two, lambda it: accounts.delete(it, study.account))
            )
            assert in_the_way(one, removing[0])
            rate_in_log(connection, study.account, study.songs[0], "key")

        removing: list[Future[str]] = []
        answers = [written(one, listen), removing[0].result()]
        with one.reading() as connection:
            gone = accounts.get(connection, study.account) is None
        assert gone is (answers[1] == "done")
        return answers


def test_a_removal_waits_for_who_listens_and_not_they_for_each_other(
    postgres: PostgresServer,
) -> None:
    assert claimed_and_removed(postgres.new_schema()) == ["done", "done"]


def never_hold(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let studies lock no rows of one table."""
    hold = studies._hold
    monkeypatch.setattr(
        studies, "_hold", lambda at, table, id_: table.name == name or hold(at, table, id_)
    )


def test_locked_the_other_way_round_they_would_wait_for_each_other(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    never_hold("account", monkeypatch)
    assert "StoreLockedError" in claimed_and_removed(postgres.new_schema())


def closed_while_rated(place: str) -> bool:
    """Return whether a study's closing waits for a rating that is on its way."""
    with open_store(place) as one, open_store(place) as two, ThreadPoolExecutor(1) as pool:
        study = begun(one)
        offering: dict[str, Any] = {"number": 1, "song": study.songs[0], "choose_ms": 1, "now": NOW}
        with one.writing() as connection:
            studies.offer(connection, study.arm, **offering)
        with one.writing() as connection:
            studies.rate(connection, study.arm, number=1, **RATING)
            closing = pool.submit(written, two, lambda it: studies.close(it, study.id, NOW))
            has_waited = in_the_way(one, closing)
        assert closing.result() == "done"
        with one.reading() as connection:
            assert studies.songs_of(connection, study.arm)[0].stars == RATING["stars"]
        return has_waited


def test_a_study_is_closed_after_the_ratings_that_are_on_their_way(
    postgres: PostgresServer,
) -> None:
    assert closed_while_rated(postgres.new_schema())


def test_without_holding_the_study_it_would_be_closed_before_them(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    never_hold("study", monkeypatch)
    assert not closed_while_rated(postgres.new_schema())


def test_what_comes_while_a_study_is_closed_is_refused(postgres: PostgresServer) -> None:
    place = postgres.new_schema()
    with open_store(place) as one, open_store(place) as two, ThreadPoolExecutor(1) as pool:
        study = begun(one)
        offer = partial(
            studies.offer, arm=study.arm, number=1, song=study.songs[0], choose_ms=1, now=NOW
        )
        with one.writing() as connection:
            studies.close(connection, study.id, NOW)
            offering = pool.submit(written, two, offer)
            assert in_the_way(one, offering)
        assert offering.result() == "ConflictError"
        with one.reading() as connection:
            assert studies.songs_of(connection, study.arm) == []
