"""One changed byte in the log is found, always (A10)."""

from __future__ import annotations

import random
import sqlite3
import struct
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from bandstand.errors import StoreError
from bandstand.store.database.connection import Store, open_store
from bandstand.store.transfer.verify import Report, verify
from tests.fixtures.store.bit_flips import KEYS_INSIDE, flipped, pages_of, places_of
from tests.fixtures.store.sample_store import add_account, add_events, add_life, add_songs

if TYPE_CHECKING:
    from pathlib import Path

SECOND_AND_THIRD_STUDY = """
    INSERT INTO study
    SELECT substr(id, 2) || 'x', 'x', design, catalogue, 1, NULL FROM study
    UNION SELECT substr(id, 2) || 'y', 'y', design, catalogue, 1, NULL FROM study
"""


def test_a_sound_store_has_no_problems(store: Store) -> None:
    report = verify(store)
    assert report == Report(problems=(), counts=report.counts)
    assert set(report.counts.values()) == {0}
    add_life(store)
    report = verify(store)
    assert report.is_whole
    assert (report.counts["song"], report.counts["account"], report.counts["event"]) == (5, 2, 40)
    assert (report.counts["study"], report.counts["study_song"]) == (1, 3)


def undetected_flips(folder: Path, count: int, seed: int, table: str = "event") -> list[int]:
    """Return the places in a store's file at which a changed bit was not found."""
    source, path = folder / "source.db", folder / "radio.db"
    with open_store(str(source)) as store:
        add_life(store, events_each=150)
    content = source.read_bytes()
    draw = random.Random(seed)
    missed = []
    for place in draw.sample(places_of(source, table), count):
        path.write_bytes(flipped(content, place, draw))
        if not is_found(path):
            missed.append(place)
    return missed


def test_the_places_of_a_table_are_all_bytes_that_mean_something(tmp_path: Path) -> None:
    """By another count: of each page all but its gap, its free blocks and its fragments."""
    path = tmp_path / "radio.db"
    with open_store(str(path)) as store, store.writing() as connection:
        songs = add_songs(connection, 3)
        # Inserted before the others, they split pages in the middle, which leaves fragments.
        ids = sorted((add_account(connection, f"account {n}").id for n in range(4)), reverse=True)
        for account in ids:
            add_events(connection, account, songs, 150)
    content, expected, fragments = path.read_bytes(), 0, 0
    for page in pages_of(path, "event"):
        start = (page - 1) * 4096
        block, cells, first, fragment = struct.unpack_from(">xHHHB", content, start)
        expected += 4096 - (first - (12 if content[start] == KEYS_INSIDE else 8) - 2 * cells)
        while block:
            block, length = struct.unpack_from(">HH", content, start + block)
            expected -= length - 4
        expected, fragments = expected - fragment, fragments + fragment
    places = places_of(path, "event")
    assert len(set(places)) == len(places) == expected
    assert fragments > 0


def is_found(path: Path) -> bool:
    """Return whether a damaged store is refused, or found by `verify`."""
    try:
        with open_store(str(path)) as store:
            return not verify(store).is_whole
    except StoreError as problem:
        return len(str(problem).splitlines()) == 1


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=pytest.mark.long)])
def test_one_changed_bit_of_the_log_is_found(tmp_path: Path, count: int) -> None:
    assert undetected_flips(tmp_path, count, seed=1) == []


def test_without_the_chain_changes_would_be_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandstand.store.transfer.verify._logs", lambda _connection: [])
    assert len(undetected_flips(tmp_path, 40, seed=1)) > 5


@pytest.mark.parametrize("table", ["log_end", "account"])
def test_one_changed_bit_of_what_holds_the_logs_is_no_traceback(tmp_path: Path, table: str) -> None:
    missed = undetected_flips(tmp_path, 20, seed=3, table=table)
    assert missed == [] or table == "account"  # a letter of a name means nothing to us


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ("DELETE FROM event WHERE seq = 3", "event 3 must follow event 2"),
        ("DELETE FROM event WHERE seq = 20", "must end with event 20"),
        ("UPDATE event SET stars = 1 WHERE stars = 5", "event 1 must fit its digest"),
        ("UPDATE event SET key = 'x' WHERE seq = 7", "event 7 must fit its digest"),
        ("UPDATE log_end SET seq = 19", "must end with event 19"),
        ("DELETE FROM log_end", "a note of where it ends"),
        ("UPDATE account SET settings = '[]'", "its settings cannot be read"),
        ("DELETE FROM song", "refers to a song that is not there"),
        ("DELETE FROM account", "refers to a account that is not there"),
        ("UPDATE event SET at = 'soon' WHERE seq = 2", "of another kind"),
        ("UPDATE event SET key = CAST(key AS BLOB) WHERE seq = 2", "of another kind"),
        ("UPDATE study SET design = '[]'", "what was agreed cannot be read"),
        ("UPDATE study SET title = CAST(title AS BLOB)", "rows of study hold something"),
        ("UPDATE study_song SET stars = 'good' WHERE number = 1", "of another kind"),
        ("UPDATE study_arm SET begun_at = NULL", "has songs and was not begun"),
        ("UPDATE study_participant SET joined_at = NULL", "has not joined its study"),
        ("DELETE FROM study_song WHERE number = 1", "the songs 1 to 3, got 2"),
        ("DELETE FROM study_song WHERE number = 2", "the songs 1 to 3, got 2"),
        ("UPDATE study_song SET stars = NULL WHERE number = 2", "all songs but its last rated"),
        ("DELETE FROM study_participant", "refers to a study_participant that is not there"),
        (SECOND_AND_THIRD_STUDY, "at most one study can be open, got 2"),
    ],
)
def test_damage_by_hand_is_found(tmp_path: Path, spoil: str, words: str) -> None:
    path = tmp_path / "radio.db"
    with open_store(str(path)) as store:
        add_life(store)
    with closing(sqlite3.connect(path)) as other:
        other.execute("DROP TRIGGER event_is_never_changed")
        other.execute("DROP TRIGGER event_goes_with_its_account")
        other.execute("PRAGMA ignore_check_constraints = ON")
        other.execute(spoil)
        other.commit()
    with open_store(str(path)) as store:
        report = verify(store)
    assert any(words in problem for problem in report.problems), report.problems
    assert all(len(problem.splitlines()) == 1 for problem in report.problems)


def test_a_changed_event_is_found_in_both_databases(store: Store) -> None:
    add_life(store)
    with store.writing() as connection:
        if connection.dialect.name == "sqlite":
            connection.execute(text("DROP TRIGGER event_is_never_changed"))
        else:
            connection.execute(text("ALTER TABLE event DISABLE TRIGGER ALL"))
        connection.execute(text("UPDATE event SET stars = 2 WHERE seq = 1"))
    report = verify(store)
    assert len(report.problems) == 2
    assert all("event 1 must fit its digest" in problem for problem in report.problems)


def test_a_study_with_a_gap_is_found_in_both_databases(store: Store) -> None:
    add_life(store)
    with store.writing() as connection:
        connection.execute(text("DELETE FROM study_song WHERE number = 1"))
    (problem,) = verify(store).problems
    assert "must have the songs 1 to 3, got 2" in problem


def test_others_may_write_meanwhile(store: Store) -> None:
    add_life(store)
    with store.reading(limit=None) as reader:
        assert reader.execute(text("SELECT count(*) FROM event")).scalar_one() == 40
        with store.writing() as connection:
            connection.execute(text("DELETE FROM session"))
        assert verify(store).is_whole
