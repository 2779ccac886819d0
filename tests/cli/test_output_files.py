"""Results are never written over what is read, nor over each other."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from bandstand.cli._output_files import check_place, replace_file
from bandstand.errors import InvalidInputError
from tests.fixtures.cli.run_command import assert_refused, run

PLAYS = "listener,track,epoch_s\n0,a,1700000000\n0,b,1700000300\n0,a,1700090000\n"
SONGS = "id,loud,fast\n" + "".join(f"{row},{row % 5},{row % 7}\n" for row in range(30))
RATINGS = "rater,item,rating\n" + "".join(f"ann,{row},{1 + row % 5}\n" for row in range(30))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    written = {}
    for name, text in {"plays": PLAYS, "songs": SONGS, "ratings": RATINGS}.items():
        written[name] = tmp_path / f"{name}.csv"
        written[name].write_text(text)
    return written


def commands(files: dict[str, Path]) -> dict[str, list[str]]:
    songs = str(files["songs"])
    return {
        "plays": ["history", str(files["plays"])],
        "ratings": ["content", "--items", songs, "--ratings", str(files["ratings"])],
    }


@pytest.mark.parametrize("name", ["plays", "ratings"])
def test_results_are_not_written_over_what_is_read(name: str, files: dict[str, Path]) -> None:
    before = files[name].read_bytes()
    link = files[name].with_name("link.json")
    link.symlink_to(files[name])
    for output in (files[name], link):
        outcome = run(*commands(files)[name], "--json", str(output))
        assert_refused(outcome, "must not be written over what is read")
    assert files[name].read_bytes() == before


@pytest.mark.parametrize("name", ["plays", "ratings"])
def test_two_results_need_two_files(name: str, files: dict[str, Path], tmp_path: Path) -> None:
    place = str(tmp_path / "both.png")
    outcome = run(*commands(files)[name], "--json", place, "--plot", place)
    assert_refused(outcome, "--json and --plot must name different files")
    assert not (tmp_path / "both.png").exists()


def test_a_file_is_made_with_the_usual_rights(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    replace_file(str(tmp_path / "new"), b"content")
    assert (tmp_path / "new").read_bytes() == b"content"
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_a_file_is_replaced_and_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_bytes(b"before")
    path.chmod(0o640)
    replace_file(str(path), b"after")
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for content in (b"one", b"two"):
        replace_file(str(tmp_path / "link"), content)
        assert (tmp_path / "file").read_bytes() == content
    assert (tmp_path / "link").is_symlink()


def test_what_fails_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "old"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(str(path), b"after")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_is_written_to_and_not_replaced() -> None:
    check_place("/dev/null", option="--csv")
    replace_file("/dev/null", b"content")
    assert not Path("/dev/null").is_file()


def test_places_where_nothing_can_be_written_are_refused(tmp_path: Path) -> None:
    for place in ("", str(tmp_path), f"{tmp_path}/no/such/file", f"{__file__}/file"):
        with pytest.raises(InvalidInputError, match="--csv must name a file"):
            check_place(place, option="--csv")
    check_place("-", option="--csv")
    check_place(str(tmp_path / "new"), option="--csv")
