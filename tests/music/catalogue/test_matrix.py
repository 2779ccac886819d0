"""A catalogue on disk: what was written, whole, or nothing."""

from __future__ import annotations

import json
import math
import os
import shutil
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bandstand.errors import InvalidInputError
from bandstand.music.catalogue.matrix import open_latest, write
from bandstand.music.catalogue.neighbours import nearest
from tests.fixtures.music.small_catalogues import COLUMNS, chunks, ids, mark, write_marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bandstand.types import AnyArray

FILES = ("features.npy", "ids.npy", "stamp.json")


@settings(max_examples=40)  # each one waits for the disk
@given(data=st.data(), columns=st.integers(1, 5))
def test_what_was_written_comes_back_however_it_was_cut(data: st.DataObject, columns: int) -> None:
    names = sorted(data.draw(st.sets(st.text("0123456789abcdef", min_size=16, max_size=16))))
    finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
    rows = data.draw(arrays.arrays(np.float32, (len(names), columns), elements=finite))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(names)))))
    parts = list(zip([0, *cuts], [*cuts, len(names)], strict=True))
    with TemporaryDirectory() as folder:
        written = write(
            Path(folder),
            ((names[start:end], rows[start:end]) for start, end in parts),
            columns=columns,
            stamp={"projection": 3},
        )
        found = open_latest(Path(folder))
        assert found is not None
        for catalogue in (written, found):
            assert [catalogue.id_of(row) for row in range(len(catalogue))] == names
            assert catalogue.features.dtype == np.float32
            assert catalogue.features.shape == rows.shape
            assert (catalogue.features == rows).all()
            assert catalogue.stamp == {"projection": 3}
            assert [catalogue.row_of(name) for name in names] == list(range(len(names)))


def test_no_songs_are_a_catalogue_too(tmp_path: Path) -> None:
    no_chunks: list[tuple[list[str], AnyArray]] = []
    empty_chunk: tuple[list[str], AnyArray] = ([], np.empty((0, 4)))
    for parts in (no_chunks, [empty_chunk]):
        write(tmp_path, parts, columns=4, stamp={})
        catalogue = open_latest(tmp_path)
        assert catalogue is not None
        assert len(catalogue) == 0
        assert catalogue.features.shape == (0, 4)
        with pytest.raises(InvalidInputError, match="one of the 0 in the catalogue"):
            catalogue.row_of(ids(1)[0])


