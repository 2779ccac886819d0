"""Scans that are killed, or run at once, end with the catalogue of one that ran alone."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from itertools import combinations
from pathlib import Path
from signal import SIGINT, SIGKILL, Signals
from urllib.parse import quote

import numpy as np
import pytest

from tests.fixtures.child_processes import started
from tests.fixtures.cli.run_command import environment
from tests.fixtures.music.leftovers import adopting, children, orphans
from tests.fixtures.music.scan_command import command, contents, matrix, scanned
from tests.fixtures.music.scanned_library import ScannedFolder, song, tagged

FILES = 80  # more than go into one transaction, so that a scan is killed between two of them


def test_a_scan_killed_a_few_times_ends_as_if_it_never_was(tmp_path: Path) -> None:
    _assert_unharmed(tmp_path, "rearranged", [SIGKILL, SIGINT], seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 20))
@pytest.mark.parametrize("world", ["new", "rearranged"])
def test_a_hundred_kills_do_no_harm(tmp_path: Path, world: str, seed: int) -> None:
    _assert_unharmed(tmp_path, world, [SIGKILL] * 5, seed=seed, files=300)


def test_a_catalogue_that_differs_in_anything_would_be_noticed(tmp_path: Path) -> None:
    folder = ScannedFolder(tmp_path)
    folder.put("one/a.wav", song(1))
    folder.put("two/b.wav", song(2))
    states = [folder.scan(folder.library / "one").contents.facts, folder.scan().contents.facts]
    folder.put("two/b.wav", song(3))
    states.append(folder.scan().contents.facts)
    folder.put("two/b.wav", b"broken")
    states.append(folder.scan().contents.facts)
    assert all(one != other for one, other in combinations(states, 2))


def _assert_unharmed(
    folder: Path, world: str, signals: list[Signals], *, seed: int, files: int = FILES
) -> None:
    """Check that ending scans changes nothing in what the last one leaves."""
    library, ended, whole = _world(folder, world, files)
    scanned(library, store=whole)
    recorded = end_scans(library, ended, signals=signals, rng=np.random.default_rng(seed))
    scanned(library, store=ended)
    assert contents(ended).facts == contents(whole).facts
    assert matrix(ended) == matrix(whole)
    print(f"\n{len(recorded)} of {len(signals)} scans ended early, after {recorded} files")


def _world(folder: Path, world: str, files: int) -> tuple[Path, Path, Path]:
    """Return a library and two stores that know the same of it."""
    library, ended, whole = folder / "library", folder / "ended.db", folder / "whole.db"
    make_library(library, files=files)
    if world == "rearranged":
        scanned(library, store=ended)
        for suffix in (".db", ".db.catalogue"):
            _copy(ended.with_suffix(suffix), whole.with_suffix(suffix))
        rearrange(library)
    return library, ended, whole


def _copy(old: Path, new: Path) -> None:
    if old.is_dir():
        shutil.copytree(old, new)
    else:
        shutil.copy(old, new)


def test_two_scans_at_once_end_as_one_would(tmp_path: Path) -> None:
    library, whole, shared = tmp_path / "library", tmp_path / "whole.db", tmp_path / "shared.db"
    make_library(library, files=24)
    scanned(library, store=whole)
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    reports = []
    with ExitStack() as running:
        both = [
            running.enter_context(
                started(command(library, store=shared), env=environment(), text=True, **options)
            )
            for _ in range(2)
        ]
        for process in both:
            out, err = process.communicate()
            assert process.returncode == 0, err
            reports.append(json.loads(out))
    found = contents(shared)
    assert found.facts == contents(whole).facts
    assert matrix(shared) == matrix(whole)
    assert sum(report["added"] for report in reports) == len(found.songs)


_STATE = """
    SELECT coalesce(max(number), 0), (SELECT count(*) FROM file WHERE seen = max(number)) FROM scan
