"""A look at the store has an end, and the write-ahead log shrinks behind it (A9)."""

import math
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, text, update

from bandstand.errors import InvalidInputError, StoreError, StoreLockedError
from bandstand.store.database.connection import MAX_LOG_BYTES, FairLock, Store, open_store
from bandstand.store.database.schema import SCAN, STORE
from bandstand.store.songs import files, projections, scans, songs
from bandstand.store.songs.changes import claim, identity
from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.store.examples import analysis, record_analysis
from tests.fixtures.store.lock_process import held_elsewhere


class OddError(Exception):
    """Something that no database raised."""


def number_of_scans(store: Store) -> int:
    with store.reading() as connection:
        return connection.execute(select(func.count()).select_from(SCAN)).scalar_one()


@pytest.mark.parametrize(
    "problem", [OddError("odd"), InvalidInputError("bad"), KeyboardInterrupt()]
)
def test_what_a_block_wrote_before_it_fails_is_undone(store: Store, problem: BaseException) -> None:
    with pytest.raises(type(problem)), store.writing() as connection:  # noqa: PT012
        scans.begin(connection, now=1)
        record_analysis(connection, b"/a", analysis(), scan=1, now=1)
        raise problem
    assert number_of_scans(store) == 0
    with store.writing() as connection:
        assert identity(connection).song_changes == 0
        assert list(files.under(connection, b"/")) == []
        assert songs.find(connection, "Song", limit=1) == []
        assert scans.begin(connection, now=1) == 1


def test_a_reader_cannot_write(store: Store) -> None:
    with pytest.raises(StoreError, match="cannot be written"), store.reading() as connection:
        connection.execute(update(STORE).values(song_changes=7))
    with store.writing() as connection:
        scans.begin(connection, now=1)
        assert identity(connection).song_changes == 0


def test_a_reader_sees_one_moment_while_others_write(store: Store) -> None:
    with store.reading() as reader:
        assert scans.latest(reader) is None
        with store.writing() as writer:
            scans.begin(writer, now=1)
        assert scans.latest(reader) is None
    assert number_of_scans(store) == 1


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_the_tables_themselves_refuse_what_is_not_finite(store: Store, number: float) -> None:
    with store.writing() as connection:
        song = record_analysis(connection, b"/a", analysis(), scan=1, now=1).song_id
    for column in ("duration", "track_gain", "track_peak", "album_gain", "album_peak"):
        change = text(f"UPDATE song SET {column} = :number WHERE id = :song")  # noqa: S608
        # SQLite makes NULL of NaN, which only a duration may not be.
        becomes_null = math.isnan(number) and "postgresql" not in str(store.location)
        if not becomes_null or column == "duration":
            with pytest.raises(StoreError), store.writing() as connection:
                connection.execute(change, {"number": number, "song": song})


def test_a_file_has_a_song_or_a_problem_and_no_song_twice(store: Store) -> None:
    with store.writing() as connection:
        record_analyses(connection, [(b"/a", analysis(1)), (b"/b", analysis(2))], scan=1, now=1)
    for wrong in (
        "UPDATE file SET song_id = NULL",
        "UPDATE file SET song_id = (SELECT min(id) FROM song)",
        "UPDATE file SET song_id = '0123456789abcdef'",
        "UPDATE file SET size = -1",
        "DELETE FROM song",
    ):
        with pytest.raises(StoreError, match="cannot do this"), store.writing() as connection:
            connection.execute(text(wrong))


def run_together(work: Callable[[], None], count: int) -> None:
    """Run the same work in several threads, and raise what went wrong in any."""
    with ThreadPoolExecutor(count) as pool:
        for running in [pool.submit(work) for _ in range(count)]:
            running.result()


def test_a_short_lock_is_waited_for(place: str) -> None:
    with open_store(place) as store, held_elsewhere(place, 0.5):
        with store.writing() as connection:
            assert scans.begin(connection, now=1) == 1
        assert number_of_scans(store) == 1


def test_a_long_lock_ends_in_one_sentence(place: str) -> None:
    with open_store(place, wait=0.2) as store, held_elsewhere(place, 60):
        start = time.monotonic()
        with pytest.raises(StoreLockedError) as refused, store.writing() as connection:
            scans.begin(connection, now=1)
        assert time.monotonic() - start < 30
        sentence = str(refused.value)
        assert "must be free to write to within 0.2 s" in sentence
        assert len(sentence.splitlines()) == 1
    with open_store(place) as store:
        assert number_of_scans(store) == 0


