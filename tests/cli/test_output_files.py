"""Results are never written over what is read."""

import os
import stat
from pathlib import Path

import pytest

from bandstand.cli._output_files import check_place, replace_file
from bandstand.errors import InvalidInputError
from tests.fixtures.cli.run_command import assert_refused, run

PLAYS = "listener,track,epoch_s\n0,a,1700000000\n0,b,1700000300\n0,a,1700090000\n"


def test_results_are_not_written_over_what_is_read(tmp_path: Path) -> None:
    plays = tmp_path / "plays.csv"
    plays.write_text(PLAYS)
    link = tmp_path / "link.json"
    link.symlink_to(plays)
    for output in (plays, link):
        outcome = run("history", str(plays), "--json", str(output))
        assert_refused(outcome, "must not be written over what is read")
    assert plays.read_text() == PLAYS


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
