"""One thread writes for all: together where it can, and none to the harm of another."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy import event as listen

from bandstand.errors import (
    InvalidInputError,
    KeyReusedError,
    NotFoundError,
    StoreError,
    StoreFailedError,
    StoreLockedError,
)
from bandstand.store.database import writer
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.writer import GroupWriter
from bandstand.store.events import events
from bandstand.store.songs import scans
from tests.fixtures.store.lock_process import held_elsewhere
from tests.fixtures.store.sample_log import UNKNOWN, account_and_songs, adding, rating
from tests.store.database.test_transactions import number_of_scans

SECONDS = 60


def begin(connection: Connection) -> int:
    """Write something that can be counted."""
    return scans.begin(connection, now=1)


@contextmanager
def busy(group_writer: GroupWriter) -> Iterator[None]:
    """Keep a writer busy for the time of a block, so that what is submitted gathers."""
    started, leave = threading.Event(), threading.Event()

    def work(_connection: Connection) -> None:
        started.set()
        assert leave.wait(SECONDS)

    held = group_writer.submit(work)
    assert started.wait(SECONDS)
    try:
        yield
    finally:
        leave.set()
    held.result(SECONDS)


@contextmanager
def busy_outside(group_writer: GroupWriter) -> Iterator[threading.Event]:
    """Keep a writer busy with an answer, outside of any transaction, until the event is set."""
    listened, started, leave = threading.Event(), threading.Event(), threading.Event()

    def hold(_future: object) -> None:
        started.set()
        assert leave.wait(SECONDS)

    first = group_writer.submit(lambda _connection: listened.wait(SECONDS))
    first.add_done_callback(hold)
    listened.set()
    assert started.wait(SECONDS)
    try:
        yield leave
    finally:
        leave.set()


def commits(store: Store) -> list[object]:
    """Return a list that grows with each transaction that is committed."""
    seen: list[object] = []
    listen.listen(store._engines.writer, "commit", seen.append)
    return seen


def test_an_answer_is_on_the_disk_before_it_is_given(place: str) -> None:
    with open_store(place) as store, GroupWriter(store) as group:
        for number in range(1, 4):
            assert group.submit(begin).result(SECONDS) == number
            with open_store(place) as other:
                assert number_of_scans(other) == number
        assert group.failure is None


def test_what_waits_together_is_committed_together(store: Store) -> None:
    account, songs = account_and_songs(store)
    with GroupWriter(store) as group:
        seen = commits(store)
        with busy(group):
            futures = [
                group.submit(adding(rating(account, songs[0], str(number))))
                for number in range(writer.MAX_GROUP_TASKS + 10)
            ]
        numbers = [future.result(SECONDS).event.seq for future in futures]
    assert numbers == list(range(1, writer.MAX_GROUP_TASKS + 11))
    assert len(seen) == 3  # the busy one, and two groups


def test_what_waits_together_is_done_in_order(store: Store) -> None:
    done: list[str] = []

    def noted(name: str) -> Callable[[Connection], None]:
        return lambda _connection: done.append(name)

    with GroupWriter(store) as group:
        with busy(group):
            for name in ("b1", "a1", "c1", "b2", "a2", "a3"):
                group.submit(noted(name), order=name[0])
        group.submit(noted("last"), order="").result(SECONDS)
    assert done == ["a1", "a2", "a3", "b1", "b2", "c1", "last"]


class _OwnError(Exception):
    """An unexpected error."""


def wrong_works(account: str, song: str) -> list[tuple[Callable[[Connection], Any], type]]:
    """Return works that go wrong after having written, and with what."""

    def writes_and(act: Callable[[Connection], Any]) -> Callable[[Connection], Any]:
        def work(connection: Connection) -> Any:
            begin(connection)
            return act(connection)

        return work

    def raises(problem: BaseException) -> Callable[[Connection], Any]:
        def work(_connection: Connection) -> Any:
            raise problem

        return work

    no_digest = "INSERT INTO log_end (account_id, seq, at) VALUES ('x', 0, 0)"
    return [
        (writes_and(adding(rating(UNKNOWN, song))), NotFoundError),
        (writes_and(adding(rating(account, UNKNOWN))), NotFoundError),
        (writes_and(adding(rating(account, song, "used", 1))), KeyReusedError),
        (writes_and(lambda to: to.execute(text("SELECT * FROM nowhere"))), StoreError),
        (writes_and(lambda to: to.execute(text(no_digest))), StoreError),
        (writes_and(raises(_OwnError())), _OwnError),
        (writes_and(raises(InvalidInputError("no"))), InvalidInputError),
        (writes_and(raises(StoreError("no"))), StoreError),
        (writes_and(raises(SystemExit(3))), SystemExit),
    ]


def test_one_that_goes_wrong_harms_no_other_and_leaves_nothing(store: Store) -> None:
    account, songs = account_and_songs(store)
    with GroupWriter(store) as group:
        used = rating(account, songs[0], "used", 5)
        group.submit(adding(used)).result(SECONDS)
        wrong = wrong_works(account, songs[0])
        good: list[Future[events.Appended]] = []
        bad: list[Future[Any]] = []
        with busy(group):
            for number, (work, _) in enumerate(wrong):
                new = rating(account, songs[0], str(number))
                good.append(group.submit(adding(new)))
                bad.append(group.submit(work))
        numbers = [future.result(SECONDS).event.seq for future in good]
        assert numbers == list(range(2, len(wrong) + 2))
        for future, (_, expected) in zip(bad, wrong, strict=True):
            assert type(future.exception(SECONDS)) is expected
        assert group.failure is None
        assert group.submit(begin).result(SECONDS) == 1
    with store.reading() as connection:
        assert events.check_chain(connection, account) == []


def test_one_alone_that_goes_wrong_leaves_nothing(store: Store) -> None:
    account, songs = account_and_songs(store)
    with GroupWriter(store) as group:
        for work, expected in wrong_works(account, songs[0]):
            if expected is not KeyReusedError:
                assert type(group.submit(work).exception(SECONDS)) is expected
    assert number_of_scans(store) == 0


def test_the_answer_of_one_that_depends_on_another_is_that_of_the_log(store: Store) -> None:
    """Two events under one key in one group: the second is refused because of the first."""
    account, songs = account_and_songs(store)
    with GroupWriter(store) as group, busy(group):
        answers = [
            group.submit(adding(new))
            for new in (rating(account, songs[0], "k", 1), rating(account, songs[0], "k", 2))
        ]
    assert answers[0].result(SECONDS).event.stars == 1
    assert type(answers[1].exception(SECONDS)) is KeyReusedError


def test_what_was_called_off_before_a_lock_was_given_up_does_no_harm(tmp_path: Path) -> None:
    place = str(tmp_path / "radio.db")
    with open_store(place, wait=0.3) as store, GroupWriter(store) as group:
        with busy_outside(group) as leave, held_elsewhere(place, 60):
            futures = [group.submit(begin) for _ in range(6)]
            called_off = futures.pop(2)
            assert called_off.cancel()
            leave.set()
            kinds = {type(future.exception(SECONDS)) for future in futures}
            assert kinds == {StoreLockedError}
        assert group.submit(begin).result(SECONDS) == 1


def test_close_finishes_what_waits(store: Store) -> None:
    group = GroupWriter(store)
    with busy(group):
        futures = [group.submit(begin) for _ in range(300)]
        closing = threading.Thread(target=group.close)
        closing.start()
    closing.join(SECONDS)
    assert [future.result(0) for future in futures] == list(range(1, 301))
    late = group.submit(begin)
    assert "must be open, got a closed one" in str(late.exception(0))
    group.close()


def test_too_many_are_refused_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MAX_WAITING_TASKS", 20)
    with GroupWriter(store) as group:
        with busy(group):
            waiting = [group.submit(begin) for _ in range(20)]
            late = group.submit(begin)
            assert isinstance(late.exception(0), StoreLockedError)
        assert [future.result(SECONDS) for future in waiting] == list(range(1, 21))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_writer_that_dies_answers_all(store: Store) -> None:
    def leave(_future: object) -> None:
        raise SystemExit  # which ends the thread that tells of the answer

    group = GroupWriter(store)
    with busy(group):
        first = group.submit(begin)
        first.add_done_callback(leave)
        others = [group.submit(begin) for _ in range(300)]
    assert first.result(SECONDS) == 1
    for future in others:
        assert isinstance(future.exception(SECONDS), StoreFailedError)
    group._thread.join(SECONDS)
    assert "has ended" in str(group.failure)
    assert isinstance(group.submit(begin).exception(0), StoreFailedError)
    group.close()


def test_all_that_wait_for_a_long_lock_are_refused_together(place: str) -> None:
    with open_store(place, wait=0.5) as store:
        account, songs = account_and_songs(store)
        with GroupWriter(store) as group:
            with held_elsewhere(place, 60):
                start = time.monotonic()
                futures = []
                for number in range(60):
                    new = rating(account, songs[0], str(number))
                    futures.append(group.submit(adding(new)))
                    time.sleep(0.002)
                problems = [future.exception(SECONDS) for future in futures]
                # One after the other they would have taken 30 s.
                assert time.monotonic() - start < 15
                assert {type(problem) for problem in problems} == {StoreLockedError}
                assert len({id(problem) for problem in problems}) == len(problems)
            # The lock is gone, and so is the trouble.
            again = group.submit(adding(rating(account, songs[0], "x")))
            assert again.result(SECONDS).event.seq == 1
