from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, select, text, update

from bandstand.errors import InvalidInputError, StoreError
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.schema import SCAN, STORE
from bandstand.store.songs import files, projections, scans, songs
from bandstand.store.songs.changes import identity
from bandstand.store.songs.save_analysis import record_analyses, record_analysis
from tests.fixtures.store.examples import analysis

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection


class OddError(Exception):
    """Something that no database raised."""


def number_of_scans(store: Store) -> int:
    with store.reading() as connection:
        return connection.execute(select(func.count()).select_from(SCAN)).scalar_one()


def test_what_a_block_writes_is_kept_as_a_whole(store: Store) -> None:
    with store.writing() as connection:
        scans.begin(connection, now=1)
        scans.begin(connection, now=1)
    assert number_of_scans(store) == 2


@pytest.mark.parametrize(
    "problem", [OddError("odd"), InvalidInputError("bad"), KeyboardInterrupt()]
)
def test_what_a_block_writes_before_it_fails_is_undone(
    store: Store, problem: BaseException
) -> None:
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


def test_a_database_error_becomes_one_sentence(store: Store) -> None:
    with pytest.raises(StoreError, match="cannot do this") as refused, store.writing() as writer:
        writer.execute(text("SELECT * FROM nowhere"))
    sentence = str(refused.value)
    assert len(sentence.splitlines()) == 1
    assert "nowhere" in sentence
    assert "SELECT" not in sentence


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


def test_a_full_disk_is_reported_and_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    def save(connection: Connection) -> int:
        content = bytes(1_000_000)
        return projections.save(
            connection, descriptor_version=1, songs=1, columns=1, content=content, now=1
        )

    with open_store(str(tmp_path / "radio.db")) as store:
        with store.writing() as connection:
            scans.begin(connection, now=1)
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
        full = pytest.raises(StoreError, match="cannot be written: the disk is full")
        with full, store.writing() as connection:
            save(connection)
        assert number_of_scans(store) == 1
        # Space again: the same store goes on.
        with store.writing() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 100000")
            assert save(connection) == 1