def test_a_new_store_waits_for_a_program_that_holds_its_file(tmp_path: Path) -> None:
    """SQLite itself does not always wait where a file gets another kind of journal."""
    path = tmp_path / "radio.db"
    path.touch()
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE half_made (x)")
        with pytest.raises(StoreLockedError):
            open_store(str(path), wait=0.1)
        leaving = threading.Timer(0.3, other.rollback)
        leaving.start()
        with open_store(str(path)) as store:
            assert number_of_scans(store) == 0
        leaving.join()


def test_threads_that_read_and_then_write_lose_nothing(store: Store) -> None:
    def work() -> None:
        for _ in range(25):
            with store.writing() as connection:
                claim(connection)
                seen = identity(connection).song_changes
                connection.execute(update(STORE).values(song_changes=seen + 1))
            with store.writing() as connection:
                scans.begin(connection, now=1)

    run_together(work, 4)
    assert number_of_scans(store) == 100
    with store.reading() as connection:
        assert identity(connection).song_changes == 100


SECONDS = 60


def until(is_so: Callable[[], bool]) -> None:
    """Return when something is so."""
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)


def wait_for(lock: FairLock, number: int) -> None:
    """Return when `number` threads wait for their turn."""
    until(lambda: len(lock._queue) > number)


def test_who_waited_longest_is_next_also_before_one_who_never_pauses() -> None:
    lock = FairLock()
    order: list[int] = []

    def work(number: int) -> None:
        assert lock.acquire(timeout=SECONDS)
        order.append(number)
        lock.release()

    assert lock.acquire(timeout=0)
    with ThreadPoolExecutor(5) as pool:
        for number in range(5):
            pool.submit(work, number)
            wait_for(lock, number + 1)
        lock.release()
        assert lock.acquire(timeout=SECONDS)  # at once, and yet behind all of them
        assert order == [0, 1, 2, 3, 4]
        lock.release()


TOO_LONG = "must be read within 0.2 s at a time, got longer"
# Takes minutes where nothing interrupts it, in both databases.
ENDLESS = text(
    "WITH RECURSIVE numbers(n) AS "
    "(SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 300000000) "
    "SELECT count(*) FROM numbers"
)


def save(connection: Connection, size: int) -> None:
    projections.save(
        connection, descriptor_version=1, songs=1, columns=1, content=bytes(size), now=1
    )


def test_a_statement_that_runs_too_long_is_interrupted_and_the_store_goes_on(store: Store) -> None:
    for _ in range(3):
        with pytest.raises(StoreError, match=TOO_LONG), store.reading(limit=0.2) as connection:
            connection.execute(ENDLESS)
    with store.reading() as connection:
        assert scans.latest(connection) is None
    with store.writing() as connection:
        assert scans.begin(connection, now=1) == 1


def test_the_log_shrinks_when_a_slow_reader_has_left(tmp_path: Path) -> None:
    path = tmp_path / "radio.db"
    log = tmp_path / "radio.db-wal"
    with open_store(str(path)) as store:
        with store.reading(limit=None) as reader:
            scans.latest(reader)
            for _ in range(20):
                with store.writing() as connection:
                    save(connection, 4_000_000)
            assert log.stat().st_size > MAX_LOG_BYTES, "the reader held nothing back"
        for _ in range(3):
            with store.writing() as connection:
                scans.begin(connection, now=1)
        assert log.stat().st_size <= MAX_LOG_BYTES


def test_a_turn_is_given_once() -> None:
    lock = FairLock()
    assert lock.acquire(timeout=0)
    assert not lock.acquire(timeout=0)
    assert not lock.acquire(timeout=0.01)
    lock.release()
    assert lock.acquire(timeout=0)


def test_a_thread_that_holds_the_writer_too_long_is_reported_to_the_others(tmp_path: Path) -> None:
    with (
        open_store(str(tmp_path / "radio.db"), wait=0.1) as store,
        store.writing(),
        pytest.raises(StoreLockedError),
        store.writing(),
    ):
        pass


def test_a_statement_that_comes_too_late_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match=TOO_LONG), store.reading(0.2) as connection:  # noqa: PT012
        connection.execute(select(SCAN))
        time.sleep(0.25)
        connection.execute(select(SCAN))
