"""One changed byte in the log is found, always (A10).

The bytes of a table are found as the file format says (sqlite.org/fileformat.html): a page of a
b-tree has a header, an array of pointers, free room, and cells at its end. Between cells there may
be free blocks, and fragments of one to three bytes, which mean nothing.
"""

import random
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from bandstand.errors import StoreError
from bandstand.store.database.connection import Store, open_store
from bandstand.store.transfer.verify import Report, verify
from tests.fixtures.store.sample_store import add_life

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


def is_found(path: Path) -> bool:
    """Return whether a damaged store is refused, or found by `verify`."""
    try:
        with open_store(str(path)) as store:
            return not verify(store).is_whole
    except StoreError as problem:
        return len(str(problem).splitlines()) == 1


@pytest.mark.parametrize("count", [60, pytest.param(2_000, marks=pytest.mark.long)])
def test_one_changed_bit_of_the_log_is_found(tmp_path: Path, count: int) -> None:
    assert undetected_flips(tmp_path, count, seed=1) == []


def test_without_the_chain_some_are_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


SIZE = 4096  # bytes of a page
# Kinds of pages: of an index or a table without row numbers, and of a table with them.
KEYS_INSIDE, ROWS_INSIDE, KEYS, ROWS = 2, 5, 10, 13
INSIDE = {KEYS_INSIDE, ROWS_INSIDE}  # these lead to others
PAGES = {*INSIDE, KEYS, ROWS}


def places_of(path: Path, table: str) -> list[int]:
    """Return where in a file the b-tree of a table lies, without the free room in its pages."""
    content = path.read_bytes()
    return [place for page in pages_of(path, table) for place in _used(content, page)]


def pages_of(path: Path, table: str) -> list[int]:
    """Return the numbers of the pages of a table."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA page_size").fetchall() == [(SIZE,)]
        named = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        ((root,),) = connection.execute(named, (table,)).fetchall()
    return list(_pages(path.read_bytes(), root))


def flipped(content: bytes, place: int, draw: random.Random) -> bytes:
    """Return a file with one bit changed in the byte at a place."""
    changed = bytearray(content)
    changed[place] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _pages(content: bytes, page: int) -> Iterator[int]:
    start = (page - 1) * SIZE
    assert content[start] in PAGES
    yield page
    if content[start] in INSIDE:
        (cells, right) = struct.unpack_from(">3xH3xI", content, start)
        pointers = struct.unpack_from(f">{cells}H", content, start + 12)
        for pointer in pointers:
            (left,) = struct.unpack_from(">I", content, start + pointer)
            yield from _pages(content, left)
        yield from _pages(content, right)


def _used(content: bytes, page: int) -> Iterator[int]:
    start = (page - 1) * SIZE
    (cells,) = struct.unpack_from(">3xH", content, start)
    header = 12 if content[start] in INSIDE else 8
    yield from range(start, start + header + 2 * cells)
    yield from _headers_of_free_blocks(content, start)
    # Cell by cell: up to three bytes between two of them may belong to neither.
    for pointer in struct.unpack_from(f">{cells}H", content, start + header):
        yield from range(start + pointer, _end_of_cell(content, start, start + pointer))


def _end_of_cell(content: bytes, start: int, cell: int) -> int:
    kind = content[start]
    number, end = _varint(content, cell + (4 if kind in INSIDE else 0))
    if kind == ROWS_INSIDE:  # the number is that of a row
        return end
    assert number <= (SIZE - 12) * 64 // 255 - 23, "a cell with an overflow page"
    if kind == ROWS:  # the number of the row comes before its content
        _, end = _varint(content, end)
    return end + number


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends."""
    end = next(n for n in range(place, place + 9) if content[n] < 128) + 1
    digits = [byte & 127 for byte in content[place:end]]
    return sum(digit << 7 * n for n, digit in enumerate(reversed(digits))), end


def _headers_of_free_blocks(content: bytes, start: int) -> Iterator[int]:
    (block,) = struct.unpack_from(">xH", content, start)
    while block:
        yield from range(start + block, start + block + 4)
        (block,) = struct.unpack_from(">H", content, start + block)
