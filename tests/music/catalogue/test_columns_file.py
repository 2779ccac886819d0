"""The columns of a large library in a file: as they were, or not at all."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pytest
from hypothesis import given, settings

from bandstand._util.atomic_files import sync
from bandstand.music.catalogue import catalogue, columns
from bandstand.music.catalogue.catalogue import load_catalogue
from bandstand.music.catalogue.columns import _COLUMNS, SongColumns, discard, opened, saved
from bandstand.store.database.connection import open_store
from bandstand.store.songs import songs
from bandstand.store.songs.songs import facts_of
from tests.fixtures.radio.catalogues import record
from tests.fixtures.store.library_changes import events, happen
from tests.music.catalogue.test_catalogue import DESCRIPTORS, add, state

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fixtures.store.library_changes import Event


def known(count: int) -> SongColumns:
    records = [
        record(
            row, artist="Bj\u00f6rk \u266b" if row % 3 else None, year=1990 + row if row else None
        )
        for row in range(count)
    ]
    return replace(SongColumns.of(map(facts_of, records)), store="this one", changes=7)


@pytest.mark.parametrize("count", [0, 1, 50])
def test_what_was_saved_comes_back(tmp_path: Path, count: int) -> None:
    before = known(count)
    mapped = saved(tmp_path, before)
    if not count:
        assert mapped is before
        assert opened(tmp_path) is None  # nothing is not worth a file
        return
    assert mapped.names is before.names
    assert mapped.artist.tolist() == before.artist.tolist()
    found = opened(tmp_path)
    assert found is not None
    assert (found.store, found.changes, len(found)) == ("this one", 7, count)
    for name in _COLUMNS:
        array = getattr(found, name)
        assert array.tobytes() == getattr(before, name).tobytes()
        assert not array.flags.writeable
    for name in ("artists", "albums", "genres"):
        assert list(getattr(found.names, name)) == list(getattr(before.names, name))
    assert [it.name for it in tmp_path.iterdir()] == ["shelf.columns"]
    discard(tmp_path)
    discard(tmp_path)
    assert opened(tmp_path) is None


def test_songs_can_be_added_to_what_is_mapped(tmp_path: Path) -> None:
    saved(tmp_path, known(20))
    found = opened(tmp_path)
    assert found is not None
    new = facts_of(record(7, artist="A new artist"))
    after = found.changed([new[0]], [new])
    assert len(after) == 20
    assert after.names.artists[int(after.artist[7])] == "A new artist"


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-64])


def _longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + bytes(64))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _another_kind(path: Path) -> None:
    path.write_bytes(b"\x93NUMPY\x01\x00" + path.read_bytes()[8:])


def _before_there_were_years(path: Path) -> None:
    content = path.read_bytes()
    assert content[:8] == b"BSCOLS\x00\x02"
    path.write_bytes(b"BSCOLS\x00\x01" + content[8:])


def _described(path: Path, **changes: object) -> None:
    content = path.read_bytes()
    length = int.from_bytes(content[8:16], "little")
    about = json.loads(content[16 : 16 + length]) | changes
    text = json.dumps(about).encode()
    start = content[:8] + len(text).to_bytes(8, "little") + text
    rest = content[16 + length + -(16 + length) % 64 :]
    path.write_bytes(start + bytes(-len(start) % 64) + rest)


DAMAGES: list[Callable[[Path], object]] = [
    _cut,
    _longer,
    _empty,
    _another_kind,
    _before_there_were_years,
    Path.unlink,
    lambda path: path.write_bytes(os.urandom(5_000)),
    lambda path: _described(path, artists=[]),
    lambda path: _described(path, genres=[1, 2, 3]),
    lambda path: _described(path, albums=None),
    lambda path: _described(path, songs=10**9),
    lambda path: _described(path, songs="20"),
    lambda path: _described(path, songs=2),
    lambda path: _described(path, songs=20.0),
    lambda path: _described(path, songs=10**30),
    lambda path: _described(path, changes="7"),
    lambda path: _described(path, changes=None),
    lambda path: _described(path, changes=True),
    lambda path: _described(path, changes=7.5),
    lambda path: _described(path, changes=-(10**30)),
    lambda path: _described(path, store=7),
    lambda path: _described(path, store=["this one"]),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_not_whole_counts_as_absent(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    saved(tmp_path, known(20))
    damage(tmp_path / "shelf.columns")
    assert opened(tmp_path) is None


def test_ids_that_do_not_rise_are_not_believed(tmp_path: Path) -> None:
    one = known(20)
    saved(tmp_path, replace(one, ids=np.flip(one.ids)))
    assert opened(tmp_path) is None


def test_a_place_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    one = known(3)
    assert saved(tmp_path / "nowhere", one) is one
    assert opened(tmp_path / "nowhere") is None


def test_a_catalogue_is_loaded_beside_a_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "_MIN_SAVED_SONGS", 1)
    with open_store(str(tmp_path / "radio.db")) as store:
        add(store, 0, 10)
        store.location.data_folder.mkdir()
        expected = state(load_catalogue(store))
        _described(store.location.data_folder / "shelf.columns", changes="7")
        assert state(load_catalogue(store)) == expected


def test_the_file_is_its_owners_alone_whatever_others_may(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        saved(tmp_path, known(3))
    finally:
        os.umask(before)
    assert (tmp_path / "shelf.columns").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("next_step", [lambda folder: saved(folder, known(3)), discard])
def test_what_a_killed_writer_left_is_removed_and_what_is_being_written_stays(
    tmp_path: Path, next_step: Callable[[Path], object]
) -> None:
    for name in (".shelf.columns.4711", ".shelf.columns.left", ".shelf.columns.live", "radio.db"):
        (tmp_path / name).write_bytes(b"half of it")
    with (tmp_path / ".shelf.columns.live").open("rb") as live:
        fcntl.flock(live, fcntl.LOCK_EX)
        next_step(tmp_path)
    there = {it.name for it in tmp_path.iterdir()} - {"shelf.columns"}
    assert there == {".shelf.columns.live", "radio.db"}


def test_two_who_write_at_once_do_not_remove_what_the_other_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def and_then_another(file: BinaryIO) -> None:
        monkeypatch.setattr(columns, "sync", sync)
        saved(tmp_path, known(5))
        sync(file)

    monkeypatch.setattr(columns, "sync", and_then_another)
    saved(tmp_path, known(3))
    found = opened(tmp_path)
    assert found is not None
    assert len(found) == 3  # who ends last
    assert [it.name for it in tmp_path.iterdir()] == ["shelf.columns"]


@settings(max_examples=10)
@given(events)
def test_a_catalogue_from_the_file_is_the_one_that_is_read_from_the_store(
    life: list[Event],
) -> None:
    with (
        pytest.MonkeyPatch.context() as patched,
        TemporaryDirectory() as folder,
        open_store(str(Path(folder) / "radio.db")) as store,
    ):
        add(store, 0, 40)
        store.location.data_folder.mkdir()
        patched.setattr(catalogue, "_MIN_SAVED_SONGS", 1)
        load_catalogue(store)
        assert (store.location.data_folder / "shelf.columns").exists()
        with store.writing() as connection:
            for event in life:
                happen(connection, event, DESCRIPTORS)
        patched.setattr(catalogue, "_MIN_SONGS_PER_CHANGE", 1)
        with pytest.MonkeyPatch.context() as strict:
            strict.setattr(songs, "facts", None)  # all songs are not read again
            found = load_catalogue(store)
        discard(store.location.data_folder)
        assert state(found) == state(load_catalogue(store))


def test_the_file_of_another_store_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(str(tmp_path / "radio.db")) as store:
        add(store, 0, 10)
        expected = state(load_catalogue(store))
        monkeypatch.setattr(columns, "opened", lambda _: known(10))
        assert state(load_catalogue(store)) == expected