@pytest.mark.parametrize("folder", ["", "nowhere", "file"])
def test_where_nothing_was_written_there_is_none(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("no folder")
    assert open_latest(tmp_path / folder) is None


def test_the_matrix_is_mapped_and_cannot_be_changed(tmp_path: Path) -> None:
    catalogue = write_marked(tmp_path, 1.0, 5)
    assert isinstance(catalogue.table.base, np.memmap)
    assert np.shares_memory(catalogue.features, catalogue.table)
    for array in (catalogue.features, catalogue.table, catalogue.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_files_are_npy_files(tmp_path: Path) -> None:
    write_marked(tmp_path, 2.5, 5)
    place = tmp_path / "000000000001"
    whole = np.load(place / "features.npy")
    assert (whole[:, :-1] == np.full((5, COLUMNS), 2.5)).all()
    assert (whole[:, -1] == 1).all()
    assert np.load(place / "ids.npy").tolist() == [name.encode() for name in ids(5)]
    assert json.loads((place / "stamp.json").read_text())["songs"] == 5


def test_a_reader_keeps_the_old_one_while_the_new_one_is_put_in_place(tmp_path: Path) -> None:
    write_marked(tmp_path, 1.0, 5)
    old = open_latest(tmp_path)
    write_marked(tmp_path, 2.0, 9)
    new = open_latest(tmp_path)
    assert old is not None
    assert new is not None
    assert (mark(old), mark(new)) == (1.0, 2.0)
    assert sorted(place.name for place in tmp_path.iterdir()) == [".lock", "000000000002"]
    assert nearest(old.features, 0, 2).rows.tolist() == [1, 2]


def test_everything_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[int | str] = []
    fsync, rename = os.fsync, Path.rename

    def recorded_fsync(descriptor: int) -> None:
        events.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def recorded_rename(place: Path, target: Path) -> Path:
        events.append(target.name)
        return rename(place, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(Path, "rename", recorded_rename)
    write_marked(tmp_path, 1.0, 3)
    place = tmp_path / "000000000001"
    before = [(place / file).stat().st_ino for file in FILES] + [place.stat().st_ino]
    assert events == [*before, place.name, tmp_path.stat().st_ino]


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def shortened(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def cut_in_the_header(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def lengthened(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"}")


def scrambled(path: Path) -> None:
    path.write_bytes(b"\xff" * path.stat().st_size)


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = (
    Path.unlink,
    emptied,
    shortened,
    cut_in_the_header,
    lengthened,
    scrambled,
    replaced_by_a_folder,
)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_catalogue_counts_as_absent(
    tmp_path: Path, file: str, damage: Callable[[Path], None]
) -> None:
    write_marked(tmp_path, 1.0, 4)
    # As after a crash just before the old one was removed.
    shutil.copytree(tmp_path / "000000000001", tmp_path / "000000000002")
    damage(tmp_path / "000000000002" / file)
    if (file, damage) == ("stamp.json", shortened):
        (tmp_path / "000000000002" / file).write_text("{")  # a missing newline is no damage
    older = open_latest(tmp_path)
    assert older is not None
    assert mark(older) == 1.0
    shutil.rmtree(tmp_path / "000000000001")
    assert open_latest(tmp_path) is None
    # And is no obstacle to a new one.
    write_marked(tmp_path, 3.0, 5)
    newest = open_latest(tmp_path)
    assert newest is not None
    assert mark(newest) == 3.0
    assert sorted(place.name for place in tmp_path.iterdir()) == [".lock", "000000000003"]


@pytest.mark.parametrize(
    "change",
    [
        {"songs": 5},
        {"songs": 3},
        {"songs": True},
        {"songs": 4.0},
        {"songs": "4"},
        {"songs": [4]},
        {"songs": 10**40},
        {"columns": 4},
        {"columns": None},
        {"columns": {}},
        {"format": 1},
        {"format": 3},
        {"stamp": []},
        {"songs": 2, "columns": 6},
    ],
)
def test_a_stamp_that_tells_of_another_matrix_is_not_believed(
    tmp_path: Path, change: dict[str, object]
) -> None:
    write_marked(tmp_path, 1.0, 4)
    path = tmp_path / "000000000001" / "stamp.json"
    about = json.loads(path.read_text())
    path.write_text(json.dumps(about | change))
    assert open_latest(tmp_path) is None
    del about["columns"]
    for text in (json.dumps(about), "[]", "null", "[" * 100_000):
        path.write_text(text)
        assert open_latest(tmp_path) is None


def failing(after: int) -> Iterator[tuple[list[str], AnyArray]]:
    yield from list(chunks(2.0, 9))[:after]
    msg = "the store went away"
    raise OSError(msg)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_songs_that_stop_coming_leave_the_old_one_in_place(tmp_path: Path, after: int) -> None:
    write_marked(tmp_path, 1.0, 4)
    with pytest.raises(OSError, match="the store went away"):
        write(tmp_path, failing(after), columns=COLUMNS, stamp={})
    catalogue = open_latest(tmp_path)
    assert catalogue is not None
    assert mark(catalogue) == 1.0
    assert sorted(place.name for place in tmp_path.iterdir()) == [".lock", "000000000001"]


a, b, c = ids(3)
row = [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([([a, c, b], row * 3)], f"ids must rise from row to row, got '{b}'"),
        ([([a, a], row * 2)], f"ids must rise from row to row, got '{a}'"),
        ([([b], row), ([a], row)], f"ids must rise from row to row, got '{a}'"),
        ([([a], row), ([], np.empty((0, 3))), ([a], row)], f"must rise from row to row, got '{a}'"),
        ([([a[1:]], row)], "an id must be 16 letters or digits, got '000"),
        ([([a + "0"], row)], "an id must be 16 letters or digits"),
        ([([a[:-1] + "é"], row)], "an id must be 16 letters or digits"),
        ([([a[:-1] + "\0"], row)], "an id must be 16 letters or digits"),
        ([([a, b], row)], r"features must be 2 rows of 3 columns, got \(1, 3\)"),
        ([([a], [[1.0, 2.0]])], r"features must be 1 rows of 3 columns, got \(1, 2\)"),
        ([([a, b], [*row, [1.0, math.nan, 1.0]])], "finite .* got nan in row 1 .* column 1"),
        ([([a], [[1.0, 2.0, 1e39]])], r"finite .* got 1e\+39 in row 0 .* column 2"),
    ],
)
def test_songs_that_cannot_be_kept_are_refused(
    tmp_path: Path, parts: list[tuple[list[str], AnyArray]], expected: str
) -> None:
    with np.errstate(all="raise"), pytest.raises(InvalidInputError, match=expected):
        write(tmp_path, parts, columns=3, stamp={})
    assert open_latest(tmp_path) is None


@pytest.mark.parametrize("stamp", [{"a": math.nan}, {"a": object()}, {"a": {1, 2}}])
def test_a_stamp_that_json_cannot_hold_is_refused(tmp_path: Path, stamp: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="a stamp must be something that JSON can hold"):
        write(tmp_path, failing(0), columns=3, stamp=stamp)


def test_a_matrix_without_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="at least one column, got 0"):
        write(tmp_path, [], columns=0, stamp={})


@pytest.mark.parametrize(
    "song", ["", "0", "f" * 16, "0" * 16, ids(4)[2] + "\0", "é" * 16, "\0" * 16]
)
def test_a_song_that_is_not_in_the_catalogue_is_refused(tmp_path: Path, song: str) -> None:
    catalogue = write_marked(tmp_path, 1.0, 4)
    with pytest.raises(InvalidInputError, match="one of the 4 in the catalogue, got "):
        catalogue.row_of(song)


def test_a_large_catalogue_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    songs, columns, height = 40_000, 30, 1_000
    block = np.ones((height, columns), dtype=np.float32)

    def parts() -> Iterator[tuple[list[str], AnyArray]]:
        for start in range(0, songs, height):
            yield [f"{number:016x}" for number in range(start, start + height)], block

    tracemalloc.start()
    try:
        catalogue = write(tmp_path, parts(), columns=columns, stamp={})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(catalogue) == songs
    assert peak < catalogue.features.nbytes / 4
