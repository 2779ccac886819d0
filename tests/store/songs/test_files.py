from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from bandstand.errors import InvalidInputError
from bandstand.store.database.connection import Store
from bandstand.store.songs import files, songs
from bandstand.store.songs.changes import identity
from bandstand.store.songs.files import FileRecord
from bandstand.store.songs.save_analysis import record_analyses, record_problem, relocate
from tests.fixtures.store.examples import analysis, discarded, paths, record_analysis, some_examples

A, B, C = b"/music/a.ogg", b"/music/b.ogg", b"/music/deep/c.ogg"


def add(connection: Connection, path: bytes, seed: int = 1, scan: int = 1) -> str:
    return record_analysis(connection, path, analysis(seed), scan=scan, now=5).song_id


def spoil(connection: Connection, path: bytes, scan: int = 1) -> None:
    record_problem(
        connection, path, size=3, modified_ns=4, reason="no sound in it", version=1, scan=scan
    )


def record(connection: Connection, path: bytes) -> FileRecord:
    (found,) = files.under(connection, path)
    return found


def changes(connection: Connection) -> int:
    return identity(connection).song_changes


INSIDE = (b"/", b"/music", b"/music/a.ogg")
BESIDE = (b"/m", b"/music/a", b"/music/a.og", b"/music/a.ogg/b", b"/musid")


@some_examples
@given(st.sets(paths, max_size=20), paths)
def test_what_its_name_begins_is_below(shared: Store, known: set[bytes], root: bytes) -> None:
    with discarded(shared) as connection:
        for path in known:
            spoil(connection, path)
        expected = sorted(p for p in known if p == root or p.startswith(root + b"/"))
        assert [file.path for file in files.under(connection, root)] == expected
        # None of them has a song, so what is gone leaves nothing behind; the rest stays.
        assert files.mark_missing(connection, root, 2) == 0
        left = sorted(known - set(expected))
        assert [file.path for file in files.under(connection, b"/")] == left


def test_the_longest_path_fits(store: Store) -> None:
    longest = b"/" + b"/".join([b"\xf0\x9f\x8e\xb5" * 62 + b"x"] * 10)
    with store.writing() as connection:
        assert len(longest) == 2_500
        add(connection, longest)
        assert record(connection, longest).path == longest
        with pytest.raises(InvalidInputError, match="at most 2,500 bytes, got 2,501"):
            add(connection, longest + b"x")


def test_a_slow_scan_does_not_undo_what_a_later_one_saw(connection: Connection) -> None:
    add(connection, A, scan=1)
    files.mark_seen(connection, [A], 3)
    files.mark_seen(connection, [A], 2)
    assert record(connection, A).seen == 3
    assert files.mark_missing(connection, b"/music", 2) == 0
    assert files.mark_missing(connection, b"/music", 3) == 0
    add(connection, A, scan=2)
    spoil(connection, A, scan=2)
    assert record(connection, A).seen == 3


def test_a_song_whose_file_breaks_is_kept_and_comes_back_with_it(connection: Connection) -> None:
    song = add(connection, A)
    before = changes(connection)
    spoil(connection, A)
    assert changes(connection) == before + 1
    assert record(connection, A).song_id == song
    assert record(connection, A).problem == "no sound in it"
    assert list(songs.present(connection)) == []
    assert [kept.is_present for kept in songs.many(connection, [song])] == [False]
    spoil(connection, A)
    assert changes(connection) == before + 1

    assert add(connection, A) == song
    assert changes(connection) == before + 2
    assert record(connection, A).problem is None
    assert [found.id for found in songs.present(connection)] == [song]


def test_a_moved_file_keeps_its_song(connection: Connection) -> None:
    song = add(connection, A)
    before = changes(connection)
    assert relocate(connection, A, C, size=1_000_001, modified_ns=9, scan=2) == song
    assert changes(connection) == before
    assert list(files.in_folder(connection, b"/music")) == []
    moved = record(connection, C)
    assert (moved.song_id, moved.modified_ns, moved.seen) == (song, 9, 2)
    assert [found.path for found in songs.many(connection, [song])] == [C]
    assert [hit.id for hit in songs.find(connection, "c.ogg", limit=9)] == [song]
    assert songs.find(connection, "a.ogg", limit=9) == []


@pytest.mark.parametrize(("old", "new"), [(A, A), (b"/music/none.ogg", C), (B, C)])
def test_only_a_file_with_a_song_can_move(connection: Connection, old: bytes, new: bytes) -> None:
    add(connection, A)
    spoil(connection, B)
    with pytest.raises(InvalidInputError, match="must have a song and a new path"):
        relocate(connection, old, new, size=1, modified_ns=1, scan=2)


def test_more_files_than_a_page_come_in_one_order(store: Store) -> None:
    many = [(b"/music/%05d.ogg" % number, analysis(number)) for number in range(2_500)]
    with store.writing() as connection:
        record_analyses(connection, many, scan=1, now=1)
        known = [path for path, _ in many]
        assert [file.path for file in files.under(connection, b"/music")] == known
        files.mark_seen(connection, known[:1_200], 2)
        assert files.mark_missing(connection, b"/music", 2) == 1_300
        ids = [song.id for song in songs.present(connection)]
        assert len(ids) == 1_200
        assert ids == sorted(ids)
        assert [song.id for song in songs.described(connection, 1)] == ids


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/music/a.ogg", "must be bytes, got '/music/a.ogg'"),
        (b"music/a.ogg", "must be absolute"),
        (b"", "must be absolute"),
        (b"/music/", "a slash at its end"),
        (b"/a\0b", "without NUL"),
    ],
)
def test_a_path_that_is_none_is_refused(connection: Connection, path: bytes, words: str) -> None:
    for call in (
        lambda: add(connection, path),
        lambda: spoil(connection, path),
        lambda: files.in_folder(connection, path),
        lambda: list(files.under(connection, path)),
        lambda: files.mark_seen(connection, [path], 1),
        lambda: files.mark_missing(connection, path, 1),
        lambda: relocate(connection, A, path, size=1, modified_ns=1, scan=1),
    ):
        with pytest.raises(InvalidInputError, match=words):
            call()


def test_a_problem_is_checked_before_it_is_stored(store: Store) -> None:
    given_: dict[str, Any] = {"size": 1, "modified_ns": 1, "reason": "why", "version": 1, "scan": 1}
    wrong = {"size": -1, "modified_ns": 2**63, "reason": "a\0b", "version": 1.5, "scan": True}
    with store.writing() as connection:
        for name, value in wrong.items():
            with pytest.raises(InvalidInputError, match=name):
                record_problem(connection, A, **{**given_, name: value})
        assert list(files.under(connection, b"/")) == []
