"""Scans that are killed, or run at once, end with the catalogue of one that ran alone."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import ExitStack
from itertools import combinations
from signal import SIGINT, SIGKILL, Signals
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.fixtures.child_processes import started
from tests.fixtures.cli.run_command import environment
from tests.fixtures.music.killed_scans import FILES, end_scans, make_library, rearrange
from tests.fixtures.music.scan_command import command, contents, matrix, scanned
from tests.fixtures.music.scanned_library import ScannedFolder, song

if TYPE_CHECKING:
    from pathlib import Path


def test_a_scan_killed_a_few_times_ends_as_if_it_never_was(tmp_path: Path) -> None:
    _assert_unharmed(tmp_path, "rearranged", [SIGKILL, SIGINT, SIGKILL], seed=1)


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
