import csv
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from bandstand.cli import main
from bandstand.music.audio.descriptors.definition import NAMES
from bandstand.music.audio.descriptors.summary import describe
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.cli.run_command import assert_refused, environment, run
from tests.fixtures.music.audio_files import make
from tests.fixtures.music.sound_checks import read_file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a few files, good and bad."""
    folder = tmp_path_factory.mktemp("music")
    make(folder / "one.flac", seconds=3, tags={"title": "One"})
    make(folder / "two.mp3", seconds=2)
    (folder / "bad.mp3").write_bytes(b"no sound at all")
    return folder


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    yield
    assert sorted(folder.iterdir()) == before  # files are read and never written


def rows(content: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content, newline="")))


# ── CSV ──────────────────────────────────────────────────────────────────────────────────


def test_the_columns_are_those_of_the_golden_tracks(shared_data: Path) -> None:
    golden = (shared_data / "marsyas" / "tracks_tiny_159.csv").read_text(encoding="utf-8")
    code, out, err = run("features", "one.flac", "--csv", "-")
    assert (code, err) == (0, "")
    assert rows(out)[0] == rows(golden)[0]
    assert len(rows(out)) == 2


def test_numbers_read_back_exactly(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run("features", "one.flac", "two.mp3", "--csv", out) == (0, "", "")
    header, *found = rows(out.read_bytes().decode())
    assert header == ["file", *NAMES]
    assert [row[0] for row in found] == ["one.flac", "two.mp3"]
    for name, *numbers in found:
        expected = describe(read_file(Path(name)).samples)
        np.testing.assert_allclose([float(text) for text in numbers], expected, rtol=1e-9)
        assert [repr(float(text)) for text in numbers] == numbers


def test_files_are_listed_as_given_and_in_that_order(folder: Path) -> None:
    given = ["two.mp3", "./one.flac", str(folder / "one.flac"), "two.mp3"]
    _, out, _ = run("features", *given, "--csv", "-")
    found = rows(out)[1:]
    assert [row[0] for row in found] == given
    assert found[1][1:] == found[2][1:]
    assert found[0] == found[3]


def test_odd_names_come_back_as_they_were(tmp_path: Path, folder: Path) -> None:
    names = [b'a,"b".mp3', b"two\nlines\r.mp3", b"\xff\xfe.mp3", b"-rf.mp3"]
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes((folder / "two.mp3").read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "bandstand", "features", "--csv", "-", "--", *names],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        check=True,
        timeout=PATIENCE,
    )
    text = done.stdout.decode("utf-8", "surrogateescape")
    assert [os.fsencode(row[0]) for row in rows(text)[1:]] == names
    assert not done.stderr


# ── The table ────────────────────────────────────────────────────────────────────────────


def test_a_table_sums_up_each_file() -> None:
    code, out, err = run("features", "one.flac", "two.mp3")
    assert (code, err) == (0, "")
    head, one, two, blank, *meaning = out.splitlines()
    assert head.split()[:4] == ["file", "strongest", "length", "tempo"]
    assert one.startswith("one.flac ")
    assert " 0:03 " in one
    assert two.startswith("two.mp3 ")
    assert not blank
    assert "159" in " ".join(meaning)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_table_fits_a_terminal(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    long_name = tmp_path / f"{'long ' * 30}[bold]name.mp3"
    long_name.write_bytes((folder / "two.mp3").read_bytes())
    terminal = Terminal()
    with redirect_stdout(terminal):
        assert main(["features", "one.flac", str(long_name)]) == 0
    shown = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "one.flac" in shown
    assert "[bold]" in shown


# ── What goes wrong ──────────────────────────────────────────────────────────────────────


def test_one_bad_file_is_told_in_one_sentence() -> None:
    assert_refused(run("features", "bad.mp3"), "bad.mp3: expected audio, got", code=1)


def test_a_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    code, printed, err = run("features", "one.flac", "bad.mp3", "two.mp3", "--csv", out)
    assert (code, printed) == (1, "")
    told = err.splitlines()
    assert told[0].startswith("bad.mp3: expected audio, got")
    assert told[1:] == ["Error: 1 of 3 files could not be described"]
    assert [row[0] for row in rows(out.read_text(encoding="utf-8"))[1:]] == ["one.flac", "two.mp3"]


def test_where_nothing_is_usable_nothing_is_written(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.write_text("before", encoding="utf-8")
    code, _, err = run("features", "bad.mp3", "bad.mp3", "--csv", out)
    assert code == 1
    assert err.endswith("Error: 2 of 2 files could not be described\n")
    assert out.read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no.mp3", ("no.mp3: expected a file that can be read, got none: No such file",)),
        ("", ("expected a file that can be read",)),
        (".", ("expected a file, got a folder", "bandstand scan")),
        ("/dev/null", ("/dev/null: expected a file, got something else",)),
        ("a" * 300, ("File name too long",)),
        ("one.flac/x", ("Not a directory",)),
        ("two\nlines", (r"two\nlines: expected a file",)),
    ],
)
def test_what_is_no_file_is_refused_before_anything_is_done(
    tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    out = tmp_path / "out.csv"
    assert_refused(run("features", "one.flac", name, "--csv", out), *words)
    assert not out.exists()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp3")
    assert_refused(run("features", tmp_path / "pipe.mp3"), "expected a file, got something else")


def test_an_output_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "no" / "out.csv"):
        assert_refused(run("features", "one.flac", "--csv", place), "--csv must name a file")


@pytest.mark.parametrize("out", ["two.mp3", "./one.flac", "bad.mp3"])
def test_music_is_not_written_over(folder: Path, out: str) -> None:
    before = (folder / out).read_bytes()
    assert_refused(run("features", "one.flac", "--csv", out), "which looks like music")
    assert (folder / out).read_bytes() == before


def test_a_link_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert_refused(run("features", "one.flac", "--csv", tmp_path / "loop"), "--csv must name")
