"""The matrix file: what was written, whole, or nothing, whatever crashes or writes beside it."""

import json
import math
import os
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bandstand.errors import InvalidInputError
from bandstand.music.catalogue import matrix
from bandstand.music.catalogue.matrix import FeatureMatrix, SongIds, open_latest, write
from bandstand.types import AnyArray
from tests.fixtures.child_processes import PATIENCE, started
from tests.fixtures.music.small_catalogues import COLUMNS, chunks, ids, mark, write_marked

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


def test_all_is_on_the_disk_before_it_is_named(
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


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: list[Callable[[Path], object]] = [
    Path.unlink,
    replaced_by_a_folder,
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(path.read_bytes()[:-2]),
    lambda path: path.write_bytes(path.read_bytes()[:20]),
    lambda path: path.write_bytes(path.read_bytes() + b"}"),
    lambda path: path.write_bytes(b"\xff" * path.stat().st_size),
]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_matrix_is_absent(
    tmp_path: Path, file: str, damage: Callable[[Path], object]
) -> None:
    write_marked(tmp_path, 1.0, 4)
    # As after a crash just before the old one was removed.
    shutil.copytree(tmp_path / "000000000001", tmp_path / "000000000002")
    damage(tmp_path / "000000000002" / file)
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
        *({"songs": songs} for songs in (5, 3, True, 4.0, "4", [4], 10**40)),
        {"columns": 4},
        {"columns": None},
        *({"format": form} for form in (2, 4)),
        {"stamp": []},
        {"songs": 2, "columns": 6},
    ],
)
def test_a_stamp_of_another_matrix_is_not_believed(
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
        ([([a[1:]], row)], "ids must be 16 letters or digits, got others from '000"),
        ([([a + "0"], row)], "ids must be 16 letters or digits"),
        ([([a[:-1] + "é"], row)], "ids must be 16 letters or digits"),
        ([([a[:-1] + "\0"], row)], "ids must be 16 letters or digits"),
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


@settings(max_examples=40)
@given(data=st.data(), value=st.sampled_from([-1.0, 0.0, 1.0, 2.0, 1e-45, 1e38]))
def test_the_nearest_songs_are_those_of_all_sorted(data: st.DataObject, value: float) -> None:
    floats = st.sampled_from([value, 0.5, -3.0, 1e7]) | st.floats(-100, 100, width=32)
    shapes = st.tuples(st.integers(1, 30), st.integers(1, 5))
    rows = data.draw(arrays.arrays(np.float32, shapes, elements=floats))
    table = np.column_stack([rows, np.ones(len(rows), dtype=np.float32)])
    names = np.array([name.encode() for name in ids(len(rows))])
    row, count = data.draw(st.integers(0, len(rows) - 1)), data.draw(st.integers(0, 40))
    with pytest.MonkeyPatch.context() as patched, np.errstate(all="raise"):
        patched.setattr(matrix, "_BLOCK_ROWS", data.draw(st.sampled_from([1, 3, 4_096])))
        found, distances = FeatureMatrix(ids=names, table=table, stamp={}).nearest(row, count)
    pairs = sorted(
        (math.dist(map(float, song), map(float, rows[row])), other)
        for other, song in enumerate(rows)
        if other != row
    )
    assert len(found) == min(count, len(rows) - 1)
    assert distances == pytest.approx([distance for distance, _ in pairs[:count]], rel=1e-12)
    assert sorted(zip(distances.tolist(), found.tolist(), strict=True)) == list(
        zip(distances.tolist(), found.tolist(), strict=True)
    )


any_ids = st.sets(st.text("0123456789abcdef", min_size=1, max_size=16)).map(sorted)


def as_array(songs: list[str]) -> np.ndarray[tuple[int], np.dtype[np.bytes_]]:
    return np.array([song.encode() for song in songs], dtype="S16")


@given(any_ids, st.lists(st.text()))
def test_rows_and_songs_are_as_of_a_tuple_and_a_dict(songs: list[str], others: list[str]) -> None:
    found = SongIds(as_array(songs))
    expected = {song: row for row, song in enumerate(songs)}
    assert tuple(found) == tuple(songs)
    assert found[1:-1] == tuple(songs[1:-1])
    assert len(found) == len(songs)
    longer = [song + end for song in songs for end in ("\0", "x" * 16)]
    asked = [*songs, *others, *longer, "", "\ud800"]
    assert found.rows(asked).tolist() == [expected.get(song, -1) for song in asked]
    assert [song in found for song in asked] == [song in expected for song in asked]
    assert found == tuple(songs) == SongIds(as_array(songs))
    assert found != (*songs, "c")
    assert found != 3


CRASHES = Path(__file__).parents[2] / "fixtures" / "music" / "crash_everywhere.py"
WRITERS, TIMES = 3, 12
WRITER = """
import sys
from pathlib import Path
from tests.fixtures.music.small_catalogues import mark, write_marked
for number in range(int(sys.argv[3])):
    value = int(sys.argv[2]) + number
    assert mark(write_marked(Path(sys.argv[1]), value, 5 + number % 3)) == value
"""


def test_a_crash_at_any_line_leaves_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    command = [sys.executable, str(CRASHES), str(tmp_path)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
    outcomes = json.loads(done.stdout)
    assert set(outcomes) == {"old", "new"}
    # First the old one, and from one line on the new one.
    assert outcomes == sorted(outcomes, reverse=True)
    assert min(outcomes.count("old"), outcomes.count("new")) > 20


def test_processes_that_write_at_once_never_show_a_reader_a_mixture(tmp_path: Path) -> None:
    write_marked(tmp_path, 1.0, 3)
    values = [1_000 * (number + 1) for number in range(WRITERS)]
    seen = set()
    with ExitStack() as ending:
        command = [sys.executable, "-c", WRITER, str(tmp_path)]
        writers = [
            ending.enter_context(started([*command, str(value), str(TIMES)])) for value in values
        ]
        while any(writer.poll() is None for writer in writers):
            catalogue = open_latest(tmp_path)
            assert catalogue is not None
            seen.add(mark(catalogue))
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    last = open_latest(tmp_path)
    assert last is not None
    assert mark(last) in {value + TIMES - 1 for value in values}
    assert len(seen) > 1
    number = 1 + WRITERS * TIMES
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", f"{number:012d}"]


def test_what_no_catalogue_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="at least one column of sound, got 0"):
        write(tmp_path, [], columns=0, stamp={})
    with pytest.raises(InvalidInputError, match="a stamp must be something that JSON can hold"):
        write(tmp_path, [], columns=3, stamp={"a": math.nan})
    with pytest.raises(InvalidInputError, match="one of the 4 in the catalogue, got "):
        write_marked(tmp_path, 1.0, 4).row_of("f" * 16)
