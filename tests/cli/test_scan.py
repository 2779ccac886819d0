import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bandstand.cli import scan as command
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.catalogue.refresh import refreshed
from bandstand.music.library.scan import scan
from bandstand.music.library.walk import library_roots
from bandstand.store.database import connection
from bandstand.store.database.connection import open_store
from bandstand.store.songs import files, projections
from tests.fixtures.child_processes import started
from tests.fixtures.cli.run_command import Outcome, assert_refused, environment, run
from tests.fixtures.music.scanned_library import Reader, song, tagged

MANY = 150  # files, which take some seconds


class Home:
    """A library, and the place of its store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.library = folder / "library"
        self.store = folder / "data" / "radio.db"
        self.library.mkdir()

    def put(self, name: str, content: bytes) -> None:
        (self.library / name).parent.mkdir(parents=True, exist_ok=True)
        (self.library / name).write_bytes(content)

    def scan(self, *options: str | Path) -> Outcome:
        return run("scan", "--store", self.store, *options)

    def report(self, *options: str | Path) -> dict[str, Any]:
        outcome = self.scan("--json", *options)
        assert outcome.code == 0, outcome.err
        report: dict[str, Any] = json.loads(outcome.out)
        return report

    def records(self) -> list[files.FileRecord]:
        with open_store(str(self.store)) as store, store.reading() as opened:
            return list(files.under(opened, b"/"))

    def everything(self) -> dict[str, bytes | None]:
        """Return all files and folders with their content."""
        paths = [
            path for path in self.folder.rglob("*") if path.suffix not in {".db-wal", ".db-shm"}
        ]
        return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("BANDSTAND_STORE", raising=False)
    return Home(tmp_path)


@pytest.fixture
def filled(home: Home) -> Home:
    """A store that has been made, of a library with one song and one bad file."""
    home.put("song.mp3", tagged(1, "Song"))
    home.put("bad.mp3", b"no music")
    with open_store(str(home.store)) as store:
        # Without child processes, which would take longer than the rest of a test.
        scan(store, library_roots([home.library]), Reader(), now=lambda: 1)
        refreshed(store, now=1)
    return home


@pytest.fixture
def unchanged(home: Home) -> Iterator[None]:
    """Check that nothing on the disk is another afterwards, and nothing new."""
    before = home.everything()
    yield
    assert home.everything() == before


# ── What it prints ───────────────────────────────────────────────────────────────────────


def test_a_scan_tells_in_words_what_it_found_and_what_failed(home: Home) -> None:
    home.put("one/a.wav", song(1))
    home.put("one/b.mp3", tagged(2, "Two"))
    home.put("bad.mp3", b"no music")
    code, out, err = home.scan(home.library, "--workers", "2")
    assert (code, err) == (0, "")
    first, second, empty, failed, path, reason = out.splitlines()
    assert first.startswith("3 files in ")
    assert first.endswith("/s): 2 added, 0 unchanged, 1 failed.")
    assert second.startswith("The catalogue has 2 songs with ")
    assert (empty, failed, path) == ("", "Failed:", f"  {home.library / 'bad.mp3'}")
    assert reason.strip()

    code, out, err = home.scan(home.library)
    assert (code, err) == (0, "")
    assert "/s): nothing new, 2 unchanged, 1 failed." in out
    assert path in out.splitlines()


def test_the_same_as_json(home: Home) -> None:
    home.put("a.wav", song(1))
    home.put("bad.mp3", b"no music")
    report = home.report(home.library)
    assert report.pop("seconds") > 0
    (failure,) = report.pop("failures")
    assert failure["path"] == str(home.library / "bad.mp3")
    assert failure["reason"]
    features = report.pop("features")
    assert features >= 1
    assert "no network" in report.pop("isolation")
    assert report == {
        "found": 2,
        "added": 1,
        "changed": 0,
        "moved": 0,
        "missing": 0,
        "failed": 1,
        "unchanged": 0,
        "songs": 1,
        "projection": 1,
        "fitted_on": 1,
    }
    again = home.report(home.library)
    assert (again["added"], again["unchanged"], again["failed"]) == (0, 1, 1)


def test_names_that_are_hard_to_print_are_printed(home: Home) -> None:
    name = b"\xff\x1b[2J\ntwo.mp3"
    home.put(os.fsdecode(name), b"no music")
    code, out, _ = home.scan(home.library)
    assert code == 0
    assert r"\xff\x1b[2J\ntwo.mp3" in out
    assert home.report(home.library)["failures"][0]["path"].endswith(r"\xff\x1b[2J\ntwo.mp3")


def test_files_that_failed_are_read_again_when_asked_for(filled: Home) -> None:
    before = filled.report(filled.library, "--retry")
    assert (before["failed"], before["unchanged"]) == (1, 1)


def test_a_library_that_is_gone_is_kept_with_a_warning(filled: Home) -> None:
    for path in list(filled.library.iterdir()):
        path.rename(filled.folder / path.name)
    code, out, err = filled.scan(filled.library)
    assert code == 0
    assert err.startswith(f"Warning: {filled.library} holds no music now; its 2 files are kept")
    assert "1 missing" in out
    assert "The catalogue has 0 songs" in out
    (filled.folder / "song.mp3").rename(filled.library / "song.mp3")
    assert filled.report(filled.library)["songs"] == 1


def test_the_report_says_when_a_refit_would_help() -> None:
    report: dict[str, Any] = {
        "found": 1,
        "seconds": 0.0,
        **dict.fromkeys(("added", "changed", "moved", "missing", "unchanged", "failed"), 0),
        "songs": 1_000,
        "features": 9,
        "fitted_on": 300,
        "isolation": None,
        "failures": [],
    }
    assert "was fitted on 300 songs; `bandstand scan --refit`" in command._in_words(report)
    assert "--refit" not in command._in_words({**report, "fitted_on": 600})
    less = {**report, "isolation": "1024 MB; not on this system: no network"}
    assert "confined less than they should be" in command._in_words(less)
    assert "confined" not in command._in_words({**report, "isolation": "1024 MB, no network"})


def test_the_demo_library_is_made_and_scanned(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def compose(folder: Path, *, progress: Any) -> None:
        folder.mkdir(parents=True)
        for number in range(2):
            (folder / f"{number}.wav").write_bytes(song(number))
            progress(number + 1, 2)

    monkeypatch.setattr("bandstand_demo.demo_library", compose)
    assert home.report("--demo")["added"] == 2
    assert (home.folder / "user" / "bandstand" / "demo-library" / "1.wav").exists()


def test_the_store_is_in_the_data_folder_unless_named(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.put("a.wav", song(1))
    assert run("scan", home.library).code == 0
    assert (home.folder / "user" / "bandstand" / "bandstand.db").exists()
    monkeypatch.setenv("BANDSTAND_STORE", str(home.store))
    assert run("scan", home.library).code == 0
    assert len(home.records()) == 1


# ── Input that cannot be used ────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("folders", "words"),
    [
        ([], ("at least one folder",)),
        (["none"], ("none must exist, found nothing there",)),
        (["library", "none"], ("none must exist",)),
        ([""], ("empty name",)),
        (["library"], ("library must hold music, found no file named like music",)),
    ],
)
def test_a_folder_that_cannot_be_scanned_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch, folders: list[str], words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(home.folder)
    assert_refused(home.scan(*folders), *words)
    assert_refused(home.scan("--json", *folders), *words)


def test_without_music_no_store_is_made(home: Home) -> None:
    home.put("cover.jpg", b"picture")
    home.put("album/readme.txt", b"text")
    assert_refused(home.scan(home.library), "must hold music")
    for file in ("cover.jpg", "album/readme.txt"):
        assert_refused(home.scan(home.library / file), "must be a folder, got a file")
    letter = home.folder / "letter"
    letter.write_bytes(b"dear aunt " * 200)
    home.put("a.wav", song(1))
    assert_refused(run("scan", home.library, "--store", letter), "a Bandstand store", code=1)
    assert letter.read_bytes() == b"dear aunt " * 200
    assert not home.store.parent.exists()


def test_a_folder_without_music_is_refused_beside_one_with(filled: Home) -> None:
    (filled.folder / "empty").mkdir()
    before = filled.everything()
    assert_refused(filled.scan(filled.library, filled.folder / "empty"), "empty must hold music")
    assert filled.everything() == before


def test_a_folder_that_may_not_be_listed_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scandir(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", scandir)
    assert_refused(home.scan(home.library), "must be readable, permission was denied")


@pytest.mark.usefixtures("unchanged")
def test_no_workers_are_refused(home: Home) -> None:
    assert_refused(home.scan(home.library, "--workers", "0"), "--workers")


# ── Stores that cannot be used ───────────────────────────────────────────────────────────


def test_a_store_that_somebody_else_writes_to_is_left_alone(
    filled: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "open_store", partial(open_store, wait=0.1))
    filled.put("new.wav", song(5))
    before = filled.records()
    other = sqlite3.connect(filled.store, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert_refused(filled.scan(filled.library), "another program is writing to it", code=1)
    finally:
        other.close()
    assert filled.records() == before


def test_a_projection_that_does_not_fit_is_refused_before_the_work(filled: Home) -> None:
    with open_store(str(filled.store)) as store, store.writing() as opened:
        projections.save(
            opened, descriptor_version=VERSION, songs=9, columns=3, content=b"?", now=1
        )
    filled.put("new.wav", song(5))
    before, records = filled.everything(), filled.records()
    assert_refused(
        filled.scan(filled.library), "projection 2 of the store cannot be used", "--refit"
    )
    assert (filled.everything(), filled.records()) == (before, records)
    report = filled.report(filled.library, "--refit")
    assert (report["added"], report["songs"], report["projection"]) == (1, 2, 3)


def test_a_catalogue_that_cannot_be_written_is_told_after_the_scan(home: Home) -> None:
    home.put("a.wav", song(1))
    home.store.parent.mkdir()
    (home.store.parent / "radio.db.catalogue").write_bytes(b"in the way")
    assert_refused(home.scan(home.library), "the catalogue must be written to", code=1)
    assert len(home.records()) == 1


# ── Interrupted ──────────────────────────────────────────────────────────────────────────


def test_an_interrupted_scan_ends_with_130_and_is_resumed(home: Home) -> None:
    for number in range(MANY):
        home.put(f"{number}.wav", song(number))
    options = ("--store", home.store, "--workers", "1")
    with started(
        [sys.executable, "-m", "bandstand", "scan", *options, home.library],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not (home.store.exists() and _songs_in(home.store)):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err.strip()) == (130, "", "")
    done = len(home.records())
    assert 0 < done < MANY
    report = home.report(home.library)
    assert (report["unchanged"], report["added"]) == (done, MANY - done)
    assert report["songs"] == MANY


def _songs_in(store: Path) -> int:
    """Return how many songs a store has, without waiting or writing."""
    opened = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        return int(opened.execute("SELECT count(*) FROM song").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        opened.close()