"""


def make_library(folder: Path, *, files: int = FILES) -> None:
    """Fill a folder with small files of all kinds, every sixth of them bad."""
    for number in range(files):
        place = folder / f"album {number // 10}"
        place.mkdir(parents=True, exist_ok=True)
        if number % 6 == 5:
            (place / f"{number}.ogg").write_bytes(b"no music" * number)
        elif number % 6 == 4:
            (place / f"{number}.mp3").write_bytes(tagged(number, f"Song {number}"))
        else:
            (place / f"{number}.wav").write_bytes(song(number))


def rearrange(folder: Path) -> None:
    """Rename, move, swap, change, copy, break and remove some of the files."""
    (folder / "album 0").rename(folder / "album zero")
    (folder / "album 1" / "10.mp3").rename(folder / "album 2" / "ten.mp3")
    (folder / "album 3" / "30.wav").rename(folder / "aside")
    (folder / "album 3" / "31.wav").rename(folder / "album 3" / "30.wav")
    (folder / "aside").rename(folder / "album 3" / "31.wav")
    (folder / "album 4" / "48.wav").write_bytes(song(1_000))
    (folder / "album 5" / "50.wav").write_bytes(b"broken")
    (folder / "album 5" / "53.ogg").write_bytes(song(1_001))
    (folder / "album 6" / "copy.wav").write_bytes(song(60))
    (folder / "album 7" / "72.wav").unlink()
    for number in range(1_100, 1_140):
        (folder / "album 7" / f"{number}.wav").write_bytes(song(number))


def end_scans(
    library: Path, store: Path, *, signals: Sequence[signal.Signals], rng: np.random.Generator
) -> list[int]:
    """Start a scan and end it by a signal, again and again.

    Return how many files each had recorded by then, of those that had not ended before.
    """
    recorded = [0]
    with adopting():
        before = children()
        for number in signals:
            moment = _drawn(store, rng, recorded[-1])
            if _start_and_end(library, store, moment, number) != 0:
                recorded.append(max(moment.reached(), recorded[-1]))
            # Children notice that their parent is gone, and end by themselves.
            assert not orphans(before)
    return recorded[1:]


def _drawn(store: Path, rng: np.random.Generator, recorded: int) -> _Moment:
    """Return a moment: soon after the start, soon after the scan began, or soon after it got on."""
    kinds = [(None, 1.5), (0, 0.3), (recorded + 1, 0.05), (recorded + 1, 0.05)]
    wanted, within = kinds[rng.integers(len(kinds))]
    return _Moment(store, recorded=wanted, more=rng.uniform(0, within))


class _Moment:
    """The moment after a number of recorded files and some more seconds."""

    def __init__(self, store: Path, *, recorded: int | None, more: float) -> None:
        self._address = f"file:{quote(str(store))}?mode=ro"
        self._recorded = recorded
        self._more = more
        self._last = self._state()[0]

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        """Return at the moment, or when the scan has ended."""
        while process.poll() is None and not self._has_come():
            time.sleep(0.002)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=self._more)

    def reached(self) -> int:
        """Return how many files the scan has recorded."""
        number, recorded = self._state()
        return recorded if number > self._last else 0

    def _has_come(self) -> bool:
        if self._recorded is None:
            return True
        number, recorded = self._state()
        return number > self._last and recorded >= self._recorded

    def _state(self) -> tuple[int, int]:
        """Return the number of the newest scan, and how many files it has met."""
        try:
            with closing(sqlite3.connect(self._address, uri=True)) as connection:
                return connection.execute(_STATE).fetchone()  # type: ignore[no-any-return]
        except sqlite3.OperationalError:  # it is not there yet, or has no tables
            return 0, 0


def _start_and_end(library: Path, store: Path, moment: _Moment, number: signal.Signals) -> int:
    """Return the exit code of a scan that gets a signal at some moment."""
    with started(
        command(library, store=store),
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        moment.wait(process)
        process.send_signal(number)
        return int(process.wait())
