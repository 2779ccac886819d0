"""`bandstand history import`, `imports` and `undo` as people run them."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bandstand.store.database.connection import open_store
from bandstand.store.transfer.verify import verify
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.cli.run_command import Outcome, assert_refused, environment, run
from tests.fixtures.lab import history_exports as exports
from tests.fixtures.store.own_music import own_music


@pytest.fixture
def store(tmp_path: Path) -> str:
    return own_music(tmp_path / "radio.db", "Ann", songs=2_000)


@pytest.fixture
def plays(tmp_path: Path) -> Path:
    path = tmp_path / "Streaming_History_Audio_0.json"
    path.write_text(exports.SPOTIFY_EXTENDED, encoding="utf-8")
    return path


def history(store: str, *args: str | Path) -> Outcome:
    return run("history", *args, "--user", "Ann", "--store", store)


def test_an_import_says_what_it_found_and_can_be_taken_back(
    store: str, plays: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("time,artist,track\n1,Ada,\x1b[2J\n2,Ada,First Light\n", encoding="utf-8")
    out = history(store, "import", plays, other).out
    assert "6 of 8 are of 3 songs." in out
    assert "1 left out: podcasts" in out
    assert "1 of songs that the library lacks, by artists whom it has (1 songs), such as" in out
    assert "Ada – \\x1b[2J" in out
    assert "This is import 1;" in out
    assert "Import 1 is the same; nothing was added." in history(store, "import", plays, other).out
    listed = history(store, "imports").out
    assert "Spotify, extended history, CSV" in listed
    assert history(store, "undo", "1").out == "Import 1 is taken back.\n"
    assert history(store, "imports").out == "Nothing was imported.\n"
    assert run("verify", "--store", store).code == 0


def test_what_cannot_be_imported_is_one_sentence(store: str, tmp_path: Path) -> None:
    assert_refused(history(store, "import", tmp_path / "none.csv"), "none.csv", "can be read")
    assert_refused(run("history", "import", "x", "--user", "Bo", "--store", store), "Bo")
    assert_refused(history(store, "undo", "7"), "got 7, which none has")


def test_a_file_of_that_name_is_still_measured(tmp_path: Path) -> None:
    path = tmp_path / "import"
    path.write_text(exports.PLAIN, encoding="utf-8")
    assert run("history", path).out == run("history", "analyse", path).out
    assert "Import listening histories" in run("history", "--help").out


@pytest.mark.long
def test_a_killed_import_is_there_or_not_and_can_be_made_again(store: str, tmp_path: Path) -> None:
    path, draw = tmp_path / "plays.csv", random.Random(1)
    rows = (f"{number},Artist {number % 10},Song {number % 2_000}\n" for number in range(100_000))
    path.write_text("time,artist,track\n" + "".join(rows), encoding="utf-8")
    command = ("-m", "bandstand", "history", "import", path, "--user", "Ann", "--store", store)
    begun, whole = time.monotonic(), 0.0
    for attempt in range(6):
        with subprocess.Popen(
            [sys.executable, *map(str, command)], env=environment(), stdout=subprocess.DEVNULL
        ) as process:
            try:
                process.wait(whole * draw.random() if attempt else PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
        if not attempt:
            whole = time.monotonic() - begun
            assert history(store, "undo", "1").code == 0
        with open_store(store) as opened:
            assert verify(opened).is_whole
        listed = history(store, "imports").out
        assert listed.count("CSV") <= 1
        assert ("CSV" in listed) == ("100,000" in listed)
    assert history(store, "import", path).code == 0
    assert history(store, "imports").out.count("100,000") == 1
