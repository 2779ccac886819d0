"""A look at the store has an end, and the write-ahead log shrinks behind it (A9)."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, text

from bandstand.errors import StoreError
from bandstand.store.database.connection import MAX_LOG_BYTES, Store, open_store
from bandstand.store.database.schema import SCAN
from bandstand.store.songs import projections, scans

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

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


def test_a_statement_that_comes_too_late_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match=TOO_LONG), store.reading(0.2) as connection:  # noqa: PT012
        connection.execute(select(SCAN))
        time.sleep(0.25)
        connection.execute(select(SCAN))


def test_a_statement_that_runs_too_long_is_interrupted(store: Store) -> None:
    start = time.monotonic()
    with pytest.raises(StoreError, match=TOO_LONG), store.reading(limit=0.2) as connection:
        connection.execute(ENDLESS)
    assert time.monotonic() - start < 30


def test_the_store_can_be_used_after_that(store: Store) -> None:
    for _ in range(3):
        with pytest.raises(StoreError, match=TOO_LONG), store.reading(limit=0.2) as connection:
            connection.execute(ENDLESS)
    with store.reading() as connection:
        assert scans.latest(connection) is None
    with store.writing() as connection:
        assert scans.begin(connection, now=1) == 1


def test_a_limit_does_not_outlast_its_block(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    with store.reading(limit=20.0) as connection:
        scans.latest(connection)
    monkeypatch.setattr("bandstand.store.database.connection.time.monotonic", lambda: began + 21)
    for limit in (None, 30.0):
        with store.reading(limit) as connection:
            for _ in range(3):
                connection.execute(select(SCAN))


def test_a_long_job_may_take_its_time(store: Store) -> None:
    with store.reading(limit=None) as connection:
        connection.execute(select(SCAN))
        time.sleep(0.3)
        connection.execute(select(SCAN))


def test_unless_told_otherwise_a_look_has_30_seconds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.monotonic()
    late = pytest.raises(StoreError, match="must be read within 30 s at a time")
    with late, store.reading() as connection:
        connection.execute(select(SCAN))
        monkeypatch.setattr(
            "bandstand.store.database.connection.time.monotonic", lambda: began + 31
        )
        connection.execute(select(SCAN))


def test_other_problems_are_told_as_they_are(store: Store) -> None:
    with pytest.raises(StoreError, match="nowhere"), store.reading() as connection:
        connection.execute(text("SELECT * FROM nowhere"))
    with pytest.raises(KeyError), store.reading():
        raise KeyError


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


@pytest.mark.long
def test_the_log_stays_below_256_megabytes_after_a_reader_of_a_hundred_thousand_writes(
    tmp_path: Path,
) -> None:
    log = tmp_path / "radio.db-wal"
    with open_store(str(tmp_path / "radio.db")) as store:
        with store.reading(limit=None) as reader:
            scans.latest(reader)
            for _ in range(1_000):
                with store.writing() as connection:
                    for _ in range(100):
                        scans.begin(connection, now=1)
                    save(connection, 300_000)
            assert log.stat().st_size > 256 * 2**20, "the reader held nothing back"
        for _ in range(3):
            with store.writing() as connection:
                scans.begin(connection, now=1)
        assert log.stat().st_size < 256 * 2**20


def test_readers_in_threads_keep_their_own_limits(store: Store) -> None:
    outcomes: dict[str, str] = {}

    def read(name: str, limit: float | None) -> None:
        try:
            with store.reading(limit) as connection:
                connection.execute(select(SCAN))
                time.sleep(0.3)
                connection.execute(select(SCAN))
            outcomes[name] = "read"
        except StoreError:
            outcomes[name] = "refused"

    limits = {"short": 0.1, "long": 30.0, "none": None}
    threads = [threading.Thread(target=read, args=it) for it in limits.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {"short": "refused", "long": "read", "none": "read"}
