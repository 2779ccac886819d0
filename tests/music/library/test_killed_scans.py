"""A scan that is killed and started again ends with the catalogue of one that never was."""

from __future__ import annotations

import shutil
from itertools import combinations
from signal import SIGINT, SIGKILL, Signals
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.fixtures.music.killed_scans import FILES, end_scans, make_library, rearrange
from tests.fixtures.music.scan_command import contents, matrix, scanned
from tests.fixtures.music.scanned_library import ScannedFolder, song

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("world", ["new", "rearranged"])
def test_a_scan_killed_a_few_times_ends_as_if_it_never_was(tmp_path: Path, world: str) -> None:
    _assert_unharmed(tmp_path, world, [SIGKILL, SIGINT, SIGKILL], seed=1)


@pytest.mark.long
@pytest.mark.parametrize("world", ["new", "rearranged"])
def test_a_scan_killed_very_often_ends_as_if_it_never_was(tmp_path: Path, world: str) -> None:
    _assert_unharmed(tmp_path, world, [SIGKILL] * 25, seed=2, files=600)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 20))
@pytest.mark.parametrize("world", ["new", "rearranged"])
def test_a_hundred_kills_do_no_harm(tmp_path: Path, world: str, seed: int) -> None:
    _assert_unharmed(tmp_path, world, [SIGKILL] * 5, seed=seed, files=300)


def test_a_catalogue_that_differs_in_anything_would_be_noticed(tmp_path: Path) -> None:
    shelf = ScannedFolder(tmp_path)
    shelf.put("one/a.wav", song(1))
    shelf.put("two/b.wav", song(2))
    states = [shelf.scan(shelf.library / "one").contents.facts, shelf.scan().contents.facts]
    shelf.put("two/b.wav", song(3))
    states.append(shelf.scan().contents.facts)
    shelf.put("two/b.wav", b"broken")
    states.append(shelf.scan().contents.facts)
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
