"""`bandstand history` as people run it."""

import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest

from tests.fixtures.cli.run_command import assert_refused, run, run_apart
from tests.fixtures.lab import history_exports as exports

PAGE = (
    (Path(__file__).parents[2] / "docs" / "research" / "own-data.md")
    .read_text(encoding="utf-8")
    .split("\n## ")[1]
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plays.csv").write_text(exports.PLAIN, encoding="utf-8")
    return tmp_path


def test_every_number_is_in_the_json_and_nothing_else_is_printed(folder: Path) -> None:
    outcome = run("history", "plays.csv", "--json", "-")
    document = json.loads(outcome.out)
    assert document["plays"] == 5
    (listener,) = document["listeners"]
    assert listener["repeat_share"] == pytest.approx(0.4)
    assert listener["skips"]["share"] == pytest.approx(0.2)
    assert document["all"]["rank_frequency"] == [[1, 3], [2, 1], [3, 1]]
    assert document["sources"][0]["format"] == "CSV"
    run("history", "plays.csv", "--json", "out.json")
    assert json.loads((folder / "out.json").read_text(encoding="utf-8")) == document


def test_left_out_duplicates_and_passed_over_are_all_told(folder: Path) -> None:
    with zipfile.ZipFile(folder / "my_spotify_data.zip", "w") as archive:
        archive.writestr("MyData/StreamingHistory_music_0.json", exports.SPOTIFY_ACCOUNT)
        archive.writestr("MyData/Streaming_History_Audio_0.json", exports.SPOTIFY_EXTENDED)
        archive.writestr("MyData/[Playlist].json", '{"playlists": []}')
    outcome = run("history", "my_spotify_data.zip")
    assert "5 plays are in more than one file: counted once" in outcome.out
    assert "1 podcasts" in outcome.out
    assert "first: entry 3 (line 6)" in " ".join(outcome.out.split())
    assert "[Playlist].json" in outcome.out


def test_of_many_listeners_the_first_and_all_together_are_shown(folder: Path) -> None:
    rows = "".join(f"ann{number},{number},song {play}\n" for number in range(23) for play in "aab")
    (folder / "plays.csv").write_text(f"user,time,track\n{rows}", encoding="utf-8")
    out = run("history", "plays.csv").out
    assert out.count("\nann") == 20
    assert "\nall together  –" in out
    assert "(and 3 more)" in out


def test_names_cannot_command_the_terminal(folder: Path) -> None:
    rows = "user,time,track\n[red]x\x1b[2J,1,a\n"
    (folder / "plays.csv").write_text(rows, encoding="utf-8")
    outcome = run("history", "plays.csv")
    assert "[red]x\\x1b[2J" in outcome.out
    assert "\x1b" not in outcome.out
    song = {"artist_name": "\ud800", "track_name": "\ud800"}
    listen = {"listened_at": 1_709_496_000, "user_name": "\ud800", "track_metadata": song}
    (folder / "listens.json").write_text(json.dumps([listen]), encoding="utf-8")
    assert "\\ud800" in run_apart("history", "listens.json").out
    assert json.loads(run_apart("history", "listens.json", "--json", "-").out)["plays"] == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[{]", ["plays.csv entry 1 (line 1)"]),
        (exports.PLAIN + "x,yesterday,1,1\n", ["plays.csv line 7", "'yesterday'"]),
    ],
)
def test_what_cannot_be_read_is_one_sentence_and_nothing_is_written(
    folder: Path, content: str, words: list[str]
) -> None:
    (folder / "plays.csv").write_text(content, encoding="utf-8")
    (folder / "out.json").write_text("before", encoding="utf-8")
    assert_refused(run("history", "plays.csv", "--json", "out.json"), *words)
    assert (folder / "out.json").read_text(encoding="utf-8") == "before"


def test_the_page_shows_what_the_command_prints(folder: Path) -> None:
    """The page has one file and one session."""
    (content,) = re.findall(r"^```csv\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (session,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (folder / "plays.csv").write_text(content, encoding="utf-8")
    command, expected = session.split("\n", maxsplit=1)
    outcome = run(*shlex.split(command.removeprefix("$ bandstand ")))
    printed = [line.rstrip() for line in outcome.out.splitlines()]
    assert [line for line in printed if line] == [line for line in expected.splitlines() if line]
