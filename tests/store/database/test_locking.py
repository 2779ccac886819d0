from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, select, update

from bandstand.errors import StoreLockedError
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.schema import SCAN, STORE
from bandstand.store.songs import scans
from bandstand.store.songs.changes import claim, identity
from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.store.examples import analysis
from tests.fixtures.store.lock_process import held_elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def number_of_scans(store: Store) -> int:
    with store.reading() as connection:
        return connection.execute(select(func.count()).select_from(SCAN)).scalar_one()


def run_together(work: Callable[[], None], count: int) -> None:
    """Run the same work in several threads, and raise what went wrong in any."""
    problems: list[BaseException] = []

    def attempt() -> None:
        try:
            work()
        except BaseException as problem:  # noqa: BLE001
            problems.append(problem)

    threads = [threading.Thread(target=attempt) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


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


def test_a_sqlite_file_can_be_opened_and_read_while_another_process_writes(tmp_path: Path) -> None:
    place = str(tmp_path / "radio.db")
    open_store(place).close()
    with held_elsewhere(place, 60), open_store(place, wait=0.1) as store:
        assert number_of_scans(store) == 0


def test_a_new_store_waits_for_somebody_who_holds_its_file(tmp_path: Path) -> None:
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


def test_a_thread_that_holds_the_writer_too_long_is_reported_to_the_others(tmp_path: Path) -> None:
    with (
        open_store(str(tmp_path / "radio.db"), wait=0.1) as store,
        store.writing(),
        pytest.raises(StoreLockedError),
        store.writing(),
    ):
        pass


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


def test_threads_that_record_the_same_files_agree(store: Store) -> None:
    found = [(b"/%d" % number, analysis(number)) for number in range(20)]
    outcomes: list[str] = []

    def work() -> None:
        for start in range(0, 20, 5):
            with store.writing() as connection:
                made = record_analyses(connection, found[start : start + 5], scan=1, now=1)
            outcomes.extend(it.outcome for it in made)

    run_together(work, 3)
    assert sorted(outcomes) == ["added"] * 20 + ["same"] * 40
