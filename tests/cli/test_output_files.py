"""Results are never written over what is read, nor over each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fixtures.cli.run_command import assert_refused, run

if TYPE_CHECKING:
    from pathlib import Path

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
    small = ["--algorithm", "random", "--runs", "1", "--steps", "2"]
    return {
        "plays": ["history", str(files["plays"])],
        "songs": ["simulate", "--catalogue", songs, *small],
        "ratings": ["content", "--items", songs, "--ratings", str(files["ratings"])],
    }


@pytest.mark.parametrize("name", ["plays", "songs", "ratings"])
def test_results_are_not_written_over_what_is_read(name: str, files: dict[str, Path]) -> None:
    before = files[name].read_bytes()
    link = files[name].with_name("link.json")
    link.symlink_to(files[name])
    for output in (files[name], link):
        outcome = run(*commands(files)[name], "--json", str(output))
        assert_refused(outcome, "must not be written over what is read")
    assert files[name].read_bytes() == before


@pytest.mark.parametrize("name", ["plays", "songs", "ratings"])
def test_two_results_need_two_files(name: str, files: dict[str, Path], tmp_path: Path) -> None:
    place = str(tmp_path / "both.png")
    outcome = run(*commands(files)[name], "--json", place, "--plot", place)
    assert_refused(outcome, "--json and --plot must name different files")
    assert not (tmp_path / "both.png").exists()
