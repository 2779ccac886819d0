"""One rating counts once, whatever is lost, repeated or done at the same time."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from bandstand.errors import KeyReusedError
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.writer import GroupWriter
from bandstand.store.events import events
from bandstand.store.events.events import Appended, NewEvent, append
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.sample_log import (
    NOW,
    account_and_songs,
    adding,
    new_account,
    new_songs,
    rating,
)


class _Lost(Exception):  # noqa: N818  # it stands for a process that is gone
    """What ends a transaction before its commit."""


class Try(NamedTuple):
    """One attempt to send an event."""

    account: int
    key: int
    stars: int  # of the key: another number is another event under the same key
    is_lost: bool  # before it is committed


tries = st.lists(
    st.builds(
        Try,
        account=st.integers(0, 1),
        key=st.integers(0, 4),
        stars=st.sampled_from([3, 3, 3, 3, 4]),
        is_lost=st.booleans(),
    ),
    max_size=20,
)


def send_all(connection: Connection, attempts: list[Try]) -> None:
    """Send events again and again, lose some, and compare the logs with what should be there."""
    songs = new_songs(connection, 1)
    ids = [new_account(connection), new_account(connection)]
    expected: list[dict[int, Appended]] = [{}, {}]
    for number, attempt in enumerate(attempts):
        known = expected[attempt.account]
        new = rating(ids[attempt.account], songs[0], str(attempt.key), attempt.stars)
        with suppress(_Lost, KeyReusedError), connection.begin_nested():
            answer = append(connection, new, now=NOW + number)
            first = known.get(attempt.key)
            assert answer.is_new == (first is None)
            assert first is None or answer.event == first.event
            assert answer.event.stars == attempt.stars
            if attempt.is_lost:
                raise _Lost
            known.setdefault(attempt.key, answer)
    for account, known in zip(ids, expected, strict=True):
        log = list(events.after(connection, account))
        assert [event.seq for event in log] == list(range(1, len(known) + 1))
        assert log == [answer.event for answer in known.values()]
        assert events.check_chain(connection, account) == []


@some_examples
@given(attempts=tries)
def test_events_are_as_many_as_their_keys(shared: Store, attempts: list[Try]) -> None:
    with discarded(shared) as connection:
        send_all(connection, attempts)


@pytest.mark.long
@settings(max_examples=10_000)
@given(attempts=tries)
def test_events_are_as_many_as_keys_many_times(shared: Store, attempts: list[Try]) -> None:
    with discarded(shared) as connection:
        send_all(connection, attempts)


def send_at_once(
    send: Callable[[NewEvent], Appended], news: list[NewEvent], threads: int
) -> list[list[Appended]]:
    """Return what several threads were answered that send the same events, each from elsewhere."""
    start = threading.Barrier(threads)

    def work(number: int) -> list[Appended]:
        cut = number * len(news) // threads
        start.wait()
        return [send(new) for new in [*news[cut:], *news[:cut]]]

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(threads)))


def check_one_order(store: Store, account: str, answers: list[list[Appended]], count: int) -> None:
    """Check that a log holds every event once, and that all answers agree."""
    with store.reading() as connection:
        log = list(events.after(connection, account))
        assert events.check_chain(connection, account) == []
    assert [event.seq for event in log] == list(range(1, count + 1))
    assert len({event.key for event in log}) == count
    told = [answer.event for thread in answers for answer in thread]
    assert set(told) == set(log)
    assert sum(answer.is_new for thread in answers for answer in thread) == count


@pytest.mark.parametrize("threads", [2, 8])
def test_tabs_that_send_the_same_at_once_agree(store: Store, threads: int) -> None:
    account, songs = account_and_songs(store)
    news = [rating(account, songs[number % 3], str(number)) for number in range(24)]

    def send(new: NewEvent) -> Appended:
        with store.writing() as connection:
            return append(connection, new, now=NOW)

    answers = send_at_once(send, news, threads)
    check_one_order(store, account, answers, len(news))


def test_two_writers_on_one_store_agree(place: str) -> None:
    """As two processes on one PostgreSQL would be; on SQLite they wait for each other."""
    with open_store(place) as one, open_store(place) as two:
        account, songs = account_and_songs(one)
        other, _ = account_and_songs(one)
        news = [
            rating(who, songs[number % 3], str(number))
            for number in range(30)
            for who in (account, other)
        ]
        with GroupWriter(one) as first, GroupWriter(two) as second:
            writers = [first, second]
            sent = iter(range(10_000))

            def send(new: NewEvent) -> Appended:
                writer = writers[next(sent) % 2]
                return writer.submit(adding(new), order=new.account).result(timeout=60)

            answers = send_at_once(send, news, 6)
        for who in (account, other):
            mine = [[it for it in thread if it.event.account == who] for thread in answers]
            check_one_order(one, who, mine, 30)
